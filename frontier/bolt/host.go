package bolt

import (
	"time"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// host is what RAM holds of an authority. Robots state and the crawler's memory are on disk; the address of their
// records is here. Times are nanoseconds on the clock of the opening; see clock.
type host struct {
	layout.HostState
	authority    canon.Authority
	id           uint32
	dirty        bool // in the dirty list of the open group
	named        bool // its name is on disk, or on its way
	suspectWaits bool // among the hosts whose suspect cannot be given yet; see scheduler
	lease        *lease
	queue        queue // what can be given, now or later
	domain       *domain

	outcomes [len(frontier.Outcomes{})]uint32
	queued   uint32
	inFlight uint32
	deferred uint32

	at [layout.HostKinds]uint64 // values of the journal of states, by kind less one; zero is none
}

// lease is a turn that is out.
type lease struct {
	token   frontier.Token
	expires int64
	width   int
	trial   bool                   // its one task is a suspect
	tasks   []leasedTask           // those not settled yet, in the order in which they were given
	dropped []frontier.Fingerprint // those that a drop closed since the last Finish
	robots  []byte                 // as they are stored, so that an update that changes nothing writes nothing
	memory  []byte
}

// leasedTask is a task under a lease. The print is known when the text has been read, which is before anybody can name
// it.
type leasedTask struct {
	ref   layout.Ref
	print frontier.Fingerprint
}

func (h *host) pending() uint32 { return h.queued + h.inFlight + h.deferred }
func (h *host) claimable() bool {
	return h.Condition == frontier.Open || h.Condition == frontier.Parked
}
func (h *host) accepted() uint32 { return h.pending() + h.closed() - h.Refused }

func (h *host) closed() uint32 {
	n := uint32(0)
	for _, k := range h.outcomes {
		n += k
	}
	return n
}

// wait puts h off until d from now. A longer wait stays; a negative one is none.
func (h *host) wait(now int64, d time.Duration) {
	h.NotBefore = max(h.NotBefore, layout.After(now, d))
}

// record returns what else is stored of h: its name, robots state or memory.
func (h *host) record(kind layout.Kind, data []byte) *layout.StateRecord {
	return &layout.StateRecord{Address: layout.Address{Kind: kind, ID: uint64(h.id)}, Data: data}
}

// stopped reports whether h is out until an operator resumes it.
func (h *host) stopped() bool { return h.Hold != nil && !h.Hold.Ends() }

// dropped reports whether an operator has dropped h. Its URLs that are pending nevertheless, under a lease or by a
// Retry, wait for Resume.
func (h *host) dropped() bool { return h.Hold != nil && h.Hold.Act == frontier.Drop }

// closing reports whether a Drop of h has not closed all yet.
func (h *host) closing() bool { return h.Hold != nil && h.Hold.Closing }

// free returns when h may have a turn: its own wait is over, and a park that ends by itself.
func (h *host) free() int64 {
	if h.Hold != nil {
		return max(h.NotBefore, h.Hold.Until)
	}
	return h.NotBefore
}

// holdView is the hold of h as the outside sees it.
func (h *host) holdView(now int64) frontier.Hold {
	k := h.Hold
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

// wanted returns how many tasks h gives under a lease that is kept: of a host that an operator holds, none.
func (h *host) wanted(n int) int {
	if h.Hold != nil {
		return 0
	}
	return max(n, 0)
}
