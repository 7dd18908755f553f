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
	maxRules   = 2000 // distinct rules
	maxAsked   = 200  // exchanges listed for one host
	maxRefused = 1000 // URLs listed that robots.txt forbade
	maxFiles   = 20   // results of robots.txt of one host
	maxDamage  = 10   // unreadable places listed
)

// noHost is the host of URLs without one, such as mailto:.
const noHost = "(no host)"

type gathering struct {
	want     func(canon.Authority) bool // the hosts reported on; nil: all
	only     bool                       // want is one host
	limit    int                        // hosts listed
	isChosen func(name string) bool     // whether one is listed; nil: the first limit
	overflow bool                       // there were more than limit, without isChosen

	total, others account
	hosts         map[string]*account
	rules         map[ruleKey]*Rule
	tags          tags
	robots        Robots
	pauses        pauses
	line          Timeline
	first, last   time.Time

	statuses, types, errors, traps, truncated, empty, scripts, notCrawled, directives, prefs, seeds, standards tally

	requests []Request
	refused  []Refusal
	ending   ending
	unread   int64
	damage   []string
}

func newGathering(limit int, want func(canon.Authority) bool, isChosen func(string) bool) *gathering {
	return &gathering{
		want: want, only: want != nil, limit: limit, isChosen: isChosen,
		hosts: map[string]*account{}, rules: map[ruleKey]*Rule{},
	}
}

// read reads the whole ledger. It stops early if there are more hosts than it can list.
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

// problem adds a fault of the ledger, except the end of the last run, which is reported elsewhere, and an unfinished line
// or empty segment, which the crawl may be writing.
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

// hostOf returns the authority of a line, "" if it has none, and whether the report covers it.
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
	g.addDirectives(l, name)
	if Failed(l) {
		reason := Class(l.Reason)
		if l.Decision == storage.DecisionRobots {
			reason = "robots.txt: " + reason
		}
		g.errors.add(cmp.Or(reason, notSaid), 1, 0, l.URL)
	}
	if Sent(l) {
		g.exchange(l, from)
	}
}

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
		status = strconv.Itoa(l.Status)
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
	if g.only && len(g.requests) < maxAsked {
		g.requests = append(g.requests, Request{
			Time: from, URL: clean(l.URL), Status: l.Status, Type: clean(l.Type), Octets: octets, GapMs: ms(l.Gap),
			PaceMs: ms(l.Pace),
		})
	}
}

