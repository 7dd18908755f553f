package model

import (
	"cmp"
	"slices"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// host is an authority with its queue.
type host struct {
	authority canon.Authority
	domain    string // registrable
	update    frontier.HostUpdate
	notBefore time.Time
	accepted  int64
	outcomes  frontier.Outcomes
	hold      hold
	lease     *lease // the turn that is out, or nil

	// pending holds the tasks that are not closed, in the order in which they were accepted: breadth first. A task
	// keeps its place while it is leased or deferred; so what a turn does not settle is at the head again by itself.
	// Depth first they are given from the other end.
	pending []*task
	closed  []*task

	finished frontier.Token // of the last Finish that ended a turn
	served   uint64         // number of the last claim in the order of claims; zero means never
}

// lease is a turn that is out.
type lease struct {
	token   frontier.Token
	expires time.Time
	tasks   []*task // that are not settled
	width   int
	stops   int // of the suspect whose turn it is; zero when it is that of none
}

// task is a URL.
type task struct {
	frontier.Task
	first    frontier.Candidate // as it was accepted
	number   int64              // in the order of acceptance
	leased   bool
	deferred bool
	due      time.Time // with deferred: earliest next attempt
	drop     bool      // to be closed as Dropped by the operator when its lease ends, if it is pending then
	alone    int       // of Stops, those at which nothing else was in flight
	ending             // zero while it is pending
}

// newTask returns the task that a candidate becomes.
func newTask(c frontier.Candidate, number int64) *task {
	return &task{Task: frontier.Task{Candidate: c, Print: frontier.Print(secret, c.URL)}, first: c, number: number}
}

// deferUntil puts t off, as d says. A suspect that is deferred has not brought the process down.
func (t *task) deferUntil(due time.Time, d frontier.Deferral) {
	t.deferred, t.due, t.Task.Reason = true, due, d.Reason
	t.Stops, t.alone = 0, 0
	if d.URL.IsZero() {
		t.Attempts++
		return
	}
	t.URL, t.Replaced = d.URL, true
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

// view returns k as Host describes it.
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

// find returns the pending task with that print, or nil.
func (h *host) find(p frontier.Fingerprint) *task {
	return first(h.pending, func(t *task) bool { return t.Print == p })
}

// named returns the pending task with the key of u, or nil.
func (h *host) named(u canon.URL) *task {
	return first(h.pending, func(t *task) bool { return t.URL.Key() == u.Key() })
}

// first returns the first task that is wanted, or nil.
func first(ts []*task, wanted func(*task) bool) *task {
	if i := slices.IndexFunc(ts, wanted); i >= 0 {
		return ts[i]
	}
	return nil
}

// give puts pending tasks under the lease of h.
func (h *host) give(ps []frontier.Fingerprint) {
	for _, p := range ps {
		t := h.find(p)
		t.leased = true
		h.lease.tasks = append(h.lease.tasks, t)
	}
}

// settled takes the task with that print from l and returns it, or nil.
func (l *lease) settled(p frontier.Fingerprint) *task {
	t := first(l.tasks, func(t *task) bool { return t.Print == p })
	if t != nil {
		t.leased = false
		l.tasks = slices.DeleteFunc(l.tasks, func(x *task) bool { return x == t })
	}
	return t
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

// ready returns the tasks that h could give now, in the order of Options.Order, those tried before behind the others:
// innocent ones, and suspects.
func (s *state) ready(h *host, now time.Time) (innocent, suspects []*task) {
	for _, t := range h.pending {
		switch {
		case t.leased || t.deferred && t.due.After(now):
		case t.Stops > 0:
			suspects = append(suspects, t)
		default:
			innocent = append(innocent, t)
		}
	}
	if s.options.Order == frontier.DepthFirst {
		slices.Reverse(innocent)
		slices.Reverse(suspects)
	}
	slices.SortStableFunc(innocent, func(a, b *task) int { return cmp.Compare(min(a.Attempts, 1), min(b.Attempts, 1)) })
	return innocent, suspects
}

// offer returns what a turn with h is given, up to n tasks: a suspect comes last, in a turn of its own.
func (s *state) offer(h *host, now time.Time, n int) []*task {
	innocent, suspects := s.ready(h, now)
	if len(innocent) == 0 {
		return suspects[:min(1, len(suspects))]
	}
	return innocent[:min(n, len(innocent))]
}

// more returns what a turn that is extended is given, up to n tasks.
func (s *state) more(h *host, now time.Time, n int) []*task {
	if h.lease.stops > 0 || s.full() || h.hold.at(now).act != 0 {
		return nil
	}
	innocent, _ := s.ready(h, now)
	return innocent[:min(max(n, 0), len(innocent))]
}

// room reports whether the leases that are out leave room for a turn of a task with that many stops: a suspect is the
// only one in the frontier, and one of two stops has no other turn beside it.
func (s *state) room(stops int) bool {
	return !slices.ContainsFunc(s.order, func(h *host) bool {
		return h.lease != nil && (h.lease.stops > 1 || stops > 1 || stops > 0 && h.lease.stops > 0)
	})
}

// free reports whether h has something ready, and the leases that are out leave room for it.
func (s *state) free(h *host, now time.Time) bool {
	innocent, suspects := s.ready(h, now)
	stops := 0
	if len(innocent) == 0 {
		for _, t := range suspects {
			stops = max(stops, t.Stops)
		}
	}
	return h.lease == nil && len(innocent)+len(suspects) > 0 && s.room(stops)
}

// single reports whether h can be leased now with no tasks.
func (s *state) single(h *host, now time.Time) bool {
	from, ok := h.from()
	return ok && !from.After(now) && h.lease == nil && !s.full() && s.room(0)
}

// candidates returns the hosts that can be leased now, the one that is to be leased first at the head: of those that
// have been due for longest, the one that was served longest ago.
func (s *state) candidates(now time.Time) (hosts []*host) {
	if s.full() {
		return nil
	}
	due := map[*host]time.Time{}
	for _, h := range s.order {
		if at, ok := h.due(); ok && !at.After(now) && s.free(h, now) {
			due[h] = at
			hosts = append(hosts, h)
		}
	}
	slices.SortStableFunc(hosts, func(a, b *host) int {
		return cmp.Or(due[a].Compare(due[b]), cmp.Compare(a.served, b.served))
	})
	return hosts
}

// next returns how long nothing changes by itself: until a host is due or a lease expires. What is due now waits for
// something else.
func (s *state) next(now time.Time) time.Duration {
	wait := frontier.Never
	for _, h := range s.order {
		if at, ok := h.due(); ok && at.After(now) {
			wait = min(wait, at.Sub(now))
		}
		if h.lease != nil {
			wait = min(wait, h.lease.expires.Sub(now))
		}
	}
	return wait
}

// holds reports whether token is that of the lease of a that is out.
func (s *state) holds(a canon.Authority, token frontier.Token) bool {
	h := s.hosts[a]
	return h != nil && h.lease != nil && h.lease.token == token
}

// repeats reports whether token ended a's last turn, so that a Finish with it has been applied before.
func (s *state) repeats(a canon.Authority, token frontier.Token) bool {
	h := s.hosts[a]
	return h != nil && token != 0 && h.finished == token
}
