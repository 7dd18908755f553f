package model

import (
	"maps"
	"slices"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// dealer is a state with the leases that are out. It takes the time as an argument and knows nothing of waiting,
// locks or durability; the model and the follower of the workload stand on it.
type dealer struct {
	*state
	leases map[canon.Authority]*lease
}

// lease is a turn that is out.
type lease struct {
	token   frontier.Token
	expires time.Time
	tasks   []*task
	width   int
	stops   int // of the suspect whose turn it is; zero when it is that of none
}

func newDealer(s *state) dealer { return dealer{state: s, leases: map[canon.Authority]*lease{}} }

// length is how long a turn may last.
func (d *dealer) length() time.Duration {
	if d.options.LeaseLength > 0 {
		return d.options.LeaseLength
	}
	return 40 * time.Minute
}

// grant leases h with the given tasks.
func (d *dealer) grant(h *host, now time.Time, token frontier.Token, ts []*task) {
	for _, t := range ts {
		t.leased = true
	}
	l := &lease{token: token, expires: now.Add(d.length()), tasks: ts, width: max(h.update.Width, 1)}
	if len(ts) == 1 {
		l.stops = ts[0].Stops
	}
	d.leases[h.authority] = l
}

// takeBack takes the lease of a back. Its tasks have never left their place in the queue.
func (d *dealer) takeBack(a canon.Authority) {
	for _, t := range d.leases[a].tasks {
		t.leased = false
	}
	delete(d.leases, a)
}

// expire ends the leases whose time is over and returns whose they were.
func (d *dealer) expire(now time.Time) (over []canon.Authority) {
	for a, l := range d.leases {
		if !l.expires.After(now) {
			d.takeBack(a)
			over = append(over, a)
		}
	}
	return over
}

// holds reports whether token is that of the lease of a that is out.
func (d *dealer) holds(a canon.Authority, token frontier.Token) bool {
	l := d.leases[a]
	return l != nil && l.token == token
}

// repeats reports whether token ended a's last turn, so that a Finish with it has been applied before.
func (d *dealer) repeats(a canon.Authority, token frontier.Token) bool {
	h := d.hosts[a]
	return h != nil && token != 0 && h.finished == token
}

// event makes an event of a result. What it says of tasks that are not under its lease is left out: they were
// settled by an earlier Finish of the same turn, or belong to nobody here.
func (d *dealer) event(now time.Time, r frontier.Result) event {
	mine := map[frontier.Fingerprint]bool{}
	for _, t := range d.leases[r.Authority].tasks {
		mine[t.Print] = true
	}
	c := clone(r)
	c.Done = slices.DeleteFunc(c.Done, func(x frontier.Done) bool { return !mine[x.Print] })
	c.Deferred = slices.DeleteFunc(c.Deferred, func(x frontier.Deferral) bool { return !mine[x.Print] })
	return event{at: now, result: &c}
}

// dropped returns which tasks an operator's Drop closes when r, which has not been applied yet, is: those that it defers or,
// at the end of the lease, leaves open.
func (d *dealer) dropped(r frontier.Result) (all []frontier.Fingerprint) {
	done, again := map[frontier.Fingerprint]bool{}, map[frontier.Fingerprint]bool{}
	for _, x := range r.Done {
		done[x.Print] = true
	}
	for _, x := range r.Deferred {
		again[x.Print] = true
	}
	for _, t := range d.leases[r.Authority].tasks {
		if t.drop && !done[t.Print] && (again[t.Print] || !r.Keep) {
			all = append(all, t.Print)
		}
	}
	return all
}

// release follows the event of r: the lease ends, or with Keep goes on with the tasks that r did not settle.
func (d *dealer) release(r frontier.Result) {
	if !r.Keep {
		d.takeBack(r.Authority)
		return
	}
	settled := map[frontier.Fingerprint]bool{}
	for _, x := range r.Done {
		settled[x.Print] = true
	}
	for _, x := range r.Deferred {
		settled[x.Print] = true
	}
	l := d.leases[r.Authority]
	l.tasks = slices.DeleteFunc(l.tasks, func(t *task) bool {
		if settled[t.Print] {
			t.leased = false
		}
		return settled[t.Print]
	})
}

// summary returns the state of the frontier as a whole, and when something will be due.
func (d *dealer) summary(now time.Time) (frontier.State, time.Duration) {
	pending, due := false, frontier.Never
	for _, h := range d.order {
		pending = pending || len(h.pending) > 0
		if at, ok := h.due(); ok {
			due = min(due, max(at.Sub(now), 0))
		}
	}
	switch {
	case !pending && len(d.leases) == 0:
		return frontier.Drained, 0
	case d.full():
		return frontier.Full, 0
	case len(d.leases) > 0:
		return frontier.Busy, 0
	case due == 0:
		return frontier.Busy, 0
	}
	return frontier.Waiting, due
}

// stats returns the totals.
func (d *dealer) stats(now time.Time) frontier.Stats {
	st := frontier.Stats{
		Capped: maps.Clone(d.capped), Hosts: int64(len(d.order)), Leases: int64(len(d.leases)), Size: d.size(),
		Unclean: d.unclean, Restarts: d.openings - 1,
		Reasons: map[frontier.Outcome]map[string]int64{}, Counts: maps.Clone(d.counts),
	}
	for _, h := range d.order {
		v := d.view(h, now)
		st.Queued += v.Queued
		st.InFlight += v.InFlight
		st.Deferred += v.Deferred
		for o, n := range h.outcomes {
			st.Outcomes[o] += n
			st.Discovered += n
		}
		if len(h.pending) > 0 {
			st.Pending++
		}
		if v.Hold.Act != 0 {
			st.Stopped++
		}
		switch h.update.Condition {
		case frontier.Parked:
			st.Parked++
		case frontier.Retired:
			st.Retired++
		case frontier.Refused:
			st.Refused++
		}
	}
	st.Discovered += st.Queued + st.InFlight + st.Deferred
	for o, m := range d.reasons {
		st.Reasons[o] = maps.Clone(m)
	}
	_, st.Suspects = d.suspects()
	st.State, st.Due = d.summary(now)
	return st
}

// view returns what the outside sees of h. Nothing in it is shared with the state.
func (d *dealer) view(h *host, now time.Time) frontier.Host {
	v := frontier.Host{
		Authority: h.authority, HostUpdate: h.update, Hold: h.hold.view(now), Outcomes: h.outcomes,
		Wait: max(h.notBefore.Sub(now), 0), Leased: d.leases[h.authority] != nil,
	}
	v.Robots, v.Memory = slices.Clone(v.Robots), slices.Clone(v.Memory)
	for _, t := range h.pending {
		switch {
		case t.leased:
			v.InFlight++
		case t.deferred:
			v.Deferred++
		default:
			v.Queued++
		}
	}
	return v
}
