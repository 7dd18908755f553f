package report

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
)

const (
	maxRules   = 2000 // rules told apart
	maxAsked   = 200  // exchanges listed of one host
	maxRefused = 1000 // URLs listed that robots.txt forbade
	maxFiles   = 20   // results of asking one host for robots.txt
	maxDamage  = 10   // unreadable places named
)

// noHost stands for the host of what has none: mailto: and the like.
const noHost = "(no host)"

func number(n int) string { return strconv.Itoa(n) }

// gathering is a report in the making.
type gathering struct {
	want     func(canon.Authority) bool // the hosts that are asked about; nil: all
	only     bool                       // want is one host
	limit    int                        // hosts told apart
	isChosen func(name string) bool     // those; nil: the first limit
	overflow bool                       // there were more than limit, and none were chosen

	total, others account
	hosts         map[string]*account
	rules         map[ruleKey]*Rule
	tags          tags
	robots        Robots
	pauses        pauses
	line          Timeline
	first, last   time.Time

	statuses, types, errors, traps, truncated, empty, scripts, notCrawled, directives, prefs, seeds, standards tally

	asked   []Request
	refused []Refusal
	ending  ending
	unread  int64
	damage  []string
}

func newGathering(limit int, want func(canon.Authority) bool, isChosen func(string) bool) *gathering {
	return &gathering{
		want: want, only: want != nil, limit: limit, isChosen: isChosen,
		hosts: map[string]*account{}, rules: map[ruleKey]*Rule{},
	}
}

// read takes in the whole ledger. It stops early when there are more hosts than it may tell apart.
func (g *gathering) read(ctx context.Context, entries iter.Seq2[ledger.Entry, error]) error {
	for e, err := range entries {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case e.Problem != nil:
			g.problem(e.Problem)
			continue
		case e.Mark != nil:
			g.ending.mark(e.Mark)
			continue
		case e.Forgotten:
			continue
		}
		if name, ok := g.hostOf(&e.Line); ok {
			g.add(&e.Line, name)
		}
		if g.overflow {
			return nil
		}
	}
	return nil
}

// problem takes in a fault of the ledger. How the last run ended is told elsewhere, and a line without an end or a
// segment without lines is none: the crawl may be writing it.
func (g *gathering) problem(p *ledger.Problem) {
	switch p.Fault {
	case ledger.NoStop, ledger.Uncommitted, ledger.Torn, ledger.Empty, ledger.NoLines:
		return
	case ledger.Unreadable:
		g.unread++
	}
	if len(g.damage) < maxDamage {
		g.damage = append(g.damage, clean("ledger: "+p.String()))
	}
}

// hostOf names the authority of a line; "" for what has none. It reports whether the line is asked about.
func (g *gathering) hostOf(l *storage.Line) (name string, ok bool) {
	u, err := canon.Parse(l.URL)
	if err != nil {
		return "", g.want == nil
	}
	return u.Authority().String(), g.want == nil || g.want(u.Authority())
}

func (g *gathering) add(l *storage.Line, name string) {
	g.total.add(l)
	if a := g.account(name); a != nil {
		a.add(l)
	}
	from, to := span(l)
	if g.first.IsZero() || from.Before(g.first) {
		g.first = from
	}
	if to.After(g.last) {
		g.last = to
	}
	if l.Seed != "" {
		g.seeds.add(l.Seed, times(l), 0, "")
	}
	g.tags.add(l)
	if l.Kind == storage.KindScript && l.Outcome != storage.OutcomeDeferred {
		g.scripts.add(storage.OfScript(l.Outcome), times(l), 0, l.URL)
	}
	g.judged(l, name)
	g.left(l)
	g.said(l, name)
	if Failed(l) {
		g.failure(l)
	}
	if Sent(l) {
		g.exchange(l, from)
	}
}

// account is that of a host.
func (g *gathering) account(name string) *account {
	if a := g.hosts[name]; a != nil {
		return a
	}
	switch {
	case g.isChosen != nil && !g.isChosen(name):
		return &g.others
	case g.isChosen == nil && len(g.hosts) >= g.limit:
		g.overflow = true
		return &g.others
	}
	a := &account{Host: Host{Name: name}}
	if name == "" {
		a.Name = noHost
	}
	g.hosts[name] = a
	return a
}

