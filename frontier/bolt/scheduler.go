package bolt

import (
	"math"
	"time"

	"curtsy/frontier"
)

// scheduler decides which host is next. A host is in the schedule when it has a task to give and is neither leased,
// retired, refused nor held by an operator, except while its suspect cannot be given.
type scheduler struct {
	hosts    *hosts
	leases   *leases
	suspects *suspects
	waiting  *waiters
	caps     *caps
	groups   *groups

	due     schedule // by id of the host
	holds   heap     // parks with a time: at is the end, tie is the host
	closing bool     // a Drop of a host is under way
}

// enter puts h into the schedule, if it may have a turn, at the time when its wait is over and its first task is due,
// and not before now, so that hosts that are due are in the order in which they became due.
func (sc *scheduler) enter(h *host, now int64) {
	at, ok := h.queue.Available(now)
	if h.queue.Suspected() && !h.suspectWaits {
		at, ok = now, true
	}
	if ok {
		sc.enterAt(h, at)
	}
}

// enterAt is enter for a host that has a task to give at that time.
func (sc *scheduler) enterAt(h *host, at int64) {
	if h.lease != nil || !h.claimable() || h.stopped() {
		return
	}
	due := max(at, h.free())
	if sc.due.Enter(h.id, due) {
		sc.waiting.wakeFor(due)
	}
}

// next takes out the host that has been due for longest, nil when no turn can be given.
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

// shut reports whether no host gets a turn: a suspect must be the only one, or the file is full, or may be.
func (sc *scheduler) shut() bool { return sc.suspects.lone || sc.caps.full || sc.caps.tight }

// summary returns the state of the frontier, and for Waiting the time until a host is due.
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

// letSuspects enters the hosts again whose suspects could not be given, under their old due time: otherwise a lone one
// would always be behind all others. A lease has just ended; trial reports that it was a suspect's.
func (sc *scheduler) letSuspects(trial bool) {
	if waiting := sc.waiting.list; trial && len(waiting) > 0 {
		waiting[0].signal()
	}
	for _, s := range sc.suspects.release(trial) {
		if s.host.queue.Suspected() {
			sc.enterAt(s.host, s.due)
		}
	}
}

// wakesAt returns the time of the next timed event: a host is due, or a lease expires.
func (sc *scheduler) wakesAt() int64 {
	at := sc.leases.earliest()
	if !sc.shut() {
		at = min(at, sc.due.Earliest())
	}
	return at
}

// wakeEnded wakes the waiters whose wait ends with the last lease.
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

func (sc *scheduler) watch(h *host) {
	if h.Hold != nil && h.Hold.Ends() {
		sc.holds.Push(entry{At: h.Hold.Until, Tie: uint64(h.id)})
	}
}

// endHolds ends the parks whose time is over. The schedule has reckoned with their ends.
func (sc *scheduler) endHolds(now int64) {
	for len(sc.holds) > 0 && sc.holds[0].At <= now {
		e := sc.holds.Pop()
		h := sc.hosts.all[uint32(e.Tie)]
		if h.Hold == nil || h.Hold.Until != e.At {
			continue // resumed, or parked again
		}
		sc.hosts.count(h, -1)
		h.Hold = nil
		sc.hosts.count(h, 1)
		if !sc.groups.readOnly {
			sc.groups.touch(now).change(h)
		}
	}
}

// reschedule enters h again after a change that may make it due later, or never.
func (sc *scheduler) reschedule(h *host, now int64) {
	sc.due.Remove(h.id)
	sc.enter(h, now)
}

// schedule is a set of ids, which are small numbers, with their due times. The zero schedule is empty.
//
// An id is in it at most once. Ids leave in the order of their due times; of those due at the same time, the one whose
// last turn was earlier leaves first, then the smaller id. The heap holds an entry for each id, and fewer stale ones
// than that plus 64, which stay until they come up.
type schedule struct {
	heap    heap   // at is the due time, tie is turn<<32 | id
	slots   []slot // by id
	waiting int    // ids in the schedule
}

type slot struct {
	due     int64
	turn    uint32 // the last turn
	waiting bool   // in the schedule, with the key (due, turn, id)
}

func (s *schedule) slot(id uint32) *slot {
	for int(id) >= len(s.slots) {
		s.slots = append(s.slots, slot{})
	}
	return &s.slots[id]
}

// Enter puts id into the schedule and reports a change: an id that is due no later stays as it is.
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

// Remove takes id out with its entry, for which it searches the whole schedule. A change that may make an id due later
// must use it: two equal entries would both count.
func (s *schedule) Remove(id uint32) {
	if x := s.slot(id); x.waiting {
		s.Leave(id)
		s.heap.Remove(x.entry(id))
	}
}

// Served records the number of the turn that id was given. It must not be in the schedule.
func (s *schedule) Served(id, turn uint32) { s.slot(id).turn = turn }

func (s *schedule) Due(id uint32) (due int64, waiting bool) {
	x := s.slot(id)
	return x.due, x.waiting
}

// Earliest returns the first due time, the end of time for an empty schedule.
func (s *schedule) Earliest() int64 {
	for len(s.heap) > 0 {
		if e := s.heap[0]; s.valid(e) {
			return e.At
		}
		s.heap.Pop()
	}
	return math.MaxInt64
}

// Next takes out the id that has been due for longest; ok is false when none is due at now.
func (s *schedule) Next(now int64) (id uint32, due int64, ok bool) {
	if at := s.Earliest(); at > now || len(s.heap) == 0 {
		return 0, 0, false
	}
	e := s.heap.Pop()
	s.Leave(uint32(e.Tie))
	return uint32(e.Tie), e.At, true
}

// valid reports whether e is the current entry of its id.
func (s *schedule) valid(e entry) bool {
	x := &s.slots[uint32(e.Tie)]
	return x.waiting && x.due == e.At && x.turn == uint32(e.Tie>>32)
}

func (x *slot) entry(id uint32) entry {
	return entry{At: x.due, Tie: uint64(x.turn)<<32 | uint64(id)}
}
