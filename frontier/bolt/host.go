package bolt

import (
	"time"

	"curtsy/frontier"
	"curtsy/frontier/bolt/heap"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// host is what RAM holds of an authority. Robots state and the crawler's memory are on disk; the address of their
// cells is here. Times are nanoseconds on the clock of the opening; see clock.
type host struct {
	authority canon.Authority
	id        uint32
	condition frontier.Condition
	hold      *layout.Hold // by an operator; mostly nil
	dirty     bool         // in the dirty list of the open group
	named     bool         // its name is on disk, or on its way
	deep      bool         // its tasks are given depth first
	held      bool         // among the hosts whose suspect cannot be given yet; see scheduler
	width     int
	pace      time.Duration
	reason    string
	notBefore int64
	finished  frontier.Token // of the last Finish that ended a turn
	lease     *lease
	queue     queue
	aside     *aside // of tasks that have been claimed before; mostly nil
	domain    *domain

	outcomes [len(frontier.Outcomes{})]uint32
	refused  uint32 // of outcomes, those that never were tasks
	queued   uint32
	inFlight uint32
	deferred uint32

	at [layout.HostKinds]uint64 // values of the cell journal, by kind less one; zero is none
}

// aside holds references out of a host's queue.
type aside struct {
	early    heap.Heap // to be claimed before those of the queue beyond them: at is the rank of the reference
	later    heap.Heap // deferred, and untried for all that: at is the time when they are due, tie the reference
	again    heap.Heap // tried before: likewise
	tried    heap.Heap // of these, those that are due, given when nothing untried is: at is the rank
	suspects heap.Heap // given when nothing else is due: at is the rank
}

// lease is a turn that is out.
type lease struct {
	token   frontier.Token
	expires int64
	width   int
	trial   bool                   // its one task is a suspect
	tasks   []held                 // those not settled yet, in the order in which they were given
	dropped []frontier.Fingerprint // those that a drop closed since the last Finish
	robots  []byte                 // as they are stored, so that an update that changes nothing writes nothing
	memory  []byte
}

// held is a task under a lease. The print is known when the text has been read, which is before anybody can name it.
type held struct {
	ref   layout.Ref
	print frontier.Fingerprint
}

func (h *host) pending() uint32 { return h.queued + h.inFlight + h.deferred }
func (h *host) claimable() bool {
	return h.condition == frontier.Open || h.condition == frontier.Parked
}
func (h *host) accepted() uint32 { return h.pending() + h.closed() - h.refused }

func (h *host) closed() uint32 {
	n := uint32(0)
	for _, k := range h.outcomes {
		n += k
	}
	return n
}

// wait puts h off until d from now. A longer wait stays; a negative one is none.
func (h *host) wait(now int64, d time.Duration) {
	h.notBefore = max(h.notBefore, layout.After(now, d))
}

// giveBack returns a reference to its place in the order of acceptance.
func (h *host) giveBack(r layout.Ref) {
	if h.aside == nil {
		h.aside = &aside{}
	}
	h.aside.early.Push(heap.Entry{At: h.rank(r)})
}

// rank returns the place of a reference in the order of h's tasks, least first; the rank of a rank is the reference.
func (h *host) rank(r layout.Ref) int64 {
	if h.deep {
		return -int64(r)
	}
	return int64(r)
}

// unrank returns the reference that has a rank.
func (h *host) unrank(at int64) layout.Ref {
	if h.deep {
		return layout.Ref(-at)
	}
	return layout.Ref(at)
}

// giveSuspect returns a reference to be given when nothing else is due.
func (h *host) giveSuspect(r layout.Ref) {
	if h.aside == nil {
		h.aside = &aside{}
	}
	h.aside.suspects.Push(heap.Entry{At: h.rank(r)})
}

// giveLater returns a deferred reference, of which t is kept, for when it is due.
func (h *host) giveLater(r layout.Ref, t *retry) {
	if h.aside == nil {
		h.aside = &aside{}
	}
	places := &h.aside.later
	if t.attempts > 0 {
		places = &h.aside.again
	}
	places.Push(heap.Entry{At: t.due, Tie: uint64(r)})
}

// available returns when h has a task to give, suspects apart; ok is false when it has none.
func (h *host) available(now int64) (at int64, ok bool) {
	if _, ok := h.queue.front(); ok {
		return now, true
	}
	switch a := h.aside; {
	case a == nil:
		return 0, false
	case len(a.early)+len(a.tried) > 0:
		return now, true
	case len(a.later) > 0 && len(a.again) > 0:
		return min(a.later[0].At, a.again[0].At), true
	case len(a.later) > 0:
		return a.later[0].At, true
	case len(a.again) > 0:
		return a.again[0].At, true
	}
	return 0, false
}

// take removes up to n references that can be given now, suspects apart, and returns them in their order: what was tried
// before comes after all that was not, lest what fails again and again keep the rest of the host waiting.
func (h *host) take(now int64, n int) []layout.Ref {
	var refs []layout.Ref
	if a := h.aside; a != nil {
		for len(a.later) > 0 && a.later[0].At <= now {
			a.early.Push(heap.Entry{At: h.rank(timed(a.later.Pop()))})
		}
		for len(a.again) > 0 && a.again[0].At <= now {
			a.tried.Push(heap.Entry{At: h.rank(timed(a.again.Pop()))})
		}
	}
	for len(refs) < n {
		r, ok := h.first()
		if a := h.aside; a != nil && len(a.early) > 0 && (!ok || a.early[0].At < h.rank(r)) {
			refs = append(refs, h.unrank(a.early.Pop().At))
			continue
		}
		if !ok {
			break
		}
		h.popFirst()
		refs = append(refs, r)
	}
	if a := h.aside; a != nil {
		for len(refs) < n && len(a.tried) > 0 {
			refs = append(refs, h.unrank(a.tried.Pop().At))
		}
	}
	h.clearAside()
	return refs
}

// first returns the reference of the queue that comes first.
func (h *host) first() (r layout.Ref, ok bool) {
	if h.deep {
		return h.queue.back()
	}
	return h.queue.front()
}

// popFirst removes what first returns.
func (h *host) popFirst() {
	if h.deep {
		h.queue.popBack()
		return
	}
	h.queue.pop()
}

// clearAside drops what is aside when there is nothing in it.
func (h *host) clearAside() {
	if a := h.aside; a != nil && len(a.early)+len(a.later)+len(a.again)+len(a.tried)+len(a.suspects) == 0 {
		h.aside = nil
	}
}

// state returns the state of h as it is stored.
func (h *host) state(c layout.Clock, now int64) *layout.StateRecord {
	s := layout.HostState{
		Condition: h.condition, Width: h.width, Pace: h.pace, Refused: h.refused, Finished: h.finished,
		NotBefore: h.notBefore, Reason: h.reason, Hold: h.hold,
	}
	return s.StateRecord(h.id, c, now)
}

// setState is the inverse of state. It reports whether data is the state of a host.
func (h *host) setState(data []byte, c layout.Clock) bool {
	s, ok := layout.ParseHostState(data, c)
	if ok {
		h.condition, h.width, h.pace, h.refused, h.finished = s.Condition, s.Width, s.Pace, s.Refused, s.Finished
		h.notBefore, h.reason, h.hold = s.NotBefore, s.Reason, s.Hold
	}
	return ok
}
