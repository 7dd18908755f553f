package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"curtsy/frontier"
)

// Picture is what can be seen of a frontier without changing it: facts by name. What the contract leaves open is
// left out: whether a deferred task that is due counts as Queued or Deferred, the Wait of a host that has nothing
// queued, the Reason of an Open host, and how many leases expired.
type Picture map[string]string

// Take makes a picture.
func Take(st frontier.Stats, hosts []frontier.Host, seeds []frontier.Seed) Picture {
	p := Picture{}
	set := func(name string, facts ...any) { p[name] = strings.TrimSuffix(fmt.Sprintln(facts...), "\n") }
	set("discovered", st.Discovered)
	set("outcomes", st.Outcomes)
	set("queued or deferred", st.Queued+st.Deferred)
	set("in flight", st.InFlight)
	set("reasons", st.Reasons)
	capped := maps.Clone(st.Capped)
	maps.DeleteFunc(capped, func(_ string, n int64) bool { return n == 0 })
	set("capped", capped)
	counts := maps.Clone(st.Counts)
	delete(counts, frontier.ReasonExpired)
	set("counts", counts)
	set("hosts, pending, parked, retired, refused", st.Hosts, st.Pending, st.Parked, st.Retired, st.Refused)
	set("stopped by an operator", st.Stopped)
	set("leases, suspects", st.Leases, st.Suspects)
	set("state", st.State)
	if st.State == frontier.Waiting {
		set("due", st.Due)
	}
	set("unclean, restarts", st.Unclean, st.Restarts)
	set("seeds", seeds)
	for _, h := range hosts {
		name := h.Authority.String() + " "
		set(name+"condition, pace, width", h.Condition, h.Pace, max(h.Width, 1))
		if h.Condition != frontier.Open {
			set(name+"reason", h.Reason)
		}
		set(name+"robots, memory", string(h.Robots), string(h.Memory))
		set(name+"hold", fmt.Sprintf("%+v", h.Hold))
		set(name+"leased", h.Leased)
		set(name+"queued or deferred", h.Queued+h.Deferred)
		set(name+"in flight", h.InFlight)
		set(name+"outcomes", h.Outcomes)
		if h.Queued > 0 && !h.Leased && (h.Condition == frontier.Open || h.Condition == frontier.Parked) {
			set(name+"wait", h.Wait)
		}
	}
	return p
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