func (g *gathering) exchange(l *storage.Line, from time.Time) {
	octets := received(l)
	g.line.add(from, octets)
	status := "no answer"
	if l.Status != 0 {
		status = number(l.Status)
	}
	g.statuses.add(status, 1, octets, "")
	if l.Decision != storage.DecisionRobots && l.Status >= 200 && l.Status < 300 {
		kind := l.Type
		if kind == "" {
			kind = notSaid
		}
		g.types.add(kind, 1, octets, "")
	}
	if l.Gap > 0 {
		g.pauses.add(l.Gap, l.Pace, string(l.PaceBy))
	}
	if l.NeedsScript {
		g.empty.add("empty without JavaScript", 1, octets, l.URL)
	}
	if l.Truncated != "" {
		g.truncated.add(l.Truncated, 1, octets, l.URL)
	} else if why, ok := strings.CutPrefix(Class(l.Reason), "truncated: "); ok {
		g.truncated.add(why, 1, octets, l.URL)
	}
	if g.only && len(g.asked) < maxAsked {
		g.asked = append(g.asked, Request{
			Time: from, URL: clean(l.URL), Status: l.Status, Type: clean(l.Type), Octets: octets, GapMs: ms(l.Gap),
			PaceMs: ms(l.Pace),
		})
	}
}

// failure takes in an exchange, or an attempt at one, that failed.
func (g *gathering) failure(l *storage.Line) {
	reason := Class(l.Reason)
	if l.Decision == storage.DecisionRobots {
		reason = "robots.txt: " + reason
	}
	g.errors.add(cmp.Or(reason, notSaid), 1, 0, l.URL)
}

// left takes in what was not crawled.
func (g *gathering) left(l *storage.Line) {
	if isTrap(l.Reason) {
		g.traps.add(Class(l.Reason), times(l), 0, l.URL)
	}
	why := ""
	switch l.Decision {
	case storage.DecisionDisallow, storage.DecisionRefuse, storage.DecisionHold, storage.DecisionOptOut:
		why = string(l.Decision)
	case storage.DecisionRobots:
		return
	default:
		switch l.Outcome {
		case storage.OutcomeFailed, storage.OutcomeGone, storage.OutcomeDropped, storage.OutcomeDisallowed:
			why = string(l.Outcome)
		default:
			return
		}
	}
	if c := Class(l.Reason); c != "" {
		why += ": " + c
	}
	g.notCrawled.add(why, times(l), 0, l.URL)
}

// said takes in what pages and sites ask for and state.
func (g *gathering) said(l *storage.Line, name string) {
	if l.Directives != "" {
		d, _, _ := strings.Cut(l.Directives, "unavailable_after:") // whose date is another one each time
		if d != l.Directives {
			d += "unavailable_after"
		}
		g.directives.add(d, times(l), 0, l.URL)
	}
	if l.Prefs == "" {
		return
	}
	for p := range strings.SplitSeq(l.Prefs, "\n") {
		g.prefs.add(p, times(l), 0, name)
	}
}

// result puts the report together, as far as the ledger has it.
func (g *gathering) result() *Report {
	r := &Report{
		Version: Version, Totals: g.total.result(), Robots: g.robots, Throughput: g.line, Gaps: g.pauses.list(),
		Statuses: g.statuses.list(), Types: g.types.list(), Errors: g.errors.list(), Traps: g.traps.list(),
		Truncated: g.truncated.list(), Empty: g.empty.list(), Scripts: g.scripts.list(), NotCrawled: g.notCrawled.list(), Directives: g.directives.list(),
		Prefs: g.prefs.list(),
		Asked: g.asked, Refused: g.refused, Unread: g.unread, Damage: g.damage, Hosts: []Host{},
	}
	r.Tags = g.tags.list()
	r.Totals.State, r.Totals.Robots, r.Totals.Own = "", "", false
	r.Robots.Standards = g.standards.list()
	r.Crawl.Seeds = g.seeds.list()
	if !g.first.IsZero() {
		first, last := g.first.UTC(), g.last.UTC()
		r.Crawl.First, r.Crawl.Last = &first, &last
	}
	for _, a := range g.hosts {
		r.Hosts = append(r.Hosts, a.result())
		if a.Exchanges > 0 {
			r.Reached++
		}
		if a.Name != noHost {
			r.Known++
		}
	}
	slices.SortFunc(r.Hosts, func(a, b Host) int {
		return cmp.Or(compareBool(b.Own, a.Own), cmp.Compare(b.Exchanges, a.Exchanges), cmp.Compare(b.Lines, a.Lines),
			cmp.Compare(a.Name, b.Name))
	})
	if g.others.Lines > 0 {
		others := g.others.result()
		others.State, others.Robots, others.Own = "", "", false
		r.Others = &others
	}
	r.Robots.Rules = make([]Rule, 0, len(g.rules))
	for _, rule := range g.rules {
		r.Robots.Rules = append(r.Robots.Rules, *rule)
	}
	slices.SortFunc(r.Robots.Rules, func(a, b Rule) int {
		return cmp.Or(compareBool(a.Allowed, b.Allowed), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Host, b.Host),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Group, b.Group))
	})
	return r
}

