// A schedule says whose turn it is: among ids, each with a time when it is due, the one that has been due for
// longest. It hides that entries which no longer count stay where they are until they come up.
//
// # Invariants
//
// An id is in the schedule once or not at all. It leaves in the order of its due time; of ids due at the same time, the
// one whose last turn was given earlier leaves first, then the smaller id. The heap holds an entry for each id in the
// schedule, and fewer stale ones than that plus 64.
//
// The caller guards a schedule: in the engine, by its mutex.

package bolt

import (
	"math"
)

// schedule is a set of ids and when they are due. Ids are small numbers: there is a slot for each up to the largest.
// The zero Schedule is empty.
type schedule struct {
	heap    heap   // at is when an id is due, tie is turn<<32 | id
	slots   []slot // by id
	waiting int    // ids in the schedule
}

// slot is what is known of an id.
type slot struct {
	due     int64
	turn    uint32 // the number of its last turn
	waiting bool   // it is in the schedule, with the key (due, turn, id)
}

func (s *schedule) slot(id uint32) *slot {
	for int(id) >= len(s.slots) {
		s.slots = append(s.slots, slot{})
	}
	return &s.slots[id]
}

// Enter puts id into the schedule, due at a time, and reports whether that changed something: an id that is due no
// later than that stays as it is.
func (s *schedule) Enter(id uint32, due int64) bool {
	x := s.slot(id)
	if x.waiting && x.due <= due {
		return false
	}
	if !x.waiting {
		x.waiting = true
		s.waiting++
	}
	x.due = due
	s.heap.Push(x.entry(id))
	if len(s.heap) > 2*s.waiting+64 {
		s.heap.Keep(s.valid)
	}
	return true
}

// Leave takes id out, if it is there. Its entry may stay behind, stale.
func (s *schedule) Leave(id uint32) {
	if x := s.slot(id); x.waiting {
		x.waiting = false
		s.waiting--
	}
}

// Remove takes id out with its entry, which takes a look at the whole schedule. A change that may make an id due later
// must use it: two equal entries would both count.
func (s *schedule) Remove(id uint32) {
	if x := s.slot(id); x.waiting {
		s.Leave(id)
		s.heap.Remove(x.entry(id))
	}
}

// Served notes the number of the turn that id was given. It must not be in the schedule.
func (s *schedule) Served(id, turn uint32) { s.slot(id).turn = turn }

// Due returns when id is due, and whether it is in the schedule.
func (s *schedule) Due(id uint32) (due int64, waiting bool) {
	x := s.slot(id)
	return x.due, x.waiting
}

// Entries returns how many entries the schedule holds, stale ones among them: what it costs.
func (s *schedule) Entries() int { return len(s.heap) }

// Earliest returns when the first id is due, the end of time when there is none.
func (s *schedule) Earliest() int64 {
	for len(s.heap) > 0 {
		if e := s.heap[0]; s.valid(e) {
			return e.At
		}
		s.heap.Pop()
	}
	return math.MaxInt64
}

// Next takes out the id that has been due for longest, and returns it with the time when it became due; ok is false
// when none is due at now.
func (s *schedule) Next(now int64) (id uint32, due int64, ok bool) {
	if at := s.Earliest(); at > now || len(s.heap) == 0 {
		return 0, 0, false
	}
	e := s.heap.Pop()
	s.Leave(uint32(e.Tie))
	return uint32(e.Tie), e.At, true
}

// valid reports whether e is the entry of an id as it is in the schedule now.
func (s *schedule) valid(e entry) bool {
	x := &s.slots[uint32(e.Tie)]
	return x.waiting && x.due == e.At && x.turn == uint32(e.Tie>>32)
}

func (x *slot) entry(id uint32) entry {
	return entry{At: x.due, Tie: uint64(x.turn)<<32 | uint64(id)}
}
