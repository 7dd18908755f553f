package bolt

import (
	"math"
	"time"

	"curtsy/frontier"
)

// scheduler says whose turn it is. A host is in the schedule when it has a task to give and is neither leased, retired,
// refused nor held by an operator, except while its suspect cannot be given.
type scheduler struct {
	hosts    *hosts
	leases   *leases
	suspects *suspects
	waiting  *waiters
	caps     *caps
	groups   *groups

	due     schedule // hosts, by their ids
	holds   heap     // of parks by an operator: at is when one ends by itself, tie is the host
	closing bool     // a Drop of a host is under way
}

// enter puts h into the schedule, if it has something to give and may: when its wait and its first task let it, and
// not before now, so that among hosts that are due the order is that in which they became due.
func (sc *scheduler) enter(h *host, now int64) {
	at, ok := h.queue.Available(now)
	if h.queue.Suspected() && !h.suspectWaits {
		at, ok = now, true
	}
	if ok {
		sc.enterAt(h, at)
	}
}

// enterAt is enter for a host that has something to give at that time.
func (sc *scheduler) enterAt(h *host, at int64) {
	if h.lease != nil || !h.claimable() || h.stopped() {
		return
	}
	due := max(at, h.free())
	if sc.due.Enter(h.id, due) {
		sc.waiting.wakeFor(due)
	}
}

// next takes the host out of the schedule that has been due for longest, nil when no turn can be given.
func (sc *scheduler) next(now int64) *host {
	for !sc.shut() {
		id, due, ok := sc.due.Next(now)
		if !ok {
			return nil
		}
		h := sc.hosts.all[id]
		if at, ok := h.queue.Available(now); ok && at <= now || sc.suspects.may(h) {
			return h
		}
		sc.suspects.hold(h, due)
		sc.enter(h, now) // for a task that is due before that
	}
	return nil
}

// shut reports whether no turn is given, whoever is due: a suspect must be alone, or the file is full, or may be.
func (sc *scheduler) shut() bool { return sc.suspects.lone || sc.caps.full || sc.caps.tight }

// summary returns the state of the frontier as a whole, and with Waiting when something will be due.
func (sc *scheduler) summary(now int64) (frontier.State, time.Duration) {
	switch {
	case sc.leases.out == 0 && sc.hosts.sums.pending == 0:
		return frontier.Drained, 0
	case sc.caps.full:
		return frontier.Full, 0
	case sc.leases.out > 0, sc.closing:
		return frontier.Busy, 0
	}
	switch at := sc.due.Earliest(); {
	case at == math.MaxInt64:
		return frontier.Waiting, frontier.Never
	case at <= now:
		return frontier.Busy, 0
	default:
		return frontier.Waiting, time.Duration(at - now)
	}
}

// letSuspects enters the hosts again whose suspects could not be given, as of the time when they became due: a lone
// one would otherwise be behind all others whenever nothing is out. A lease has just ended, that of a suspect if trial
// is set.
func (sc *scheduler) letSuspects(trial bool) {
	if trial {
		sc.waiting.wakeFirst()
	}
	for _, s := range sc.suspects.release(trial) {
		if s.host.queue.Suspected() {
			sc.enterAt(s.host, s.due)
		}
	}
}

// wakesAt returns when the next thing happens by itself: a host is due, or a lease expires.
func (sc *scheduler) wakesAt() int64 {
	at := sc.leases.earliest()
	if !sc.shut() {
		at = min(at, sc.due.Earliest())
	}
	return at
}

// wakeEnded wakes the waiters for which the end of the last lease is the end of the wait.
func (sc *scheduler) wakeEnded(now int64) {
	if sc.leases.out > 0 && !sc.caps.full || len(sc.waiting.list) == 0 {
		return
	}
	state, due := sc.summary(now)
	for _, w := range sc.waiting.list {
		if w.over(state, due) {
			w.signal()
		}
	}
}

// watch sees to it that the hold of h ends in time.
func (sc *scheduler) watch(h *host) {
	if h.Hold != nil && h.Hold.Ends() {
		sc.holds.Push(entry{At: h.Hold.Until, Tie: uint64(h.id)})
	}
}

// endHolds ends the parks whose time is over. When h is due was reckoned with its end, so the schedule stays as it is.
func (sc *scheduler) endHolds(now int64) {
	for len(sc.holds) > 0 && sc.holds[0].At <= now {
		e := sc.holds.Pop()
		h := sc.hosts.all[uint32(e.Tie)]
		if h.Hold == nil || h.Hold.Until != e.At {
			continue // resumed, or parked anew
		}
		sc.hosts.count(h, -1)
		h.Hold = nil
		sc.hosts.count(h, 1)
		if !sc.groups.readOnly {
			sc.groups.touch(now).change(h)
		}
	}
}

// reschedule enters h anew after something has changed that may make it due later, or never. Its old entry is looked
// for in the whole schedule, which only an operator's command does: two equal ones would both be valid.
func (sc *scheduler) reschedule(h *host, now int64) {
	sc.due.Remove(h.id)
	sc.enter(h, now)
}

// schedule is a set of ids and when they are due: it says whose turn it is, which is that of the id that has been due
// for longest. Ids are small numbers: there is a slot for each up to the largest. The zero schedule is empty.
//
// An id is in it once or not at all. It leaves in the order of its due time; of ids due at the same time, the one whose
// last turn was given earlier leaves first, then the smaller id. The heap holds an entry for each id in the schedule, and
// fewer stale ones, which stay where they are until they come up, than that plus 64. The caller guards it: in the engine,
// by its mutex.
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
