package frontiertest

import (
	"strings"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// retryHostRules are about what Retry does to hosts, their robots state and their leases.
func retryHostRules() []stage.Rule {
	return []stage.Rule{
		{Name: "retry: hosts that are refused or retired open, parked ones stay", Test: retryHosts},
		{Name: "retry: a refused host stays refused unless hosts are asked for", Test: retryHostStays},
		{Name: "retry: robots state is forgotten where something is tried again, and nowhere else", Test: retryRobots},
		{Name: "retry: a host under a lease keeps robots state and lease", Test: retryLeased},
		{Name: "retry: a claim that waits for a later host gets what is open again", Test: retryWakes},
		{Name: "retry: the wait of a host is obeyed", Test: retryWaits},
	}
}

// rest gives the hosts a, b, … these conditions, and robots states of their names.
func rest(s *stage.Stage, cs ...frontier.Condition) {
	s.Helper()
	for i, c := range cs {
		name := string(rune('a' + i))
		t, err := s.Frontier.ClaimAuthority(s.Context(), s.Authority(name))
		if err != nil {
			s.Fatal(err)
		}
		r := stage.Result(t)
		r.Host = &frontier.HostUpdate{Condition: c, Robots: []byte(name)}
		if c != frontier.Open {
			r.Host.Reason = "a reason"
		}
		s.Finish(r)
	}
}

func retryHosts(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0", "c/0", "d/0"))
	rest(s, frontier.Refused, frontier.Retired, frontier.Parked, frontier.Open)
	one := frontier.Retrial{Hosts: true, Authority: s.Authority("b")}
	stage.Want(s, "Retried", s.Retry(one), frontier.Retried{Hosts: 1})
	stage.Want(s, "Retired", s.Stats().Retired, 0)
	stage.Want(s, "Refused", s.Stats().Refused, 1)
	stage.Want(s, "Retried", s.Retry(frontier.Retrial{Hosts: true}), frontier.Retried{Hosts: 1})
	stage.Want(s, "Retried", s.Retry(frontier.Retrial{Hosts: true}), frontier.Retried{})
	for range 2 {
		for name, c := range map[string]frontier.Condition{"a": frontier.Open, "b": frontier.Open, "c": frontier.Parked, "d": frontier.Open} {
			stage.Want(s, "condition of "+name, s.Host(name).Condition, c)
			stage.Want(s, "robots state of "+name, string(s.Host(name).Robots), name)
		}
		s.Reopen()
	}
	stage.Want(s, "reason", s.Host("a").Reason, "")
	stage.Want(s, "turns", len(s.Claim(9, 1).Turns), 4)
}

func retryHostStays(s *stage.Stage) {
	s.Add(s.Links("a/f1"))
	s.CloseAll()
	rest(s, frontier.Refused)
	stage.Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Failed}), frontier.Retried{URLs: 1})
	c := s.Claim(1, 1)
	stage.Want(s, "state", c.State, frontier.Waiting)
	stage.Want(s, "due", c.Due, frontier.Never)
	stage.Want(s, "Retried", s.Retry(frontier.Retrial{Hosts: true}), frontier.Retried{Hosts: 1})
	stage.Want(s, "tasks", s.Pending(), "a/f1")
}

func retryRobots(s *stage.Stage) {
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
	stage.Want(s, "robots states", robots(), "a.b.c.d.")
	stage.Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Disallowed, Robots: true}), frontier.Retried{URLs: 1})
	stage.Want(s, "robots states", robots(), ".b.c.d.")
	t := s.Turn(1)
	stage.Want(s, "octets of robots state in the turn", len(t.Host.Robots), 0)
	s.Finish(stage.Fetched(t))
	stage.Want(s, "Retried", s.Retry(frontier.Retrial{Hosts: true, Robots: true}), frontier.Retried{Hosts: 1})
	stage.Want(s, "robots states", robots(), ".b..d.")
	s.Reopen()
	stage.Want(s, "robots states after a reopen", robots(), ".b..d.")
}

func retryLeased(s *stage.Stage) {
	s.Add(s.Links("a/f1"))
	s.CloseAll()
	rest(s, frontier.Open)
	s.Add(s.Links("a/0"))
	t := s.Turn(1)
	all := frontier.Retrial{Outcome: frontier.Failed, Hosts: true, Robots: true}
	stage.Want(s, "Retried", s.Retry(all), frontier.Retried{URLs: 1})
	stage.Want(s, "robots state", string(s.Host("a").Robots), "a")
	stage.Want(s, "InFlight", s.Host("a").InFlight, 1)
	stage.Want(s, "Queued", s.Host("a").Queued, 1)
	s.Blocked(time.Second)
	r := stage.Fetched(t)
	r.Host = &frontier.HostUpdate{Robots: []byte("a")}
	s.Finish(r)
	stage.Want(s, "robots state", string(s.Host("a").Robots), "a")
	stage.Want(s, "tasks", s.Pending(), "a/f1")
}

func retryWakes(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/f1"))
	c := s.Claim(2, 1)
	for _, t := range c.Turns {
		r := stage.Result(t)
		if stage.Short(t.Tasks[0].URL) == "b/f1" {
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
	got, err := answer()
	if err != nil || len(got.Turns) != 1 || stage.Names(got.Turns[0].Tasks) != "b/f1" {
		s.Fatalf("Claim: %+v, error %v", got, err)
	}
}

func retryWaits(s *stage.Stage) {
	s.Add(s.Links("a/f1"))
	t := s.Turn(1)
	r := stage.Result(t)
	r.Done = []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Failed}}
	r.Wait = time.Minute
	s.Finish(r)
	stage.Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Failed}).URLs, 1)
	stage.Want(s, "due", s.Claim(1, 1).Due, time.Minute)
	s.Blocked(time.Minute - time.Millisecond)
	s.Sleep(time.Millisecond)
	stage.Want(s, "tasks", s.Pending(), "a/f1")
}
