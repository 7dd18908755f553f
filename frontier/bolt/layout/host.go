package layout

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"go.etcd.io/bbolt"

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

// Hold is what an operator commanded about a host. It is kept in the host's state, behind everything else: a state
// that ends before it has none.
type Hold struct {
	Act    frontier.Act // Park or Drop
	Until  int64        // on the clock of the opening; the end of time when it does not end by itself
	Reason string

	// closing says that what is pending of a host that was dropped is being closed, in batches. A death between two
	// leaves it set, and the next opening does the rest.
	Closing bool
}

// Ends reports whether k ends by itself: a park with a time is a wait, anything else takes the host out.
func (k *Hold) Ends() bool { return k.Until != math.MaxInt64 }

// Same reports whether k and l, which may be nil, are one command.
func (k *Hold) Same(l *Hold) bool {
	if k == nil || l == nil {
		return k == l
	}
	return k.Act == l.Act && k.Until == l.Until && k.Reason == l.Reason
}

// appendTo writes k behind the rest of a state; nil writes nothing.
func (k *Hold) appendTo(b []byte, c Clock, now int64) []byte {
	if k == nil {
		return b
	}
	flags := byte(0)
	if k.Ends() {
		flags |= endsFlag
	}
	if k.Closing {
		flags |= closingFlag
	}
	b = append(b, byte(k.Act), flags)
	if k.Ends() {
		b = c.appendWait(b, now, k.Until)
	}
	return appendText(b, k.Reason)
}

// The flags of a hold, stable on disk.
const (
	endsFlag    = 1 // a wait follows
	closingFlag = 2
)

// parseHold reads what AppendTo wrote, if it is there. A park whose time is over is none.
func parseHold(p *parser, c Clock) *Hold {
	if !p.more() {
		return nil
	}
	head := p.bytes(2)
	if p.bad || head[0] != byte(frontier.Park) && head[0] != byte(frontier.Drop) || head[1] > endsFlag|closingFlag {
		p.fail()
		return nil
	}
	k := &Hold{Act: frontier.Act(head[0]), Until: math.MaxInt64, Closing: head[1]&closingFlag != 0}
	if head[1]&endsFlag != 0 {
		k.Until = c.parseWait(p)
	}
	if k.Reason = p.text(); k.Until == 0 {
		return nil
	}
	return k
}

// Sweeper keeps the journal of states at about twice what counts in it. A cycle goes once through the values that were
// there when it began, from the oldest on; those that still count are appended again, and the value is dropped. A
// commit sweeps about twice as many bytes as it writes, so that no commit is long. The next cycle begins when the
// journal has doubled: a state record is moved at most once for each time that as much again was written. Only the
// writer uses it.
type Sweeper struct {
	Bytes  int64    // in the journal
	Base   int64    // bytes when the last cycle ended
	Next   uint64   // key to sweep next; zero outside a cycle
	end    uint64   // last key of the cycle
	swept  []swept  // by the commit before: to be dropped by the next
	Placed []Placed // by the commit in work
}

type swept struct {
	seq  uint64
	size int64
}

// Placed says in which value a state record is.
type Placed struct {
	Address
	Seq uint64
}

const (
	sweepSlack = 1 << 20 // bytes that the journal may have beyond twice its base
	sweepStep  = 4 << 10 // least bytes that a commit sweeps within a cycle
)

// Commit writes the state records of a group, after those that the cycle moves: of two in one value the later one
// counts. Values are dropped one commit after their records were moved. Between the commit and the moment when the new
// places are known to readers, a reader still finds the old ones.
func (s *Sweeper) Commit(tx *bbolt.Tx, fresh []*StateRecord, counts func([]Placed) []bool) error {
	for _, v := range s.swept {
		if err := StateJournal.Drop(tx, v.seq); err != nil {
			return err
		}
		s.Bytes -= v.size
	}
	s.swept, s.Placed = s.swept[:0], s.Placed[:0]
	if s.Next == 0 && s.Bytes > 2*s.Base+sweepSlack {
		s.Next, s.end = 1, StateJournal.Last(tx)
	}
	from := 0
	w := Packer{Write: func(body []byte) error {
		seq, err := StateJournal.Append(tx, body)
		for ; from < len(s.Placed); from++ {
			s.Placed[from].Seq = seq
		}
		s.Bytes += int64(len(body))
		return err
	}}
	var item []byte
	put := func(c StateRecord) error {
		item = c.AppendTo(item[:0])
		if err := w.Add(item); err != nil { // may write the value before this cell
			return err
		}
		s.Placed = append(s.Placed, Placed{Address: c.Address})
		return nil
	}
	if s.Next != 0 {
		quota := int64(sweepStep)
		for _, c := range fresh {
			quota += 2 * int64(len(c.Data)+8)
		}
		if err := s.sweep(tx, quota, counts, put); err != nil {
			return err
		}
	}
	for _, c := range fresh {
		if err := put(*c); err != nil {
			return err
		}
	}
	return w.Flush()
}

// sweep moves those that count out of the next values of the cycle, about quota bytes.
func (s *Sweeper) sweep(tx *bbolt.Tx, quota int64, counts func([]Placed) []bool, put func(StateRecord) error) error {
	var cells []StateRecord
	var places []Placed
	c := tx.Bucket([]byte(StateJournal)).Cursor()
	k, v := c.Seek(binary.BigEndian.AppendUint64(nil, s.Next))
	for ; k != nil && quota > 0; k, v = c.Next() {
		seq, body, err := StateJournal.Open(k, v)
		if err != nil {
			return err
		}
		if seq > s.end {
			break
		}
		err = EachState(body, func(c StateRecord) error {
			cells = append(cells, c)
			places = append(places, Placed{Address: c.Address, Seq: seq})
			return nil
		})
		if err != nil {
			return fmt.Errorf("sweep cells: value %d: %w", seq, err)
		}
		s.swept = append(s.swept, swept{seq: seq, size: int64(len(body))})
		s.Next = seq + 1
		quota -= int64(len(body))
	}
	if quota > 0 { // there is no more in this cycle
		s.Next, s.Base = 0, s.Bytes
		for _, v := range s.swept {
			s.Base -= v.size
		}
	}
	for i, yes := range counts(places) {
		if yes {
			if err := put(cells[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
