package layout

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// HostState is the stored state of a host, without its name, robots state and memory.
type HostState struct {
	Condition frontier.Condition
	Refused   uint32 // candidates, which count as Dropped and never were tasks
	Width     int
	Pace      time.Duration
	Finished  frontier.Token // of the last Finish that ended a turn
	NotBefore int64
	Reason    string
	Hold      *Hold // nil for none
}

// StateRecord encodes s, the state of the host with that id.
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

// ParseHostState decodes data, and reports whether it was valid.
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

const MaxHosts = 1 << 28 // of ids; more hosts would not fit into RAM

// A StateRecord is a piece of state that is written as a whole and read by its address. The last one of an address
// counts. It lives in a journal because a bucket with a key for each would rewrite a page of 4 KiB for every host that
// had a turn. The Sweeper removes superseded ones.
type StateRecord struct {
	Address
	Data []byte
}

type Address struct {
	Kind Kind
	ID   uint64 // of a host, or the reference of a task
}

// Kind is the kind of a state record. The numbers are stable on disk.
type Kind uint8

const (
	KindName   Kind = 1 // the authority of a host
	KindHost   Kind = 2 // state of a host in RAM
	KindRobots Kind = 3 // HostUpdate.Robots
	KindMemory Kind = 4 // HostUpdate.Memory
	KindRetry  Kind = 5 // a task that was deferred
)

const HostKinds = 4 // number of kinds that belong to hosts, the first ones

func (c StateRecord) AppendTo(b []byte) []byte {
	b = append(b, byte(c.Kind))
	b = binary.AppendUvarint(b, c.ID)
	b = binary.AppendUvarint(b, uint64(len(c.Data)))
	return append(b, c.Data...)
}

// EachState calls f for every state record of a value of the journal, or for none if one is unreadable.
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

func (p *parser) state() (c StateRecord) {
	if kind := p.bytes(1); !p.bad {
		c.Kind = Kind(kind[0])
	}
	c.ID = p.uvarint()
	c.Data = p.bytes(p.uvarint())
	return c
}

// Retry is the stored history of a task that was deferred, released or dropped under a lease, or is a suspect.
type Retry struct {
	Attempts int
	Stops    int // unclean stops at which it was in flight; with one it is a suspect
	Alone    int // of these, those at which nothing else was in flight
	Reason   string
	URL      string // replaces the fetch URL; empty for none
	Due      int64
	Dropped  bool // by an operator while it was leased: to be closed when the lease ends
}

// Void reports whether t is empty: the task was opened again.
func (t *Retry) Void() bool {
	return t.Attempts == 0 && t.URL == "" && t.Stops == 0 && t.Reason == "" && !t.Dropped
}

const droppedMark = 1 // last item of a dropped task; missing otherwise

// StateRecord encodes t, of the task r.
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

// ParseRetry decodes data, and reports whether it was valid.
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

// Hold is an operator's command about a host, the optional last part of the host's state.
type Hold struct {
	Act    frontier.Act // Park or Drop
	Until  int64        // on the clock of the opening; the end of time when it does not expire
	Reason string

	// Closing is set while the pending URLs of a dropped host are being closed, in batches. After a crash in between,
	// the next opening closes the rest.
	Closing bool
}

// Ends reports whether k expires: a park with a time is a wait, anything else takes the host out.
func (k *Hold) Ends() bool { return k.Until != math.MaxInt64 }

// Same reports whether k and l, which may be nil, are the same command.
func (k *Hold) Same(l *Hold) bool {
	if k == nil || l == nil {
		return k == l
	}
	return k.Act == l.Act && k.Until == l.Until && k.Reason == l.Reason
}

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

const (
	endsFlag    = 1 // a wait follows
	closingFlag = 2
)

// parseHold returns nil for a park that is over.
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

// Sweeper keeps the journal of states at about twice the size of its current records. A cycle passes once through the
// values that were there when it began, oldest first; current records are appended again, and the value is dropped. A
// commit sweeps about twice as many bytes as it writes, so that no commit is long. The next cycle begins when the
// journal has doubled: so a record is moved at most once for each time that as much again was written. Only the writer
// uses it.
type Sweeper struct {
	Bytes  int64        // in the journal
	Base   int64        // bytes when the last cycle ended
	Next   uint64       // key to sweep next; zero outside a cycle
	end    uint64       // last key of the cycle
	swept  []sweptValue // by the last commit: to be dropped by the next
	Placed []Placed     // by the current commit
}

type sweptValue struct {
	seq  uint64
	size int64
}

// Placed is the place of a state record: the value with key Seq.
type Placed struct {
	Address
	Seq uint64
}

const (
	sweepSlack = 1 << 20 // bytes that the journal may have beyond twice its base
	sweepStep  = 4 << 10 // least bytes that a commit of a cycle sweeps
)

// Commit writes the state records of a group, after those that the cycle moves: of two in one value the later one
// counts. Values are dropped one commit after their records were moved: until the new places are known, readers still
// find the old ones.
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

// sweep moves the current records out of the next values of the cycle, about quota bytes.
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
		s.swept = append(s.swept, sweptValue{seq: seq, size: int64(len(body))})
		s.Next = seq + 1
		quota -= int64(len(body))
	}
	if quota > 0 { // the cycle ends
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
