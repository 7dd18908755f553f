package model

import (
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// host is an authority with its queue.
type host struct {
	authority canon.Authority
	update    frontier.HostUpdate
	notBefore time.Time
	accepted  int64
	outcomes  frontier.Outcomes
	hold      hold

	// pending holds the tasks that are not closed, in the order in which they were accepted: breadth first. A task
	// keeps its place while it is leased or deferred; so what a turn does not settle is at the head again by itself.
	// Depth first they are given from the other end.
	pending []*task
	closed  []closed // those that were tasks

	finished frontier.Token // of the last Finish that ended a turn
	served   uint64         // number of the last claim in the order of claims; zero means never
}

// task is a pending URL.
type task struct {
	frontier.Task
	first    frontier.Candidate // as it was accepted
	number   int64              // in the order of acceptance
	leased   bool
	deferred bool
	due      time.Time // with deferred: earliest next attempt
	drop     bool      // to be closed as Dropped by the operator when its lease ends, if it is pending then

	// counts are those of unclean stops that the engine may have made of t; Stops, of frontier.Task, is the most of them.
	// None is a count of zero. The model itself has one at most, the follower more: it does not know all that the engine
	// has recorded.
	counts []count
}

// closed is a URL that was a task.
type closed struct {
	task    *task
	outcome frontier.Outcome
	reason  string
}

// newTask returns the task that a candidate becomes.
func newTask(c frontier.Candidate, number int64) *task {
	return &task{Task: frontier.Task{Candidate: c, Print: frontier.Print(secret, c.URL)}, first: c, number: number}
}

// hold is an operator's command about a host.
type hold struct {
	act    frontier.Act
	reason string
	until  time.Time // with Park: when it ends; zero means never
}

// at returns what is left of k: nothing when its time is over.
func (k hold) at(now time.Time) hold {
	if !k.until.IsZero() && !k.until.After(now) {
		return hold{}
	}
	return k
}

// view returns what the outside sees of k.
func (k hold) view(now time.Time) frontier.Hold {
	k = k.at(now)
	v := frontier.Hold{Act: k.act, Reason: k.reason}
	switch {
	case k.act == frontier.Park && k.until.IsZero():
		v.Wait = frontier.Never
	case k.act == frontier.Park:
		v.Wait = k.until.Sub(now)
	}
	return v
}

// wait puts h off until d from now. A wait that is longer already stays; a negative one is none.
func (h *host) wait(now time.Time, d time.Duration) {
	if t := now.Add(max(d, 0)); t.After(h.notBefore) {
		h.notBefore = t
	}
}

// deferUntil puts t off, as d says. A suspect that is deferred has not brought the process down.
func (t *task) deferUntil(due time.Time, d frontier.Deferral) {
	t.deferred, t.due, t.Reason = true, due, d.Reason
	t.acquit()
	if d.URL.IsZero() {
		t.Attempts++
		return
	}
	t.URL, t.Replaced = d.URL, true
}

// find returns the pending task with that print, or nil.
func (h *host) find(p frontier.Fingerprint) *task {
	for _, t := range h.pending {
		if t.Print == p {
			return t
		}
	}
	return nil
}

// claimable reports whether the condition of h lets it be claimed at all in this run.
func (h *host) claimable() bool {
	return h.update.Condition != frontier.Retired && h.update.Condition != frontier.Refused
}

// from returns the earliest time for a turn with h, whatever it has to give; ok is false when there is none.
func (h *host) from() (at time.Time, ok bool) {
	if !h.claimable() || h.hold.act == frontier.Drop || h.hold.act == frontier.Park && h.hold.until.IsZero() {
		return time.Time{}, false
	}
	if h.hold.until.After(h.notBefore) {
		return h.hold.until, true
	}
	return h.notBefore, true
}

// due returns when h has a task to give; ok is false when that is not to be expected.
func (h *host) due() (at time.Time, ok bool) {
	from, ok := h.from()
	if !ok {
		return time.Time{}, false
	}
	ok = false
	for _, t := range h.pending {
		if t.leased {
			continue
		}
		if !t.deferred {
			return from, true
		}
		if !ok || t.due.Before(at) {
			at, ok = t.due, true
		}
	}
	if at.Before(from) {
		at = from
	}
	return at, ok
}
