package bolt

import (
	"time"

	"curtsy/frontier"
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
func (o *operator) setClosing(h *host, yes bool) {
	if h.hold.Closing != yes {
		h.hold.Closing = yes
		o.f.groups.open.change(h)
	}
	o.f.scheduler.closing = yes // there is one command at a time
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

// setHold puts k, or nil, in the place of the hold of h, and returns whether that is a change. The caller holds mu and
// has touched the open group.
func (o *operator) setHold(h *host, k *layout.Hold, now int64) bool {
	if h.hold.Same(k) {
		return false
	}
	o.f.hosts.count(h, -1)
	h.hold = k
	o.f.hosts.count(h, 1)
	o.f.groups.open.change(h)
	o.f.scheduler.watch(h)
	o.f.scheduler.reschedule(h, now)
	return true
}

// wanted returns how many tasks h gives under a lease that is kept: of a host that an operator holds, none.
func (h *host) wanted(n int) int {
	if h.hold != nil {
		return 0
	}
	return max(n, 0)
}
