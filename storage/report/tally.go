package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"curtsy/storage"
)

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
	all     gaps
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
	p.all.add(gap, pace)
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
