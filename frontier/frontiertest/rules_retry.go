package frontiertest

import (
	"strings"
	"time"

	"curtsy/frontier"
)

// retryRules are about what only an operator does: closed URLs and refused hosts take part again.
var retryRules = []rule{
	{Name: "retry: URLs of that outcome are pending again in their old order, others stay closed", Test: func(s *Stage) {
		for outcome, tasks := range map[frontier.Outcome]string{
			frontier.Disallowed: "a/d1 a/d2 a/d3", frontier.Failed: "a/f1", frontier.Gone: "a/g1", frontier.Dropped: "a/x1",
		} {
			s.Add(s.Links("a/d1", "a/f1", "a/d2", "a/0", "a/g1", "a/x1", "a/d3"))
			s.CloseAll()
			s.Add(s.Links("a/new"))
			if outcome == frontier.Disallowed {
				Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: outcome}), frontier.Retried{URLs: 3})
			} else {
				Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: outcome}), frontier.Retried{URLs: 1})
			}
			t := s.Turn(9)
			Want(s, "tasks", strings.TrimSuffix(Names(t.Tasks), " a/new"), tasks)
			r := resultOf(t)
			for _, x := range t.Tasks {
				o := outcome
				if Short(x.URL) == "a/new" {
					o = frontier.Fetched
				}
				r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: o})
			}
			s.Finish(r)
		}
	}},
	{Name: "retry: URLs of one authority alone, when one is named", Test: func(s *Stage) {
		s.Add(s.Links("a/f1", "b/f1", "b/f2", "c/f1"))
		s.CloseAll()
		Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Failed, Authority: s.Authority("b")}), frontier.Retried{URLs: 2})
		Want(s, "tasks", s.Pending(), "b/f1 b/f2")
		unknown := frontier.Retrial{Outcome: frontier.Failed, Authority: s.Authority("z"), Hosts: true}
		Want(s, "Retried of an unknown one", s.Retry(unknown), frontier.Retried{})
		Want(s, "hosts", s.Stats().Hosts, 3)
	}},
	{Name: "retry: totals and reasons move, Discovered stays", Test: func(s *Stage) {
		s.Add(s.Links("a/f1", "a/f2", "a/d1", "b/f1"))
		s.CloseAll()
		s.Retry(frontier.Retrial{Outcome: frontier.Failed, Authority: s.Authority("a")})
		st := s.Stats()
		Want(s, "Discovered", st.Discovered, 4)
		Want(s, "Queued", st.Queued, 2)
		Want(s, "Failed", st.Outcomes[frontier.Failed], 1)
		Want(s, "Failed for a reason", st.Reasons[frontier.Failed]["f"], 1)
		Want(s, "Disallowed", st.Outcomes[frontier.Disallowed], 1)
		Want(s, "Failed of the host", s.Host("a").Outcomes[frontier.Failed], 0)
		Want(s, "State", st.State, frontier.Busy)
		s.Retry(frontier.Retrial{Outcome: frontier.Failed})
		_, there := s.Stats().Reasons[frontier.Failed]["f"]
		Want(s, "a reason of nothing is there", there, false)
		Want(s, "Add again", s.Add(s.Links("a/f1", "b/f1")), frontier.Added{Known: 2})
	}},
	{Name: "retry: attempts, reason and a replaced URL are forgotten, also after a restart", Test: func(s *Stage) {
		s.Add(s.Links("a/f"))
		deferredAndFailed(s)
		Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Failed}), frontier.Retried{URLs: 1})
		s.Reopen()
		fresh(s)
		s.Reopen()
		fresh(s)
	}},
	{Name: "retry: a URL that is tried again can be deferred and closed again", Test: func(s *Stage) {
		s.Add(s.Links("a/f"))
		for range 3 {
			deferredAndFailed(s)
			Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Failed}), frontier.Retried{URLs: 1})
		}
		t := s.Turn(1)
		s.Postpone(t, frontier.Deferral{After: time.Minute, Reason: "status 500"})
		s.Reopen()
		s.Sleep(time.Minute)
		t = s.Turn(1)
		Want(s, "attempts", t.Tasks[0].Attempts, 1)
		s.Finish(Fetched(t))
		Want(s, "Retried when it was fetched", s.Retry(frontier.Retrial{Outcome: frontier.Failed}), frontier.Retried{})
		s.Reopen()
		Want(s, "tasks", s.Pending(), "")
	}},
	{Name: "retry: durable when it returns", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/f", "b/d1", "b/x1"))
		t := s.Turn(1)
		for Short(t.Tasks[0].URL) != "a/f" {
			s.end(t, frontier.Result{Wait: time.Second})
			t = s.Turn(1)
		}
		s.Finish(resultOf(t))
		s.Sleep(2 * time.Second)
		s.CloseAll()
		refuse := s.Alone(s.Authority("a"))
		r := resultOf(refuse)
		r.Host = &frontier.HostUpdate{Condition: frontier.Refused, Reason: "no", Robots: []byte("r")}
		s.Finish(r)
		all := frontier.Retrial{Outcome: frontier.Failed, Hosts: true, Robots: true}
		Want(s, "Retried", s.Retry(all), frontier.Retried{URLs: 1, Hosts: 1})
		Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Disallowed}), frontier.Retried{URLs: 1})
		s.Same(s.Crash)
		Want(s, "condition", s.Host("a").Condition, frontier.Open)
		Want(s, "octets of robots state", len(s.Host("a").Robots), 0)
		if got := s.Pending(); got != "a/f b/d1" && got != "b/d1 a/f" {
			s.Fatalf("tasks: %s", got)
		}
	}},
	{Name: "retry: a refused candidate was no task and stays dropped", Test: func(s *Stage) {
		s.Add(s.Links("a/x1"), s.Refused("trap", "a/9", "z/9"))
		s.CloseAll()
		Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Dropped}).URLs, 1)
		Want(s, "Dropped", s.Stats().Outcomes[frontier.Dropped], 2)
		Want(s, "Dropped by the trap", s.Stats().Reasons[frontier.Dropped]["trap"], 2)
		Want(s, "tasks", s.Pending(), "a/x1")
	}},
	{Name: "retry: Fetched, Redirected, and nothing at all are refused, and no poison", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.CloseAll()
		for _, r := range []frontier.Retrial{
			{}, {Robots: true}, {Outcome: frontier.Fetched}, {Outcome: frontier.Redirected, Hosts: true}, {Outcome: frontier.Held + 1},
		} {
			if n, err := s.Frontier.Retry(s.Context(), r); err == nil {
				s.Fatalf("Retry %+v: %+v, want an error", r, n)
			}
		}
		Want(s, "Add afterwards", s.Add(s.Links("a/1")), frontier.Added{New: 1})
		Want(s, "tasks", s.Pending(), "a/1")
	}},
}

