package frontiertest

import (
	"time"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// authorityRules are about ClaimAuthority.
func authorityRules() []stage.Rule {
	o := frontier.Options{LeaseLength: stage.LeaseLength}
	return []stage.Rule{
		{Name: "claim authority: unknown or idle it is leased, with no tasks", Options: o, Test: authorityLeased},
		{Name: "claim authority: not due while leased, waiting, parked, retired or refused", Options: o, Test: authorityNotDue},
		{Name: "claim authority: shares lease and pace with the queue of the host", Options: o, Test: authorityShares},
	}
}

func authorityLeased(s *stage.Stage) {
	a := s.Authority("a")
	t, err := s.Frontier.ClaimAuthority(s.Context(), a)
	if err != nil || t.Authority != a || t.Host.Authority != a || len(t.Tasks) != 0 || t.Token == 0 || t.Length != stage.LeaseLength || t.Width != 1 {
		s.Fatalf("ClaimAuthority: %+v, error %v", t, err)
	}
	r := stage.Result(t)
	r.Host = &frontier.HostUpdate{Robots: []byte("hop 1")}
	r.Found = s.Links("b/0")
	s.Finish(r)
	stage.Want(s, "robots state", string(s.Host("a").Robots), "hop 1")
	t, err = s.Frontier.ClaimAuthority(s.Context(), a)
	if err != nil || string(t.Host.Robots) != "hop 1" {
		s.Fatalf("ClaimAuthority of an idle one: %+v, error %v", t, err)
	}
	s.Finish(stage.Result(t))
	s.Reopen()
	stage.Want(s, "robots state after a reopen", string(s.Host("a").Robots), "hop 1")
}

func authorityNotDue(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	t := s.Turn(1)
	s.NotDue("leased", "a")
	r := stage.Result(t)
	r.Wait = time.Minute
	s.Finish(r)
	s.NotDue("waiting", "a")
	s.Sleep(time.Minute)
	for condition, why := range map[frontier.Condition]string{
		frontier.Parked: "parked", frontier.Retired: "retired", frontier.Refused: "refused",
	} {
		t, err := s.Frontier.ClaimAuthority(s.Context(), s.Authority(why))
		if err != nil {
			s.Fatal(err)
		}
		r := stage.Result(t)
		r.Host = &frontier.HostUpdate{Condition: condition, Reason: "because"}
		r.Wait = time.Hour
		s.Finish(r)
		s.NotDue(why, why)
	}
	s.Sleep(time.Hour)
	s.NotDue("retired", "retired")
	s.NotDue("refused", "refused")
	if _, err := s.Frontier.ClaimAuthority(s.Context(), s.Authority("parked")); err != nil {
		s.Fatalf("ClaimAuthority of a parked one whose time has come: %v", err)
	}
}

func authorityShares(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	t, err := s.Frontier.ClaimAuthority(s.Context(), s.Authority("a"))
	if err != nil {
		s.Fatal(err)
	}
	stage.Want(s, "Queued", s.Host("a").Queued, 1)
	answer := s.Waiting(frontier.Want{})
	r := stage.Result(t)
	r.Wait = time.Minute
	s.Finish(r)
	c, err := answer()
	if err != nil || c.State != frontier.Waiting || c.Due != time.Minute {
		s.Fatalf("Claim: %+v, error %v; want Waiting for a minute", c, err)
	}
	s.Sleep(time.Minute)
	stage.Want(s, "task", stage.Names(s.Turn(1).Tasks), "a/0")
	s.NotDue("leased", "a")
}
