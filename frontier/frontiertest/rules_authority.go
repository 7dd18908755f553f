package frontiertest

import (
	"errors"
	"time"

	"curtsy/frontier"
)

// authorityRules are about ClaimAuthority.
func authorityRules() []rule {
	o := frontier.Options{LeaseLength: length}
	return []rule{
		{name: "claim authority: unknown or idle it is leased, with no tasks", o: o, test: authorityLeased},
		{name: "claim authority: not due while leased, waiting, parked, retired or refused", o: o, test: authorityNotDue},
		{name: "claim authority: shares lease and pace with the queue of the host", o: o, test: authorityShares},
	}
}

func authorityLeased(s *stage) {
	a := s.auth("a")
	t, err := s.f.ClaimAuthority(s.Context(), a)
	if err != nil || t.Authority != a || t.Host.Authority != a || len(t.Tasks) != 0 || t.Token == 0 || t.Length != length || t.Width != 1 {
		s.Fatalf("ClaimAuthority: %+v, error %v", t, err)
	}
	r := result(t)
	r.Host = &frontier.HostUpdate{Robots: []byte("hop 1")}
	r.Found = s.links("b/0")
	s.finish(r)
	want(s, "robots state", string(s.host("a").Robots), "hop 1")
	t, err = s.f.ClaimAuthority(s.Context(), a)
	if err != nil || string(t.Host.Robots) != "hop 1" {
		s.Fatalf("ClaimAuthority of an idle one: %+v, error %v", t, err)
	}
	s.finish(result(t))
	s.reopen()
	want(s, "robots state after a reopen", string(s.host("a").Robots), "hop 1")
}

// notDue fails unless a cannot be claimed on its own now.
func (s *stage) notDue(why, name string) {
	s.Helper()
	if t, err := s.f.ClaimAuthority(s.Context(), s.auth(name)); !errors.Is(err, frontier.ErrNotDue) {
		s.Fatalf("ClaimAuthority while %s: %+v, error %v; want ErrNotDue", why, t, err)
	}
	s.sums()
}

func authorityNotDue(s *stage) {
	s.add(s.links("a/0"))
	t := s.turn(1)
	s.notDue("leased", "a")
	r := result(t)
	r.Wait = time.Minute
	s.finish(r)
	s.notDue("waiting", "a")
	s.sleep(time.Minute)
	for condition, why := range map[frontier.Condition]string{
		frontier.Parked: "parked", frontier.Retired: "retired", frontier.Refused: "refused",
	} {
		t, err := s.f.ClaimAuthority(s.Context(), s.auth(why))
		if err != nil {
			s.Fatal(err)
		}
		r := result(t)
		r.Host = &frontier.HostUpdate{Condition: condition, Reason: "because"}
		r.Wait = time.Hour
		s.finish(r)
		s.notDue(why, why)
	}
	s.sleep(time.Hour)
	s.notDue("retired", "retired")
	s.notDue("refused", "refused")
	if _, err := s.f.ClaimAuthority(s.Context(), s.auth("parked")); err != nil {
		s.Fatalf("ClaimAuthority of a parked one whose time has come: %v", err)
	}
}

func authorityShares(s *stage) {
	s.add(s.links("a/0"))
	t, err := s.f.ClaimAuthority(s.Context(), s.auth("a"))
	if err != nil {
		s.Fatal(err)
	}
	want(s, "Queued", s.host("a").Queued, 1)
	answer := s.waiting(frontier.Want{})
	r := result(t)
	r.Wait = time.Minute
	s.finish(r)
	c, err := answer()
	if err != nil || c.State != frontier.Waiting || c.Due != time.Minute {
		s.Fatalf("Claim: %+v, error %v; want Waiting for a minute", c, err)
	}
	s.sleep(time.Minute)
	want(s, "task", names(s.turn(1).Tasks), "a/0")
	s.notDue("leased", "a")
}
