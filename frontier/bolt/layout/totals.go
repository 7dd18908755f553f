package layout

import (
	"encoding/binary"
	"maps"
	"slices"

	"curtsy/frontier"
)

// Totals are the sums over the whole crawl that cannot be had from the hosts. They are one value of the meta bucket,
// written by every commit.
type Totals struct {
	Outcomes frontier.Outcomes
	Endings  map[Ending]int64 // closed URLs by outcome and reason; none without a reason
	Reasons  []string         // the reason with number i stands at i-1
	Capped   map[string]int64 // links, by reason

	Strangers int64 // of the dropped ones, those refused at hosts that were not known
	Counts    map[string]int64

	Numbers map[string]int // of reasons; not stored
}

// otherReasons stands for all reasons after the 510th: a number has nine bits, and a crawler that puts free text into
// reasons must not fill the memory.
const otherReasons = "other reasons"

func NewTotals() *Totals {
	return &Totals{
		Endings: map[Ending]int64{}, Capped: map[string]int64{}, Counts: map[string]int64{}, Numbers: map[string]int{},
	}
}

// Close counts a closed URL and returns its ending.
func (t *Totals) Close(o frontier.Outcome, reason string) Ending {
	t.Outcomes[o]++
	e := MakeEnding(o, t.Number(reason))
	if e.Reason() != 0 {
		t.Endings[e]++
	}
	return e
}

// Reopen takes back a close.
func (t *Totals) Reopen(e Ending) {
	t.Outcomes[e.Outcome()]--
	if e.Reason() == 0 {
		return
	}
	if t.Endings[e]--; t.Endings[e] == 0 {
		delete(t.Endings, e)
	}
}

// Number returns the number of a reason; the empty one is 0.
func (t *Totals) Number(reason string) int {
	if reason == "" {
		return 0
	}
	n, ok := t.Numbers[reason]
	switch {
	case ok:
		return n
	case len(t.Reasons) == maxReasons:
		return maxReasons
	case len(t.Reasons) == maxReasons-1:
		reason = otherReasons
	}
	t.Reasons = append(t.Reasons, reason)
	t.Numbers[reason] = len(t.Reasons)
	return len(t.Reasons)
}

// Closed returns the number of closed URLs.
func (t *Totals) Closed() int64 {
	n := int64(0)
	for _, k := range t.Outcomes {
		n += k
	}
	return n
}

// ByReason returns the closed URLs by outcome and reason.
func (t *Totals) ByReason() map[frontier.Outcome]map[string]int64 {
	m := map[frontier.Outcome]map[string]int64{}
	for e, n := range t.Endings {
		if m[e.Outcome()] == nil {
			m[e.Outcome()] = map[string]int64{}
		}
		m[e.Outcome()][t.Reasons[e.Reason()-1]] += n
	}
	return m
}

// AppendTo writes t. The order is fixed, so that equal totals are equal bytes.
func (t *Totals) AppendTo(b []byte) []byte {
	for _, n := range t.Outcomes {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = binary.AppendUvarint(b, uint64(t.Strangers))
	b = binary.AppendUvarint(b, uint64(len(t.Reasons)))
	for _, r := range t.Reasons {
		b = appendText(b, r)
	}
	b = binary.AppendUvarint(b, uint64(len(t.Endings)))
	for _, e := range slices.Sorted(maps.Keys(t.Endings)) {
		b = binary.AppendUvarint(b, uint64(e))
		b = binary.AppendUvarint(b, uint64(t.Endings[e]))
	}
	return appendSums(appendSums(b, t.Capped), t.Counts)
}

// appendSums writes sums by name.
func appendSums(b []byte, sums map[string]int64) []byte {
	b = binary.AppendUvarint(b, uint64(len(sums)))
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		b = appendText(b, name)
		b = binary.AppendVarint(b, sums[name])
	}
	return b
}

// sums reads what appendSums wrote.
func (p *parser) sums(sums map[string]int64) {
	for n := p.uvarint(); n > 0 && !p.bad; n-- {
		name := p.text()
		sums[name] = p.varint()
	}
}

// ParseTotals reads what AppendTo wrote.
func ParseTotals(body []byte) (*Totals, bool) {
	t := NewTotals()
	p := parser{b: body}
	for i := range t.Outcomes {
		t.Outcomes[i] = int64(p.uvarint())
	}
	t.Strangers = int64(p.uvarint())
	for n := p.uvarint(); n > 0 && !p.bad; n-- {
		r := p.text()
		t.Reasons = append(t.Reasons, r)
		t.Numbers[r] = len(t.Reasons)
	}
	for n := p.uvarint(); n > 0 && !p.bad; n-- {
		e := Ending(p.uvarint())
		t.Endings[e] = int64(p.uvarint())
		if e.Reason() == 0 || e.Reason() > len(t.Reasons) {
			p.fail()
		}
	}
	p.sums(t.Capped)
	p.sums(t.Counts)
	return t, p.done()
}
