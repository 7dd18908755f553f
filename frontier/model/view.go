package model

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// summary returns the state of the frontier as a whole, and when something will be due.
func (s *state) summary(now time.Time) (frontier.State, time.Duration) {
	pending, leased, due := false, false, frontier.Never
	for _, h := range s.order {
		pending, leased = pending || len(h.pending) > 0, leased || h.lease != nil
		if at, ok := h.due(); ok {
			due = min(due, max(at.Sub(now), 0))
		}
	}
	switch {
	case !pending && !leased:
		return frontier.Drained, 0
	case s.full():
		return frontier.Full, 0
	case leased || due == 0:
		return frontier.Busy, 0
	}
	return frontier.Waiting, due
}

// stats returns the totals.
func (s *state) stats(now time.Time) frontier.Stats {
	st := frontier.Stats{
		Capped: maps.Clone(s.capped), Hosts: int64(len(s.order)), Size: s.size(), Unclean: s.unclean, Restarts: s.openings - 1,
		Reasons: map[frontier.Outcome]map[string]int64{}, Counts: maps.Clone(s.counts),
	}
	st.State, st.Due = s.summary(now)
	count := func(n *int64, yes bool) {
		if yes {
			*n++
		}
	}
	for _, h := range s.order {
		v := h.view(now)
		st.Queued += v.Queued
		st.InFlight += v.InFlight
		st.Deferred += v.Deferred
		st.Discovered += v.Pending()
		for o, n := range h.outcomes {
			st.Outcomes[o] += n
			st.Discovered += n
		}
		for _, t := range h.pending {
			count(&st.Suspects, t.Stops > 0)
		}
		count(&st.Leases, v.Leased)
		count(&st.Pending, len(h.pending) > 0)
		count(&st.Stopped, v.Hold.Act != 0)
		count(&st.Parked, v.Condition == frontier.Parked)
		count(&st.Retired, v.Condition == frontier.Retired)
		count(&st.Refused, v.Condition == frontier.Refused)
	}
	for e, n := range s.ended {
		if e.reason == "" || n == 0 {
			continue
		}
		if st.Reasons[e.outcome] == nil {
			st.Reasons[e.outcome] = map[string]int64{}
		}
		st.Reasons[e.outcome][e.reason] = n
	}
	return st
}

// view returns h as readers see it. Nothing in it is shared with the state.
func (h *host) view(now time.Time) frontier.Host {
	v := frontier.Host{
		Authority: h.authority, HostUpdate: h.update, Hold: h.hold.view(now), Outcomes: h.outcomes,
		Wait: max(h.notBefore.Sub(now), 0), Leased: h.lease != nil,
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

// entry returns the URL of h that became a task, with its state.
func (h *host) entry(u canon.URL, now time.Time) (e frontier.Entry, ok bool) {
	t := h.named(u)
	if t == nil {
		t = first(h.closed, func(t *task) bool { return t.first.URL.Key() == u.Key() })
	}
	if t == nil {
		return e, false
	}
	e = frontier.Entry{Candidate: t.first, Print: t.Print, Outcome: t.outcome, Reason: t.reason}
	switch {
	case t.outcome != 0:
		return e, true
	case t.drop:
		e.Outcome, e.Reason = frontier.Dropped, frontier.ReasonOperator
		return e, true
	}
	e.Reason, e.Attempts, e.Deferred, e.Stops, e.Alone = t.Task.Reason, t.Attempts, t.deferred, t.Stops, t.alone
	if t.deferred {
		e.Wait = max(t.due.Sub(now), 0)
	}
	if t.Replaced {
		e.Replaced = t.URL
	}
	return e, true
}

// survey returns what stands out.
func (s *state) survey(now time.Time, n int) frontier.Survey {
	v := frontier.Survey{Why: map[frontier.Condition]map[string]int64{}, Holds: map[frontier.Act]int64{}}
	for _, h := range s.order {
		x := h.view(now)
		x.Robots, x.Memory = nil, nil
		if x.Condition != frontier.Open {
			if v.Why[x.Condition] == nil {
				v.Why[x.Condition] = map[string]int64{}
			}
			v.Why[x.Condition][x.Reason]++
		}
		if x.Hold.Act != 0 {
			v.Holds[x.Hold.Act]++
		}
		if x.Pending() == 0 {
			continue
		}
		v.Longest = append(v.Longest, x)
		if x.Condition != frontier.Open || x.Hold.Act != 0 {
			v.Shut = append(v.Shut, x)
		}
	}
	for _, hosts := range []*[]frontier.Host{&v.Longest, &v.Shut} {
		slices.SortStableFunc(*hosts, func(a, b frontier.Host) int { return cmp.Compare(b.Pending(), a.Pending()) })
		*hosts = (*hosts)[:min(len(*hosts), max(n, 0))]
	}
	return v
}

// Picture is what can be seen of a frontier without changing it: facts by name. What the contract leaves open is
// left out: whether a deferred task that is due counts as Queued or Deferred, the Wait of a host that has nothing
// queued, the Reason of an Open host, and how many leases expired.
type Picture map[string]string

// Take makes a picture.
func Take(st frontier.Stats, hosts []frontier.Host, seeds []frontier.Seed) Picture {
	st.Queued, st.Deferred, st.Size = st.Queued+st.Deferred, 0, 0
	if st.State != frontier.Waiting {
		st.Due = 0
	}
	st.Capped, st.Counts = maps.Clone(st.Capped), maps.Clone(st.Counts)
	maps.DeleteFunc(st.Capped, func(_ string, n int64) bool { return n == 0 })
	delete(st.Counts, frontier.ReasonExpired)
	p := Picture{"seeds": fmt.Sprint(seeds)}
	p.add("", st)
	for _, h := range hosts {
		if h.Queued == 0 || h.Leased || h.Condition != frontier.Open && h.Condition != frontier.Parked {
			h.Wait = 0
		}
		if h.Condition == frontier.Open {
			h.Reason = ""
		}
		h.Width, h.Moved, h.Elsewhere = max(h.Width, 1), false, false
		h.Queued, h.Deferred = h.Queued+h.Deferred, 0
		p.add(h.Authority.String()+" ", h)
	}
	return p
}

// add adds the fields of a struct.
func (p Picture) add(name string, of any) {
	for f, v := range reflect.ValueOf(of).Fields() {
		p[name+f.Name] = fmt.Sprintf("%+v", v)
	}
}

// Diff returns the facts that differ, one a line, or nothing.
func (p Picture) Diff(q Picture) string {
	all := maps.Clone(p)
	maps.Copy(all, q)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if p[name] != q[name] {
			fmt.Fprintf(&b, "\n  %s: %q, then %q", name, p[name], q[name])
		}
	}
	return b.String()
}
