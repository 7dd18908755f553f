package layout

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

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
		seq := binary.BigEndian.Uint64(k)
		if seq > s.end {
			break
		}
		body, ok := unsealFor(string(StateJournal), k, v)
		if !ok {
			return fmt.Errorf("sweep cells: value %d: checksum does not match: %w", seq, frontier.ErrDamaged)
		}
		err := EachState(body, func(c StateRecord) error {
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
