package bolt

import (
	"encoding/binary"
	"maps"
	"slices"

	"curtsy/frontier"
)

// totals are the sums over the whole crawl that cannot be had from the hosts. They are one value of the meta bucket,
// written by every commit.
type totals struct {
	outcomes frontier.Outcomes
	endings  map[ending]int64 // closed URLs by outcome and reason; none without a reason
	reasons  []string         // the reason with number i stands at i-1
	capped   map[string]int64 // links, by reason

	strangers int64 // of the dropped ones, those refused at hosts that were not known
	counts    map[string]int64

	numbers map[string]int // of reasons; not stored
}

// otherReasons stands for all reasons after the 510th: a number has nine bits, and a crawler that puts free text into
// reasons must not fill the memory.
const otherReasons = "other reasons"

func newTotals() *totals {
	return &totals{endings: map[ending]int64{}, capped: map[string]int64{}, counts: map[string]int64{}, numbers: map[string]int{}}
}

// close counts a closed URL and returns its ending.
func (t *totals) close(o frontier.Outcome, reason string) ending {
	t.outcomes[o]++
	e := makeEnding(o, t.number(reason))
	if e.reason() != 0 {
		t.endings[e]++
	}
	return e
}

// reopen takes back a close.
func (t *totals) reopen(e ending) {
	t.outcomes[e.outcome()]--
	if e.reason() == 0 {
		return
	}
	if t.endings[e]--; t.endings[e] == 0 {
		delete(t.endings, e)
	}
}

// number returns the number of a reason; the empty one is 0.
func (t *totals) number(reason string) int {
	if reason == "" {
		return 0
	}
	n, ok := t.numbers[reason]
	switch {
	case ok:
		return n
	case len(t.reasons) == maxReasons:
		return maxReasons
	case len(t.reasons) == maxReasons-1:
		reason = otherReasons
	}
	t.reasons = append(t.reasons, reason)
	t.numbers[reason] = len(t.reasons)
	return len(t.reasons)
}

// closed returns the number of closed URLs.
func (t *totals) closed() int64 {
	n := int64(0)
	for _, k := range t.outcomes {
		n += k
	}
	return n
}

// byReason returns the closed URLs by outcome and reason.
func (t *totals) byReason() map[frontier.Outcome]map[string]int64 {
	m := map[frontier.Outcome]map[string]int64{}
	for e, n := range t.endings {
		if m[e.outcome()] == nil {
			m[e.outcome()] = map[string]int64{}
		}
		m[e.outcome()][t.reasons[e.reason()-1]] += n
	}
	return m
}

// appendTo writes t. The order is fixed, so that equal totals are equal octets.
func (t *totals) appendTo(b []byte) []byte {
	for _, n := range t.outcomes {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = binary.AppendUvarint(b, uint64(t.strangers))
	b = binary.AppendUvarint(b, uint64(len(t.reasons)))
	for _, r := range t.reasons {
		b = appendText(b, r)
	}
	b = binary.AppendUvarint(b, uint64(len(t.endings)))
	for _, e := range slices.Sorted(maps.Keys(t.endings)) {
		b = binary.AppendUvarint(b, uint64(e))
		b = binary.AppendUvarint(b, uint64(t.endings[e]))
	}
	return appendSums(appendSums(b, t.capped), t.counts)
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

// parseTotals reads what appendTo wrote.
func parseTotals(body []byte) (*totals, bool) {
	t := newTotals()
	p := parser{b: body}
	for i := range t.outcomes {
		t.outcomes[i] = int64(p.uvarint())
	}
	t.strangers = int64(p.uvarint())
	for n := p.uvarint(); n > 0 && !p.bad; n-- {
		r := p.text()
		t.reasons = append(t.reasons, r)
		t.numbers[r] = len(t.reasons)
	}
	for n := p.uvarint(); n > 0 && !p.bad; n-- {
		e := ending(p.uvarint())
		t.endings[e] = int64(p.uvarint())
		if e.reason() == 0 || e.reason() > len(t.reasons) {
			p.fail()
		}
	}
	p.sums(t.capped)
	p.sums(t.counts)
	return t, p.done()
}
