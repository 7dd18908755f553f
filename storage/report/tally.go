package report

import (
	"cmp"
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
