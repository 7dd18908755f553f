package frontiertest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// retrySome has closed URLs tried again, and hosts opened, all or those of one authority.
func (w *workload) retrySome() {
	r := frontier.Retrial{
		Outcome: frontier.Outcome(w.rand.IntN(int(frontier.Held) + 1)), Hosts: w.rand.IntN(2) == 0, Robots: w.rand.IntN(2) == 0,
	}
	if w.rand.IntN(3) == 0 && !r.Hosts {
		r.Reason = []string{"one", "two", frontier.ReasonOperator, frontier.ReasonQuarantined}[w.rand.IntN(4)]
	}
	if w.rand.IntN(3) > 0 {
		r.Authority = w.Authority(worldHost(w.rand.Int()))
	}
	got, err := w.Frontier.Retry(w.Context(), r)
	require.Equalf(w, r.Check() != nil, err != nil, "Retry %+v: %v", r, err)
	if err == nil {
		Want(w.Stage, "Retried", got, w.follow.Retry(r))
	}
}

// steerSome parks or drops a host, or has it rest, or drops URLs. A host is not steered again while a turn of it that was out at a Drop
// still is: what becomes of its tasks is then open.
func (w *workload) steerSome() {
	c := frontier.Steering{Authority: w.Authority(worldHost(w.rand.Int()))}
	switch w.rand.IntN(9) {
	case 0, 1, 2:
		c.Act, c.Reason = frontier.Park, fmt.Sprint("park ", w.rand.IntN(3))
	case 3, 4:
		c.Act, c.For = frontier.Park, time.Duration(1+w.rand.IntN(20_000))*time.Millisecond
	case 5:
		c.Act, c.Reason = frontier.Drop, "drop"
	case 6:
		c.Act, c.For = frontier.Rest, time.Duration(w.rand.IntN(3)*w.rand.IntN(3000))*time.Millisecond
	default:
		c.Act = frontier.Drop
		for n := range w.urls + 1 {
			if u := w.URL(fmt.Sprintf("%s/%d", worldHost(n*n), n)); u.Authority() == c.Authority && w.rand.IntN(4) == 0 {
				c.URLs = append(c.URLs, u)
			}
		}
		if c.URLs == nil {
			c.URLs = []canon.URL{w.URL(worldHost(0) + "/seed")}
			c.Authority = c.URLs[0].Authority()
		}
	}
	w.command(c)
}

// resumeSome opens one of the hosts that are held, retired or refused.
func (w *workload) resumeSome() {
	hosts := w.Hosts(worldHosts)
	for i := range hosts {
		h := hosts[(i+w.rand.IntN(len(hosts)))%len(hosts)]
		if h.Hold.Act != 0 || h.Condition == frontier.Retired || h.Condition == frontier.Refused {
			w.command(frontier.Steering{Act: frontier.Resume, Authority: h.Authority})
			return
		}
	}
}

// command has an operator's command obeyed.
func (w *workload) command(c frontier.Steering) {
	h := w.Host(worldName(c.Authority))
	if h.Leased && (c.Act == frontier.Resume || h.Hold.Act == frontier.Drop) {
		return
	}
	got, err := w.Frontier.Steer(w.Context(), c)
	require.NoErrorf(w, err, "Steer %+v", c)
	wanted := w.follow.Steer(c)
	if h.Hold.Act == frontier.Park && h.Hold.Wait != frontier.Never && c.Act == frontier.Park {
		wanted.Changed = got.Changed // one park in the place of another that has begun before
	}
	Want(w.Stage, fmt.Sprintf("Steer %+v", c), got, wanted)
}

// coda adds two seeds and kills the process again and again with one of them in flight, until it has put them in
// quarantine; that of a host which is shut stays out of it.
func (w *workload) coda() {
	if w.Harness.Crash == nil {
		return
	}
	w.offer(w.Seeds(worldHost(1)+"/coda", worldHost(4)+"/coda"))
	for n := range 2*frontier.QuarantineStops + 1 {
		c := w.ClaimWithin(1, 3, time.Hour)
		for _, t := range c.Turns {
			w.follow.Lease(t, 3)
		}
		w.pass(201)
		w.restartCrash()
		w.compare(fmt.Sprintf("kill %d of the coda", n))
	}
}

// worldName is the inverse of auth.
func worldName(a canon.Authority) string { return a.Host()[:len(a.Host())-len(".test")] }

// surveyed fails unless the engine's survey is that of the model, but for the order of hosts with queues of one length.
func (w *workload) surveyed() {
	n := w.rand.IntN(worldHosts + 1)
	got, all := w.Survey(n), w.follow.Survey(worldHosts)
	for name, lists := range map[string][2][]frontier.Host{"Longest": {got.Longest, all.Longest}, "Shut": {got.Shut, all.Shut}} {
		list := 0
		for i, h := range lists[0] {
			if h.Pending() == 0 {
				continue // hosts with nothing pending may stand at the end
			}
			list++
			known := w.Host(worldName(h.Authority))
			known.Robots, known.Memory, h.Robots, h.Memory = nil, nil, nil, nil
			Want(w.Stage, "a host of Survey."+name, fmt.Sprintf("%+v", h), fmt.Sprintf("%+v", known))
			require.Truef(w, i < len(lists[1]) && h.Pending() == lists[1][i].Pending(), "Survey.%s is%s, want%s", name, lengths(lists[0]), lengths(lists[1]))
		}
		Want(w.Stage, "hosts in Survey."+name, list, min(n, len(lists[1])))
	}
	require.Equal(w, fmt.Sprint(all.Why, all.Holds), fmt.Sprint(got.Why, got.Holds), "Survey: Why and Holds")
}
