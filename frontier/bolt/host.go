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
	authority    canon.Authority
	id           uint32
	condition    frontier.Condition
	hold         *layout.Hold // by an operator; mostly nil
	dirty        bool         // in the dirty list of the open group
	named        bool         // its name is on disk, or on its way
	suspectWaits bool         // among the hosts whose suspect cannot be given yet; see scheduler
	width        int
	pace         time.Duration
	reason       string
	notBefore    int64
	finished     frontier.Token // of the last Finish that ended a turn
	lease        *lease
	queue        queue // what can be given, now or later
	domain       *domain

	outcomes [len(frontier.Outcomes{})]uint32
	refused  uint32 // of outcomes, those that never were tasks
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

// state returns the state of h as it is stored.
func (h *host) state(c layout.Clock, now int64) *layout.StateRecord {
	s := layout.HostState{
		Condition: h.condition, Width: h.width, Pace: h.pace, Refused: h.refused, Finished: h.finished,
		NotBefore: h.notBefore, Reason: h.reason, Hold: h.hold,
	}
	return s.StateRecord(h.id, c, now)
}

// record returns what else is stored of h: its name, robots state or memory.
func (h *host) record(kind layout.Kind, data []byte) *layout.StateRecord {
	return &layout.StateRecord{Address: layout.Address{Kind: kind, ID: uint64(h.id)}, Data: data}
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

// stopped reports whether h is out until an operator resumes it.
func (h *host) stopped() bool { return h.hold != nil && !h.hold.Ends() }

// dropped reports whether an operator has dropped h. Its URLs that are pending nevertheless, under a lease or by a
// Retry, wait for Resume.
func (h *host) dropped() bool { return h.hold != nil && h.hold.Act == frontier.Drop }

// closing reports whether a Drop of h has not closed all yet.
func (h *host) closing() bool { return h.hold != nil && h.hold.Closing }

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

// wanted returns how many tasks h gives under a lease that is kept: of a host that an operator holds, none.
func (h *host) wanted(n int) int {
	if h.hold != nil {
		return 0
	}
	return max(n, 0)
}
