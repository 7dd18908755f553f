package layout

import "encoding/binary"

// Retry is what is stored of a task that was deferred, released or dropped under a lease, or is a suspect, until it is
// closed.
type Retry struct {
	Attempts int
	Stops    int // unclean stops at which it was in flight; beyond zero it is a suspect
	Alone    int // of these, those at which nothing else was
	Reason   string
	URL      string // replaces the fetch URL; empty for none
	Due      int64
	Dropped  bool // by an operator while it was under a lease: to be closed when that ends
}

// Void reports whether there is nothing to say: the task was opened again.
func (t *Retry) Void() bool {
	return t.Attempts == 0 && t.URL == "" && t.Stops == 0 && t.Reason == "" && !t.Dropped
}

// droppedMark is written behind everything else when the task was dropped, and nothing when it was not.
const droppedMark = 1

// StateRecord returns t as it is stored, of the task r.
func (t *Retry) StateRecord(r Ref, c Clock, now int64) *StateRecord {
	b := binary.AppendUvarint(nil, uint64(t.Attempts))
	b = c.appendWait(b, now, t.Due)
	b = appendText(b, t.Reason)
	b = appendText(b, t.URL)
	b = binary.AppendUvarint(b, uint64(t.Stops))
	b = binary.AppendUvarint(b, uint64(t.Alone))
	if t.Dropped {
		b = binary.AppendUvarint(b, droppedMark)
	}
	return &StateRecord{Address: Address{Kind: KindRetry, ID: uint64(r)}, Data: b}
}

// ParseRetry reads what StateRecord wrote, and reports whether it is that.
func ParseRetry(data []byte, c Clock) (t Retry, ok bool) {
	p := parser{b: data}
	t = Retry{Attempts: int(p.uvarint()), Due: c.parseWait(&p), Reason: p.text(), URL: p.text()}
	t.Stops, t.Alone = int(p.uvarint()), int(p.uvarint())
	if p.more() {
		if p.uvarint() != droppedMark {
			p.fail()
		}
		t.Dropped = true
	}
	return t, p.done()
}
