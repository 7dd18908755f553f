package bolt

import (
	"math"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/bolt/heap"
)

// enter puts h into the schedule, if it has something to give and may: when its wait and its first task let it, and
// not before now, so that among hosts that are due the order is that in which they became due. The caller holds mu.
func (f *Frontier) enter(h *host, now int64) {
	at, ok := h.available(now)
	if h.suspected() && !h.held {
		at, ok = now, true
	}
	if ok {
		f.enterAt(h, at)
	}
}

// enterAt is enter for a host that has something to give at that time.
func (f *Frontier) enterAt(h *host, at int64) {
	if h.lease != nil || !h.claimable() || h.stopped() {
		return
	}
	due := max(at, h.free())
	if f.scheduler.due.Enter(h.id, due) {
		f.wakeFor(due)
	}
}

// tidy removes stale entries of leases when they are the greater part: every turn that ends in time leaves one.
func (f *Frontier) tidy() {
	d := &f.scheduler
	if len(d.leases) > 2*d.out+64 {
		d.leases.Keep(func(e heap.Entry) bool { return f.leased(e) != nil })
	}
}

// leased returns the host whose lease e stands for, nil when that lease has ended.
func (f *Frontier) leased(e heap.Entry) *host {
	h := f.hosts[uint32(e.Tie)]
	if h.lease == nil || uint32(h.lease.token) != uint32(e.Tie>>32) {
		return nil
	}
	return h
}

// next takes the host out of the schedule that has been due for longest, nil when no turn can be given. The caller holds
// mu.
func (f *Frontier) next(now int64) *host {
	for !f.shut() {
		id, due, ok := f.scheduler.due.Next(now)
		if !ok {
			return nil
		}
		h := f.hosts[id]
		if at, ok := h.available(now); ok && at <= now || f.mayTry(h) {
			return h
		}
		f.holdSuspect(h, due, now)
	}
	return nil
}

// shut reports whether no turn is given, whoever is due: a suspect must be alone, or the file is full, or may be.
func (f *Frontier) shut() bool { return f.scheduler.lone || f.full || f.tight }

// expire ends the leases whose time is over. The caller holds mu.
func (f *Frontier) expire(now int64) {
	d := &f.scheduler
	for len(d.leases) > 0 && d.leases[0].At <= now {
		e := d.leases.Pop()
		if h := f.leased(e); h != nil {
			f.touch(now)
			f.totals.Counts[frontier.ReasonExpired]++
			f.lapse(h, now)
		}
	}
}

// summary returns the state of the frontier as a whole, and with Waiting when something will be due. The caller holds
// mu.
func (f *Frontier) summary(now int64) (frontier.State, time.Duration) {
	d := &f.scheduler
	switch {
	case d.out == 0 && d.pending == 0:
		return frontier.Drained, 0
	case f.full:
		return frontier.Full, 0
	case d.out > 0, d.closing:
		return frontier.Busy, 0
	}
	switch at := f.scheduler.due.Earliest(); {
	case at == math.MaxInt64:
		return frontier.Waiting, frontier.Never
	case at <= now:
		return frontier.Busy, 0
	default:
		return frontier.Waiting, time.Duration(at - now)
	}
}

// count moves the sums over all hosts as h changes: call it with -1 before and +1 after. The caller holds mu.
func (f *Frontier) count(h *host, by int64) {
	d := &f.scheduler
	d.known += by
	if h.pending() > 0 {
		d.pending += by
	}
	d.conditions[h.condition] += by
	if h.hold != nil {
		d.stopped += by
	}
	d.queued += by * int64(h.queued)
	d.inFlight += by * int64(h.inFlight)
	d.deferred += by * int64(h.deferred)
}
