package layout

import (
	"encoding/binary"
	"fmt"
	"time"

	"curtsy/frontier"
)

// HostState is what is stored of a host, its name and what the crawler remembers of it apart.
type HostState struct {
	Condition frontier.Condition
	Refused   uint32 // candidates; of the outcomes of the host, those that never were tasks
	Width     int
	Pace      time.Duration
	Finished  frontier.Token // of the last Finish that ended a turn
	NotBefore int64
	Reason    string
	Hold      *Hold // nil for none
}

// StateRecord returns s as it is stored, the state of the host with that id.
func (s *HostState) StateRecord(id uint32, c Clock, now int64) *StateRecord {
	b := []byte{byte(s.Condition)}
	b = binary.AppendUvarint(b, uint64(s.Width))
	b = binary.AppendUvarint(b, uint64(s.Pace))
	b = binary.AppendUvarint(b, uint64(s.Refused))
	b = binary.AppendUvarint(b, uint64(s.Finished))
	b = c.appendWait(b, now, s.NotBefore)
	b = appendText(b, s.Reason)
	b = s.Hold.appendTo(b, c, now)
	return &StateRecord{Address: Address{Kind: KindHost, ID: uint64(id)}, Data: b}
}

// ParseHostState reads what StateRecord wrote, and reports whether it is that.
func ParseHostState(data []byte, c Clock) (s HostState, ok bool) {
	p := parser{b: data}
	if b := p.bytes(1); !p.bad {
		s.Condition = frontier.Condition(b[0])
	}
	s.Width = int(p.uvarint())
	s.Pace = time.Duration(p.uvarint())
	s.Refused = uint32(p.uvarint())
	s.Finished = frontier.Token(p.uvarint())
	s.NotBefore = c.parseWait(&p)
	s.Reason = p.text()
	s.Hold = parseHold(&p, c)
	return s, p.done() && s.Condition <= frontier.Refused
}

// MaxHosts bounds the ids of hosts. More would not fit into RAM; a larger id is damage.
const MaxHosts = 1 << 28

// A StateRecord is a piece of state that is written as a whole and read by its address, kind and id. They live in a
// journal, where the last one of an address counts, because the alternative, a bucket with a key for each, rewrites a
// page of 4 KiB for every host that had a turn. The Sweeper removes those that no longer count.
type StateRecord struct {
	Address
	Data []byte
}

// Address names a state record.
type Address struct {
	Kind Kind
	ID   uint64 // of a host, or the reference of a task
}

// Kind says what a state record holds. The numbers are stable on disk.
type Kind uint8

// The kinds.
const (
	KindName   Kind = 1 // the authority of a host
	KindHost   Kind = 2 // what is in RAM of a host
	KindRobots Kind = 3 // HostUpdate.Robots
	KindMemory Kind = 4 // HostUpdate.Memory
	KindRetry  Kind = 5 // a task that was deferred
)

// HostKinds are the kinds below which a host's state records are.
const HostKinds = 4

// AppendTo writes c as an item of its journal.
func (c StateRecord) AppendTo(b []byte) []byte {
	b = append(b, byte(c.Kind))
	b = binary.AppendUvarint(b, c.ID)
	b = binary.AppendUvarint(b, uint64(len(c.Data)))
	return append(b, c.Data...)
}

// EachState calls f for every state record of a value of the journal, and for none when not all can be read.
func EachState(body []byte, f func(StateRecord) error) error {
	for p := (parser{b: body}); p.more(); {
		if c := p.state(); p.bad || c.Kind < KindName || c.Kind > KindRetry {
			return fmt.Errorf("cell: %w", frontier.ErrDamaged)
		}
	}
	for p := (parser{b: body}); p.more(); {
		if err := f(p.state()); err != nil {
			return err
		}
	}
	return nil
}

// state reads what AppendTo wrote.
func (p *parser) state() (c StateRecord) {
	if kind := p.bytes(1); !p.bad {
		c.Kind = Kind(kind[0])
	}
	c.ID = p.uvarint()
	c.Data = p.bytes(p.uvarint())
	return c
}

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
