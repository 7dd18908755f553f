package bolt

import (
	"math"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/bolt/heap"
	"curtsy/frontier/bolt/layout"
)

// stopped reports whether h is out until an operator resumes it.
func (h *host) stopped() bool { return h.hold != nil && !h.hold.Ends() }

// dropped reports whether an operator has dropped h. What is pending of it nevertheless, under a lease or by a Retry, waits
// for Resume.
func (h *host) dropped() bool { return h.hold != nil && h.hold.Act == frontier.Drop }

// closing reports whether a Drop of h has not closed all yet.
func (h *host) closing() bool { return h.hold != nil && h.hold.Closing }

// setClosing notes that a Drop of h, which is dropped, has begun to close what is pending, or is through. The caller holds
// mu and has touched the open group.
func (f *Frontier) setClosing(h *host, yes bool) {
	if h.hold.Closing != yes {
		h.hold.Closing = yes
		f.open.change(h)
	}
	f.scheduler.closing = yes // there is one command at a time
}

// free returns when h may have a turn: its own wait is over, and a park that ends by itself.
func (h *host) free() int64 {
	if h.hold != nil {
		return max(h.notBefore, h.hold.Until)
	}
	return h.notBefore
}

// holdView is the hold of h as the outside sees it.
func (h *host) holdView(now int64) frontier.Hold {
	k := h.hold
	switch {
	case k == nil:
		return frontier.Hold{}
	case k.Act == frontier.Drop:
		return frontier.Hold{Act: k.Act, Reason: k.Reason}
	case !k.Ends():
		return frontier.Hold{Act: k.Act, Reason: k.Reason, Wait: frontier.Never}
	}
	return frontier.Hold{Act: k.Act, Reason: k.Reason, Wait: time.Duration(max(k.Until-now, 0))}
}

// holdOf is the inverse of holdView.
func holdOf(v frontier.Hold, now int64) *layout.Hold {
	switch {
	case v.Act == frontier.Drop:
		return &layout.Hold{Act: v.Act, Until: math.MaxInt64, Reason: v.Reason}
	case v.Act == frontier.Park && v.Wait > 0:
		return &layout.Hold{Act: v.Act, Until: layout.After(now, v.Wait), Reason: v.Reason}
	}
	return nil // or it has just ended
}

// setHold puts k, or nil, in the place of the hold of h, and returns whether that is a change. The caller holds mu and
// has touched the open group.
func (f *Frontier) setHold(h *host, k *layout.Hold, now int64) bool {
	if h.hold.Same(k) {
		return false
	}
	f.count(h, -1)
	h.hold = k
	f.count(h, 1)
	f.open.change(h)
	f.watch(h)
	f.reschedule(h, now)
	return true
}

// watch sees to it that the hold of h ends in time. The caller holds mu.
func (f *Frontier) watch(h *host) {
	if h.hold != nil && h.hold.Ends() {
		f.scheduler.holds.Push(heap.Entry{At: h.hold.Until, Tie: uint64(h.id)})
	}
}

// endHolds ends the parks whose time is over. When h is due was reckoned with its end, so the schedule stays as it is.
// The caller holds mu.
func (f *Frontier) endHolds(now int64) {
	d := &f.scheduler
	for len(d.holds) > 0 && d.holds[0].At <= now {
		e := d.holds.Pop()
		h := f.hosts[uint32(e.Tie)]
		if h.hold == nil || h.hold.Until != e.At {
			continue // resumed, or parked anew
		}
		f.count(h, -1)
		h.hold = nil
		f.count(h, 1)
		if !f.readOnly {
			f.touch(now).change(h)
		}
	}
}

// reschedule enters h anew after something has changed that may make it due later, or never. Its old entry is looked for
// in the whole schedule, which only an operator's command does: two equal ones would both be valid. The caller holds mu.
func (f *Frontier) reschedule(h *host, now int64) {
	f.scheduler.due.Remove(h.id)
	f.enter(h, now)
}

// wanted returns how many tasks h gives under a lease that is kept: of a host that an operator holds, none.
func (h *host) wanted(n int) int {
	if h.hold != nil {
		return 0
	}
	return max(n, 0)
}