// compareBool puts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// maxText is how many bytes of a string from the crawl are shown.
const maxText = 400

// clean makes a string from the crawl fit to be shown: what is not printable, marks of writing direction among it, is
// escaped, and the end of a long one is left out.
func clean(s string) string { return cleanTo(s, maxText) }

func cleanTo(s string, limit int) string {
	if len(s) > limit {
		cut := limit
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return plainly.OneLine(s)
}

func cleaned(texts []string) []string {
	var out []string
	for _, s := range texts {
		out = append(out, clean(s))
	}
	return out
}

// Duplicates are the pages that say the same as others, or nearly the same.
type Duplicates struct {
	Clusters int64     `json:"clusters"`
	Pages    int64     `json:"pages"`            // in clusters
	Largest  []Cluster `json:"largest"`          // the first maxClusters
	Failed   string    `json:"failed,omitempty"` // why there is no result
}

// Cluster is a set of pages each of which is like another one of it.
type Cluster struct {
	URL     string   `json:"representative"`
	Pages   int64    `json:"pages"`
	Copies  int64    `json:"copies"`           // that say the same word for word
	Least   float64  `json:"least_similarity"` // to the representative
	Samples []string `json:"samples"`
}

// maxClusters is how many clusters are named.
const maxClusters = 20

// duplicated adds the clusters of pages that say the same.
func (r *Report) duplicated(ctx context.Context, find func(context.Context) (Duplicates, error)) error {
	if find == nil || r.Host != "" {
		return nil
	}
	d, err := find(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		d = Duplicates{Failed: clean(err.Error())}
	}
	d.Largest = d.Largest[:min(len(d.Largest), maxClusters)]
	for i := range d.Largest {
		c := &d.Largest[i]
		c.URL, c.Samples = clean(c.URL), cleaned(c.Samples[:min(len(c.Samples), maxSamples)])
	}
	r.Duplicates = &d
	return nil
}

type ruleKey struct {
	host, reason, rule, group string
	line                      int
	allowed                   bool
}

// judged takes in what robots.txt decided.
func (g *gathering) judged(l *storage.Line, name string) {
	n := times(l)
	if l.Decision == storage.DecisionRobots {
		if Sent(l) {
			g.robots.Asked++
		}
		g.file(l)
		return
	}
	allowed := l.Decision == storage.DecisionAllow
	if !allowed && l.Decision != storage.DecisionDisallow {
		return
	}
	k := ruleKey{host: name, line: l.RobotsLine, rule: cleanTo(l.RobotsRule, 200), group: cleanTo(l.RobotsGroup, 100),
		allowed: allowed}
	switch {
	case allowed:
		g.robots.Allowed += n
	default:
		g.robots.Disallowed += n
		k.reason = cleanTo(Class(l.Reason), 100)
		if k.reason == "unreachable" {
			g.robots.Unreachable += n
		}
		g.forbidden(l, n)
	}
	if l.Standard != "" {
		g.standards.add(l.Standard, n, 0, "")
	}
	if allowed && k.line == 0 {
		return // no rule decided
	}
	r := g.rules[k]
	if r == nil && len(g.rules) >= maxRules {
		g.robots.MoreRules += n
		return
	}
	if r == nil {
		r = &Rule{Host: name, Allowed: allowed, Reason: k.reason, Line: k.line, Rule: k.rule, Group: k.group,
			Sample: clean(l.URL)}
		g.rules[k] = r
	}
	r.Count += n
}

// forbidden lists a URL that robots.txt forbade, where that was asked about.
func (g *gathering) forbidden(l *storage.Line, n int64) {
	if !g.only || len(g.refused) >= maxRefused {
		return
	}
	g.refused = append(g.refused, Refusal{
		Time: l.Time, URL: clean(l.URL), Reason: clean(l.Reason), Line: l.RobotsLine, Rule: clean(l.RobotsRule), Count: n,
	})
}

// file lists what came of asking for robots.txt, where that was asked about.
func (g *gathering) file(l *storage.Line) {
	if !g.only {
		return
	}
	from, _ := span(l)
	f := RobotsFile{Time: from, URL: clean(l.URL), Status: l.Status, Reason: clean(l.Reason),
		SHA256: cleanTo(l.RobotsSHA256, 64), Times: 1}
	if n := len(g.robots.Files); n > 0 {
		last := &g.robots.Files[n-1]
		if last.URL == f.URL && last.Status == f.Status && last.SHA256 == f.SHA256 && last.Reason == f.Reason {
			last.Times++
			return
		}
		if n >= maxFiles {
			return
		}
	}
	g.robots.Files = append(g.robots.Files, f)
}