// deferredAndFailed closes a/f as failed after a deferral with a redirect to its own key and another that counts.
func deferredAndFailed(s *Stage) {
	s.Helper()
	t := s.Turn(1)
	s.Postpone(t, frontier.Deferral{URL: s.URL("a/f#again"), Reason: "moved"})
	t = s.Turn(1)
	s.Postpone(t, frontier.Deferral{After: time.Minute, Reason: "status 500"})
	s.Sleep(time.Minute)
	t = s.Turn(1)
	Want(s, "attempts", t.Tasks[0].Attempts, 1)
	s.end(t, frontier.Result{Done: []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Failed, Reason: "status 500"}}})
}

// fresh fails unless a/f is claimed as for the first time.
func fresh(s *Stage) {
	s.Helper()
	Want(s, "Deferred", s.Host("a").Deferred, 0)
	x := s.Turn(1).Tasks[0]
	Want(s, "task", Short(x.URL), "a/f")
	Want(s, "attempts", x.Attempts, 0)
	Want(s, "reason", x.Reason, "")
	Want(s, "replaced", x.Replaced, false)
	Want(s, "via", x.Via, "http://via.test/")
}

// retryHostRules are about what Retry does to hosts, their robots state and their leases.
var retryHostRules = []rule{
	{Name: "retry: hosts that are refused or retired open, parked ones stay", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0", "c/0", "d/0"))
		rest(s, frontier.Refused, frontier.Retired, frontier.Parked, frontier.Open)
		one := frontier.Retrial{Hosts: true, Authority: s.Authority("b")}
		Want(s, "Retried", s.Retry(one), frontier.Retried{Hosts: 1})
		Want(s, "Retired", s.Stats().Retired, 0)
		Want(s, "Refused", s.Stats().Refused, 1)
		Want(s, "Retried", s.Retry(frontier.Retrial{Hosts: true}), frontier.Retried{Hosts: 1})
		Want(s, "Retried", s.Retry(frontier.Retrial{Hosts: true}), frontier.Retried{})
		for range 2 {
			for name, c := range map[string]frontier.Condition{"a": frontier.Open, "b": frontier.Open, "c": frontier.Parked, "d": frontier.Open} {
				Want(s, "condition of "+name, s.Host(name).Condition, c)
				Want(s, "robots state of "+name, string(s.Host(name).Robots), name)
			}
			s.Reopen()
		}
		Want(s, "reason", s.Host("a").Reason, "")
		Want(s, "turns", len(s.Claim(9, 1).Turns), 4)
	}},
	{Name: "retry: a refused host stays refused unless hosts are asked for", Test: func(s *Stage) {
		s.Add(s.Links("a/f1"))
		s.CloseAll()
		rest(s, frontier.Refused)
		Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Failed}), frontier.Retried{URLs: 1})
		c := s.Claim(1, 1)
		Want(s, "state", c.State, frontier.Waiting)
		Want(s, "due", c.Due, frontier.Never)
		Want(s, "Retried", s.Retry(frontier.Retrial{Hosts: true}), frontier.Retried{Hosts: 1})
		Want(s, "tasks", s.Pending(), "a/f1")
	}},
	{Name: "retry: robots state is forgotten where something is tried again, and nowhere else", Test: func(s *Stage) {
		s.Add(s.Links("a/d1", "b/f1", "c/0"))
		s.CloseAll()
		rest(s, frontier.Open, frontier.Open, frontier.Refused, frontier.Parked)
		robots := func() string {
			var b strings.Builder
			for _, h := range s.Hosts(9) {
				b.WriteString(string(h.Robots) + ".")
			}
			return b.String()
		}
		Want(s, "robots states", robots(), "a.b.c.d.")
		Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Disallowed, Robots: true}), frontier.Retried{URLs: 1})
		Want(s, "robots states", robots(), ".b.c.d.")
		t := s.Turn(1)
		Want(s, "octets of robots state in the turn", len(t.Host.Robots), 0)
		s.Finish(Fetched(t))
		Want(s, "Retried", s.Retry(frontier.Retrial{Hosts: true, Robots: true}), frontier.Retried{Hosts: 1})
		Want(s, "robots states", robots(), ".b..d.")
		s.Reopen()
		Want(s, "robots states after a reopen", robots(), ".b..d.")
	}},
	{Name: "retry: a host under a lease keeps robots state and lease", Test: func(s *Stage) {
		s.Add(s.Links("a/f1"))
		s.CloseAll()
		rest(s, frontier.Open)
		s.Add(s.Links("a/0"))
		t := s.Turn(1)
		all := frontier.Retrial{Outcome: frontier.Failed, Hosts: true, Robots: true}
		Want(s, "Retried", s.Retry(all), frontier.Retried{URLs: 1})
		Want(s, "robots state", string(s.Host("a").Robots), "a")
		Want(s, "InFlight", s.Host("a").InFlight, 1)
		Want(s, "Queued", s.Host("a").Queued, 1)
		s.Blocked(time.Second)
		s.end(t, frontier.Result{Done: done(t.Tasks...), Host: &frontier.HostUpdate{Robots: []byte("a")}})
		Want(s, "robots state", string(s.Host("a").Robots), "a")
		Want(s, "tasks", s.Pending(), "a/f1")
	}},
	{Name: "retry: a claim that waits for a later host gets what is open again", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/f1"))
		c := s.Claim(2, 1)
		for _, t := range c.Turns {
			r := resultOf(t)
			if Short(t.Tasks[0].URL) == "b/f1" {
				r.Done = []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Failed}}
			} else {
				r.Wait = time.Hour
			}
			s.Finish(r)
		}
		answer := s.Waiting(frontier.Want{MaxWait: 2 * time.Hour})
		if n, err := s.Frontier.Retry(s.Context(), frontier.Retrial{Outcome: frontier.Failed}); err != nil || n.URLs != 1 {
			s.Fatalf("Retry: %+v, error %v", n, err)
		}
		s.Gives(answer, "b/f1")
	}},
	{Name: "retry: the wait of a host is obeyed", Test: func(s *Stage) {
		s.Add(s.Links("a/f1"))
		t := s.Turn(1)
		s.end(t, frontier.Result{Done: []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Failed}}, Wait: time.Minute})
		Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Failed}).URLs, 1)
		Want(s, "due", s.Claim(1, 1).Due, time.Minute)
		s.Blocked(time.Minute - time.Millisecond)
		s.Sleep(time.Millisecond)
		Want(s, "tasks", s.Pending(), "a/f1")
	}},
}