// left adds URLs that were not crawled.
func (g *gathering) left(l *storage.Line) {
	if strings.HasPrefix(l.Reason, storage.RuleOfTraps) {
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

// addDirectives adds the directives and preferences of pages and sites.
func (g *gathering) addDirectives(l *storage.Line, name string) {
	if l.Directives != "" {
		d, _, _ := strings.Cut(l.Directives, "unavailable_after:") // with its date it would be distinct each time
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

// result makes the report, as far as the ledger has it.
func (g *gathering) result() *Report {
	r := &Report{
		Version: Version, Totals: g.total.result(), Robots: g.robots, Throughput: g.line, Gaps: g.pauses.list(),
		Statuses: g.statuses.list(), Types: g.types.list(), Errors: g.errors.list(), Traps: g.traps.list(),
		Truncated: g.truncated.list(), Empty: g.empty.list(), Scripts: g.scripts.list(), NotCrawled: g.notCrawled.list(), Directives: g.directives.list(),
		Prefs: g.prefs.list(),
		Asked: g.requests, Refused: g.refused, Unread: g.unread, Damage: g.damage, Hosts: []Host{},
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

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// maxText bounds a string of the crawl, in bytes.
const maxText = 400

// clean prepares a string of the crawl for display: it escapes unprintable characters, also direction marks, and shortens
// it.
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

// Duplicates are the pages with the same or nearly the same text.
type Duplicates struct {
	Clusters int64     `json:"clusters"`
	Pages    int64     `json:"pages"`            // in clusters
	Largest  []Cluster `json:"largest"`          // the first maxClusters
	Failed   string    `json:"failed,omitempty"` // why it has no result
}

// Cluster is a set of pages, each of which is similar to another.
type Cluster struct {
	URL     string   `json:"representative"`
	Pages   int64    `json:"pages"`
	Copies  int64    `json:"copies"`           // with exactly the same text
	Least   float64  `json:"least_similarity"` // to the representative
	Samples []string `json:"samples"`
}

const maxClusters = 20

// duplicated adds the clusters of similar pages.
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

// judged adds the decision of robots.txt.
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
		if g.only && len(g.refused) < maxRefused {
			g.refused = append(g.refused, Refusal{Time: l.Time, URL: clean(l.URL), Reason: clean(l.Reason),
				Line: l.RobotsLine, Rule: clean(l.RobotsRule), Count: n})
		}
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

// file lists a result of robots.txt in the report of one host.
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
	maxWords   = 500 // distinct names in a tally
	maxSamples = 5
	otherWords = "(others)"
)

// tally counts names from the web: the first maxWords distinct ones, and the others together.
type tally struct {
	counts map[string]*Count
}

// add counts name n times and keeps the first samples, unless "".
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

// twofold are the first parts of reasons whose class includes the second.
var twofold = map[string]bool{
	strings.TrimSuffix(storage.NamedByScript, ": "): true, "script": true, "budget": true, "cap": true, "redirect": true, "truncated": true,
}

// Class returns the part of a reason before details, which many URLs share. It includes the rule after "trap:" and
// "budget:".
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

// maxTags bounds the distinct tags. The others are summed.
const maxTags = 500

// noTag represents seeds without tag.
const noTag = "(no tag)"

// tags sum up the work by the tag of the seed.
type tags struct {
	by  map[string]*account
	any bool // a seed has a tag
}

// add adds a line. Exchanges for robots.txt have no seed.
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

// list returns the tags, the one with the most pages first; nil if no seed has a tag.
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

// maxSlots bounds the points of the throughput.
const maxSlots = 120

// Timeline is the throughput in slots of equal length.
type Timeline struct {
	Start  time.Time `json:"start"`
	SlotS  int64     `json:"slot_s"` // length of a slot, in seconds
	Slots  []Slot    `json:"slots"`
	origin int64     // Start in seconds
}

// Slot counts the exchanges that began in it.
type Slot struct {
	Exchanges int64 `json:"exchanges"`
	Octets    int64 `json:"octets"`
}

// add counts an exchange. The slots double in length as needed. An exchange before the start, by a clock that was set
// back, counts in the first.
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

// Bins of a histogram of gaps: their edges are multiples of the delay due, binsPerDecade to a factor of ten, so that the
// delay is an edge and separates bins.
const (
	binsPerDecade = 40
	lowBin        = -4 * binsPerDecade
	highBin       = 4 * binsPerDecade
)

// maxClasses bounds the distinct delays in histograms.
const maxClasses = 24

// Pauses are the gaps with the same delay due.
type Pauses struct {
	By      string  `json:"by"`      // reason for the delay
	PaceMs  float64 `json:"pace_ms"` // 0: none was due, or Varies
	Varies  bool    `json:"varies"`  // it differs each time
	Gaps    int64   `json:"gaps"`
	Short   int64   `json:"short"` // below the delay due
	LeastMs float64 `json:"least_ms"`
	MidMs   float64 `json:"median_ms"`
	Bins    []Bin   `json:"bins"` // from the first to the last that is not empty
}

// Bin counts the gaps from From to below To, as multiples of the delay due, or in seconds if none was. The first of all
// bins includes smaller gaps, the last larger ones.
type Bin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int64   `json:"count"`
}

type classKey struct {
	by   string
	pace time.Duration // -1: it varies
}

// pauses groups gaps by the delay due.
type pauses struct {
	classes map[classKey]*gaps
}

type gaps struct {
	n, short int64
	least    time.Duration
	digits   map[uint16]int64 // by digitsOf
	bins     [highBin - lowBin + 1]int64
}

// varying are the delays that differ from one exchange to the next.
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
	pace = pace.Truncate(time.Microsecond) // as in a ledger
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
		i = min(i, -1) // despite rounding of the logarithm
	default:
		i = max(i, 0)
	}
	if gap < pace {
		g.short++
	}
	g.bins[min(max(i, lowBin), highBin)-lowBin]++
}

// digitsOf truncates d, in microseconds, to three decimal digits and packs them with their magnitude.
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

// median returns the lower edge of the bin with the median.
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

// edge returns the lower edge of a bin, to six decimals.
func edge(i int) float64 {
	return math.Round(math.Pow(10, float64(i)/binsPerDecade)*1e6) / 1e6
}

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

// ms returns d in milliseconds, truncated to microseconds.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
