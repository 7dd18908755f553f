package frontiertest

import (
	"strings"
	"time"

	"curtsy/frontier"
)

// retryHostRules are about what Retry does to hosts, their robots state and their leases.
func retryHostRules() []rule {
	return []rule{
		{name: "retry: hosts that are refused or retired open, parked ones stay", test: retryHosts},
		{name: "retry: a refused host stays refused unless hosts are asked for", test: retryHostStays},
		{name: "retry: robots state is forgotten where something is tried again, and nowhere else", test: retryRobots},
		{name: "retry: a host under a lease keeps robots state and lease", test: retryLeased},
		{name: "retry: a claim that waits for a later host gets what is open again", test: retryWakes},
		{name: "retry: the wait of a host is obeyed", test: retryWaits},
	}
}

// rest gives the hosts a, b, … these conditions, and robots states of their names.
func (s *stage) rest(cs ...frontier.Condition) {
	s.Helper()
	for i, c := range cs {
		name := string(rune('a' + i))
		t, err := s.f.ClaimAuthority(s.Context(), s.auth(name))
		if err != nil {
			s.Fatal(err)
		}
		r := result(t)
		r.Host = &frontier.HostUpdate{Condition: c, Robots: []byte(name)}
		if c != frontier.Open {
			r.Host.Reason = "a reason"
		}
		s.finish(r)
	}
}

func retryHosts(s *stage) {
	s.add(s.links("a/0", "b/0", "c/0", "d/0"))
	s.rest(frontier.Refused, frontier.Retired, frontier.Parked, frontier.Open)
	one := frontier.Retrial{Hosts: true, Authority: s.auth("b")}
	want(s, "Retried", s.retry(one), frontier.Retried{Hosts: 1})
	want(s, "Retired", s.stats().Retired, 0)
	want(s, "Refused", s.stats().Refused, 1)
	want(s, "Retried", s.retry(frontier.Retrial{Hosts: true}), frontier.Retried{Hosts: 1})
	want(s, "Retried", s.retry(frontier.Retrial{Hosts: true}), frontier.Retried{})
	for range 2 {
		for name, c := range map[string]frontier.Condition{"a": frontier.Open, "b": frontier.Open, "c": frontier.Parked, "d": frontier.Open} {
			want(s, "condition of "+name, s.host(name).Condition, c)
			want(s, "robots state of "+name, string(s.host(name).Robots), name)
		}
		s.reopen()
	}
	want(s, "reason", s.host("a").Reason, "")
	want(s, "turns", len(s.claim(9, 1).Turns), 4)
}

func retryHostStays(s *stage) {
	s.add(s.links("a/f1"))
	s.closeAll()
	s.rest(frontier.Refused)
	want(s, "Retried", s.retry(frontier.Retrial{Outcome: frontier.Failed}), frontier.Retried{URLs: 1})
	c := s.claim(1, 1)
	want(s, "state", c.State, frontier.Waiting)
	want(s, "due", c.Due, frontier.Never)
	want(s, "Retried", s.retry(frontier.Retrial{Hosts: true}), frontier.Retried{Hosts: 1})
	want(s, "tasks", s.all(), "a/f1")
}

func retryRobots(s *stage) {
	s.add(s.links("a/d1", "b/f1", "c/0"))
	s.closeAll()
	s.rest(frontier.Open, frontier.Open, frontier.Refused, frontier.Parked)
	robots := func() string {
		var b strings.Builder
		for _, h := range s.hosts(9) {
			b.WriteString(string(h.Robots) + ".")
		}
		return b.String()
	}
	want(s, "robots states", robots(), "a.b.c.d.")
	want(s, "Retried", s.retry(frontier.Retrial{Outcome: frontier.Disallowed, Robots: true}), frontier.Retried{URLs: 1})
	want(s, "robots states", robots(), ".b.c.d.")
	t := s.turn(1)
	want(s, "octets of robots state in the turn", len(t.Host.Robots), 0)
	s.finish(fetched(t))
	want(s, "Retried", s.retry(frontier.Retrial{Hosts: true, Robots: true}), frontier.Retried{Hosts: 1})
	want(s, "robots states", robots(), ".b..d.")
	s.reopen()
	want(s, "robots states after a reopen", robots(), ".b..d.")
}

func retryLeased(s *stage) {
	s.add(s.links("a/f1"))
	s.closeAll()
	s.rest(frontier.Open)
	s.add(s.links("a/0"))
	t := s.turn(1)
	all := frontier.Retrial{Outcome: frontier.Failed, Hosts: true, Robots: true}
	want(s, "Retried", s.retry(all), frontier.Retried{URLs: 1})
	want(s, "robots state", string(s.host("a").Robots), "a")
	want(s, "InFlight", s.host("a").InFlight, 1)
	want(s, "Queued", s.host("a").Queued, 1)
	s.blocked(time.Second)
	r := fetched(t)
	r.Host = &frontier.HostUpdate{Robots: []byte("a")}
	s.finish(r)
	want(s, "robots state", string(s.host("a").Robots), "a")
	want(s, "tasks", s.all(), "a/f1")
}

func retryWakes(s *stage) {
	s.add(s.links("a/0", "b/f1"))
	c := s.claim(2, 1)
	for _, t := range c.Turns {
		r := result(t)
		if short(t.Tasks[0].URL) == "b/f1" {
			r.Done = []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Failed}}
		} else {
			r.Wait = time.Hour
		}
		s.finish(r)
	}
	answer := s.waiting(frontier.Want{MaxWait: 2 * time.Hour})
	if n, err := s.f.Retry(s.Context(), frontier.Retrial{Outcome: frontier.Failed}); err != nil || n.URLs != 1 {
		s.Fatalf("Retry: %+v, error %v", n, err)
	}
	got, err := answer()
	if err != nil || len(got.Turns) != 1 || names(got.Turns[0].Tasks) != "b/f1" {
		s.Fatalf("Claim: %+v, error %v", got, err)
	}
}

func retryWaits(s *stage) {
	s.add(s.links("a/f1"))
	t := s.turn(1)
	r := result(t)
	r.Done = []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Failed}}
	r.Wait = time.Minute
	s.finish(r)
	want(s, "Retried", s.retry(frontier.Retrial{Outcome: frontier.Failed}).URLs, 1)
	want(s, "due", s.claim(1, 1).Due, time.Minute)
	s.blocked(time.Minute - time.Millisecond)
	s.sleep(time.Millisecond)
	want(s, "tasks", s.all(), "a/f1")
}