// rest gives the hosts a, b, … these conditions, and robots states of their names.
func rest(s *Stage, cs ...frontier.Condition) {
	s.Helper()
	for i, c := range cs {
		name := string(rune('a' + i))
		t := s.Alone(s.Authority(name))
		r := resultOf(t)
		r.Host = &frontier.HostUpdate{Condition: c, Robots: []byte(name)}
		if c != frontier.Open {
			r.Host.Reason = "a reason"
		}
		s.Finish(r)
	}
}

// heldRules are about tasks that are held, and about what Retry releases of them.
var heldRules = []rule{
	{Name: "held: closed with its reason, and a crawl whose rest is held is Drained", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1"))
		holdAll(s, "calendar")
		for range 2 {
			st := s.Stats()
			Want(s, "Held", st.Outcomes[frontier.Held], 2)
			Want(s, "Held for a reason", st.Reasons[frontier.Held]["calendar"], 2)
			Want(s, "Discovered", st.Discovered, 2)
			Want(s, "of the host", s.Host("a").Outcomes[frontier.Held], 2)
			Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
			Want(s, "found again", s.Add(s.Links("a/0")), frontier.Added{Known: 1})
			s.Reopen()
		}
	}},
	{Name: "held: Retry releases it, and its task says so until it is deferred", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		holdAll(s, "calendar")
		Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Held}), frontier.Retried{URLs: 1})
		for range 2 {
			t := s.Turn(1)
			Want(s, "reason", t.Tasks[0].Reason, frontier.ReasonReleased)
			Want(s, "attempts", t.Tasks[0].Attempts, 0)
			s.Finish(resultOf(t))
			s.Reopen()
		}
		t := s.Turn(1)
		s.Postpone(t, frontier.Deferral{Print: t.Tasks[0].Print, After: time.Second, Reason: "status 500"})
		s.Sleep(time.Second)
		Want(s, "reason after a deferral", s.Turn(1).Tasks[0].Reason, "status 500")
	}},
	{Name: "retry: only URLs with that reason, when one is given", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0"))
		holdAll(s, "calendar")
		holdAll(s, "depth")
		Want(s, "an unknown reason", s.Retry(frontier.Retrial{Outcome: frontier.Held, Reason: "cal"}), frontier.Retried{})
		Want(s, "another outcome", s.Retry(frontier.Retrial{Outcome: frontier.Failed, Reason: "depth"}), frontier.Retried{})
		Want(s, "one", s.Retry(frontier.Retrial{Outcome: frontier.Held, Reason: "depth"}), frontier.Retried{URLs: 1})
		st := s.Stats()
		Want(s, "Held for the other", st.Reasons[frontier.Held]["calendar"], 1)
		Want(s, "Held for this", st.Reasons[frontier.Held]["depth"], 0)
		Want(s, "what is open", len(s.Drain(0)), 1)
		Want(s, "all", s.Retry(frontier.Retrial{Outcome: frontier.Held}), frontier.Retried{URLs: 1})
	}},
}

// holdAll closes what is due as Held for a reason.
func holdAll(s *Stage, reason string) {
	s.Helper()
	t := s.Turn(9)
	r := resultOf(t)
	for _, x := range t.Tasks {
		r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: frontier.Held, Reason: reason})
	}
	s.Finish(r)
}
