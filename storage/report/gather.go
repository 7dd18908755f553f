package report

import (
	"cmp"
	"context"
	"iter"
	"math"
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

const (
	maxWords   = 500 // distinct names that a tally keeps
	maxSamples = 5
	otherWords = "(others)"
)

// tally counts names that come from the web: the first maxWords distinct ones by themselves, the others together.
type tally struct {
	counts map[string]*Count
}

// add counts name n times. A sample is kept as long as there are few; "" is none.
func (t *tally) add(name string, n, octets int64, sample string) {
	name = cleanTo(name, 200)
	if t.counts == nil {
		t.counts = map[string]*Count{}
	}
	c := t.counts[name]
	if c == nil && len(t.counts) >= maxWords {
		name = otherWords
		c = t.counts[name]
	}
	if c == nil {
		c = &Count{Name: name}
		t.counts[name] = c
	}
	c.Count += n
	c.Octets += octets
	if sample != "" && len(c.Samples) < maxSamples {
		if sample = clean(sample); !slices.Contains(c.Samples, sample) {
			c.Samples = append(c.Samples, sample)
		}
	}
}

// list returns the counts, the largest first.
func (t *tally) list() []Count {
	out := make([]Count, 0, len(t.counts))
	for _, c := range t.counts {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// twofold are heads of reasons that have the class in their second part.
var twofold = map[string]bool{
	strings.TrimSuffix(storage.NamedByScript, ": "): true, "script": true, "budget": true, "cap": true, "redirect": true, "truncated": true,
}

// Class is the part of a reason that is the same for many URLs: what stands before a detail. The rule behind "trap:"
// and "budget:" belongs to it.
func Class(reason string) string {
	if at := strings.Index(reason, "://"); at >= 0 { // "to http://…"
		reason = strings.TrimSpace(reason[:strings.LastIndexByte(reason[:at], ' ')+1])
	}
	head, rest, detailed := strings.Cut(reason, ": ")
	if detailed && twofold[head] {
		rest, _, _ = strings.Cut(rest, ": ")
		return head + ": " + rest
	}
	return head
}

// maxTags is how many tags are told apart: the first ones. The others are summed.
const maxTags = 500

// noTag stands for the tag of seeds that have none.
const noTag = "(no tag)"

// tags gather what was done by the tag of the seed that it descends from.
type tags struct {
	by  map[string]*account
	any bool // a seed has a tag
}

// add takes in a line. Exchanges for robots.txt descend from no seed.
func (t *tags) add(l *storage.Line) {
	if l.Tag == "" && l.Seed == "" {
		return
	}
	t.any = t.any || l.Tag != ""
	name := noTag
	if l.Tag != "" {
		name = cleanTo(l.Tag, 200)
	}
	if t.by == nil {
		t.by = map[string]*account{}
	}
	if t.by[name] == nil && len(t.by) >= maxTags {
		name = otherWords
	}
	a := t.by[name]
	if a == nil {
		a = &account{}
		t.by[name] = a
	}
	a.add(l)
}

// list is what was gathered, the tag with the most pages first; nil when no seed has a tag.
func (t *tags) list() (all []Tag) {
	if !t.any {
		return nil
	}
	for name, a := range t.by {
		tag := Tag{name, a.result()}
		tag.State, tag.Robots, tag.Own = "", "", false
		all = append(all, tag)
	}
	slices.SortFunc(all, func(a, b Tag) int {
		return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(b.Lines, a.Lines), cmp.Compare(a.Tag, b.Tag))
	})
	return all
}

// maxSlots is how many points in time the throughput is drawn at, at most.
const maxSlots = 120

// Timeline is what was received over time, in slots of equal length.
type Timeline struct {
	Start  time.Time `json:"start"`
	SlotS  int64     `json:"slot_s"` // length of a slot in seconds
	Slots  []Slot    `json:"slots"`
	origin int64     // Start in seconds
}

// Slot is what began in a slot.
type Slot struct {
	Exchanges int64 `json:"exchanges"`
	Octets    int64 `json:"octets"`
}

// add counts an exchange. Slots become twice as long as often as the end needs it. An exchange before the start, by a
// clock that was set back, is counted in the first.
func (tl *Timeline) add(t time.Time, octets int64) {
	at := t.Unix()
	if len(tl.Slots) == 0 {
		tl.Start, tl.SlotS, tl.origin = t.UTC().Truncate(time.Second), 1, at
	}
	for (at-tl.origin)/tl.SlotS >= maxSlots {
		tl.double()
	}
	i := max(int((at-tl.origin)/tl.SlotS), 0)
	for len(tl.Slots) <= i {
		tl.Slots = append(tl.Slots, Slot{})
	}
	tl.Slots[i].Exchanges++
	tl.Slots[i].Octets += octets
}

func (tl *Timeline) double() {
	tl.SlotS *= 2
	half := tl.Slots[:0]
	for i, s := range tl.Slots {
		if i%2 == 0 {
			half = append(half, s)
			continue
		}
		half[i/2].Exchanges += s.Exchanges
		half[i/2].Octets += s.Octets
	}
	tl.Slots = half
}

// The bins of a histogram of gaps: their edges are multiples of the pause that was due, binsPerDecade to a factor of
// ten, so that the pause itself is an edge and no bin holds both what kept it and what did not.
const (
	binsPerDecade = 40
	lowBin        = -4 * binsPerDecade
	highBin       = 4 * binsPerDecade
)

// maxClasses is how many pauses are told apart in histograms.
const maxClasses = 24

// Pauses are the gaps before which the same pause was due.
type Pauses struct {
	By      string  `json:"by"`      // who asked for it
	PaceMs  float64 `json:"pace_ms"` // 0: none was due, or Varies
	Varies  bool    `json:"varies"`  // it was another one each time
	Gaps    int64   `json:"gaps"`
	Short   int64   `json:"short"` // shorter than what was due
	LeastMs float64 `json:"least_ms"`
	MidMs   float64 `json:"median_ms"`
	Bins    []Bin   `json:"bins"` // those from the first to the last that is not empty
}

// Bin counts the gaps from From to below To. Both are multiples of the pause that was due, or seconds if none was. The
// first bin of all holds what is shorter as well, the last what is longer.
type Bin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int64   `json:"count"`
}

type classKey struct {
	by   string
	pace time.Duration // -1: it varies
}

// pauses gathers gaps by the pause that was due.
type pauses struct {
	classes map[classKey]*gaps
}

// gaps gathers the gaps of one class.
type gaps struct {
	n, short int64
	least    time.Duration
	digits   map[uint16]int64 // by three digits: see digitsOf
	bins     [highBin - lowBin + 1]int64
}

// varying are the paces that differ from one exchange to the next.
var varying = []storage.PaceBy{
	storage.ByResponseTime, storage.ByRetryAfter, storage.ByErrors, storage.ByAddress, storage.ByRateLimit,
	storage.ByRobots,
}

func (p *pauses) add(gap, pace time.Duration, by string) {
	if p.classes == nil {
		p.classes = map[classKey]*gaps{}
	}
	if by == "" {
		by = notSaid
	}
	pace = pace.Truncate(time.Microsecond) // as a ledger has it
	k := classKey{cleanTo(by, 40), max(pace, 0)}
	if slices.Contains(varying, storage.PaceBy(by)) {
		k.pace = -1
	}
	if p.classes[k] == nil && len(p.classes) >= maxClasses {
		k = classKey{"several", -1}
	}
	g := p.classes[k]
	if g == nil {
		g = &gaps{}
		p.classes[k] = g
	}
	g.add(gap, pace)
}

func (g *gaps) add(gap, pace time.Duration) {
	if g.digits == nil {
		g.digits = map[uint16]int64{}
	}
	if g.n == 0 || gap < g.least {
		g.least = gap
	}
	g.n++
	g.digits[digitsOf(gap)]++
	unit := pace
	if pace <= 0 {
		unit = time.Second
	}
	i := int(math.Floor(binsPerDecade * math.Log10(float64(gap)/float64(unit))))
	switch {
	case gap < unit:
		i = min(i, -1) // whatever the logarithm is rounded to
	default:
		i = max(i, 0)
	}
	if gap < pace {
		g.short++
	}
	g.bins[min(max(i, lowBin), highBin)-lowBin]++
}

// digitsOf cuts d, in microseconds, to three decimal digits and packs them with their magnitude.
func digitsOf(d time.Duration) uint16 {
	µs, power := max(d.Microseconds(), 0), uint16(0)
	for µs >= 1000 {
		µs /= 10
		power++
	}
	return power*1000 + uint16(µs)
}

func fromDigits(k uint16) time.Duration {
	d := time.Duration(k%1000) * time.Microsecond
	for range k / 1000 {
		d *= 10
	}
	return d
}

// median is the lower edge of the bin with the median.
func (g *gaps) median() time.Duration {
	keys := make([]uint16, 0, len(g.digits))
	for k := range g.digits {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	left := (g.n + 1) / 2
	for _, k := range keys {
		if left -= g.digits[k]; left <= 0 {
			return max(fromDigits(k), g.least)
		}
	}
	return 0
}

func (g *gaps) pauses(k classKey) Pauses {
	p := Pauses{By: k.by, Gaps: g.n, Short: g.short, LeastMs: ms(g.least), MidMs: ms(g.median()), Bins: []Bin{}}
	if k.pace < 0 {
		p.Varies = true
	} else {
		p.PaceMs = ms(k.pace)
	}
	first, last := -1, -1
	for i, n := range g.bins {
		if n > 0 && first < 0 {
			first = i
		}
		if n > 0 {
			last = i
		}
	}
	for i := first; i >= 0 && i <= last; i++ {
		p.Bins = append(p.Bins, Bin{edge(i + lowBin), edge(i + lowBin + 1), g.bins[i]})
	}
	return p
}

// edge is the lower edge of a bin, to six decimals.
func edge(i int) float64 {
	return math.Round(math.Pow(10, float64(i)/binsPerDecade)*1e6) / 1e6
}

// list returns the classes, the most frequent first.
func (p *pauses) list() []Pauses {
	out := make([]Pauses, 0, len(p.classes))
	for k, g := range p.classes {
		out = append(out, g.pauses(k))
	}
	slices.SortFunc(out, func(a, b Pauses) int {
		return cmp.Or(cmp.Compare(b.Gaps, a.Gaps), cmp.Compare(a.By, b.By), cmp.Compare(a.PaceMs, b.PaceMs))
	})
	return out
}

// ms is d in milliseconds, cut to the microsecond.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
