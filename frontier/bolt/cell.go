package bolt

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// A cell is a piece of state that is written as a whole and read by its address, kind and id. Cells live in a journal,
// where the last one of an address counts, because the alternative, a bucket with a key for each, rewrites a page of
// 4 KiB for every host that had a turn. What no longer counts is swept up; see sweep.
type cell struct {
	address
	data []byte
}

// address names a cell.
type address struct {
	kind cellKind
	id   uint64 // of a host, or the reference of a task
}

// cellKind says what a cell holds. The numbers are stable on disk.
type cellKind uint8

// The kinds.
const (
	nameCell   cellKind = 1 // the authority of a host
	stateCell  cellKind = 2 // what is in RAM of a host
	robotsCell cellKind = 3 // HostUpdate.Robots
	memoryCell cellKind = 4 // HostUpdate.Memory
	retryCell  cellKind = 5 // a task that was deferred
)

// hostKinds are the kinds below which a host's cells are.
const hostKinds = 4

// appendTo writes c as an item of its journal.
func (c cell) appendTo(b []byte) []byte {
	b = append(b, byte(c.kind))
	b = binary.AppendUvarint(b, c.id)
	b = binary.AppendUvarint(b, uint64(len(c.data)))
	return append(b, c.data...)
}

// eachCell calls f for every cell of a value of the journal, and for none when not all can be read.
func eachCell(body []byte, f func(cell)) error {
	for p := (parser{b: body}); p.more(); {
		if c := p.cell(); p.bad || c.kind < nameCell || c.kind > retryCell {
			return fmt.Errorf("cell: %w", frontier.ErrDamaged)
		}
	}
	for p := (parser{b: body}); p.more(); {
		f(p.cell())
	}
	return nil
}

// cell reads what appendTo wrote.
func (p *parser) cell() (c cell) {
	if kind := p.bytes(1); !p.bad {
		c.kind = cellKind(kind[0])
	}
	c.id = p.uvarint()
	c.data = p.bytes(p.uvarint())
	return c
}

// sweeper keeps the cell journal at about twice what counts in it. A cycle goes once through the values that were
// there when it began, from the oldest on; cells that still count are appended again, and the value is dropped. A
// commit sweeps about twice as many octets as it writes, so that no commit is long. The next cycle begins when the
// journal has doubled: a cell is moved at most once for each time that as much again was written. Only the writer
// uses it.
type sweeper struct {
	octets int64    // in the journal
	base   int64    // octets when the last cycle ended
	next   uint64   // key to sweep next; zero outside a cycle
	end    uint64   // last key of the cycle
	swept  []swept  // by the commit before: to be dropped by the next
	placed []placed // by the commit in work
}

type swept struct {
	seq    uint64
	octets int64
}

// placed says in which value a cell is.
type placed struct {
	address
	seq uint64
}

const (
	sweepSlack = 1 << 20 // octets that the journal may have beyond twice its base
	sweepStep  = 4 << 10 // least octets that a commit sweeps within a cycle
)

// commit writes the cells of a group, after those that the cycle moves: of two in one value the later one counts.
// Values are dropped one commit after their cells were moved. Between the commit and the moment when the new places
// are known to readers, a reader still finds the old ones.
func (s *sweeper) commit(tx *bbolt.Tx, fresh []*cell, counts func([]placed) []bool) error {
	for _, v := range s.swept {
		if err := cellJournal.drop(tx, v.seq); err != nil {
			return err
		}
		s.octets -= v.octets
	}
	s.swept, s.placed = s.swept[:0], s.placed[:0]
	if s.next == 0 && s.octets > 2*s.base+sweepSlack {
		s.next, s.end = 1, cellJournal.last(tx)
	}
	w := packer{tx: tx, journal: cellJournal}
	from := 0
	w.written = func(seq uint64) {
		for ; from < len(s.placed); from++ {
			s.placed[from].seq = seq
		}
	}
	var item []byte
	put := func(c cell) error {
		item = c.appendTo(item[:0])
		if err := w.add(item); err != nil { // may write the value before this cell
			return err
		}
		s.placed = append(s.placed, placed{address: c.address})
		return nil
	}
	if s.next != 0 {
		quota := int64(sweepStep)
		for _, c := range fresh {
			quota += 2 * int64(len(c.data)+8)
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
	if err := w.flush(); err != nil {
		return err
	}
	s.octets += w.octets
	return nil
}

// sweep moves the cells that count out of the next values of the cycle, about quota octets.
func (s *sweeper) sweep(tx *bbolt.Tx, quota int64, counts func([]placed) []bool, put func(cell) error) error {
	var cells []cell
	var places []placed
	c := tx.Bucket([]byte(cellJournal)).Cursor()
	k, v := c.Seek(binary.BigEndian.AppendUint64(nil, s.next))
	for ; k != nil && quota > 0; k, v = c.Next() {
		seq := binary.BigEndian.Uint64(k)
		if seq > s.end {
			break
		}
		body, ok := unsealFor(string(cellJournal), k, v)
		if !ok {
			return fmt.Errorf("sweep cells: value %d: checksum does not match: %w", seq, frontier.ErrDamaged)
		}
		err := eachCell(body, func(c cell) {
			cells = append(cells, c)
			places = append(places, placed{address: c.address, seq: seq})
		})
		if err != nil {
			return fmt.Errorf("sweep cells: value %d: %w", seq, err)
		}
		s.swept = append(s.swept, swept{seq: seq, octets: int64(len(body))})
		s.next = seq + 1
		quota -= int64(len(body))
	}
	if quota > 0 { // there is no more in this cycle
		s.next, s.base = 0, s.octets
		for _, v := range s.swept {
			s.base -= v.octets
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
