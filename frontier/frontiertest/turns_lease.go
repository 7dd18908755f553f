package frontiertest

import (
	"context"
	"errors"
	"slices"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// leaseRules are about turns, tokens and time.
func leaseRules() []stage.Rule {
	o := frontier.Options{LeaseLength: stage.LeaseLength}
	return []stage.Rule{
		{Name: "lease: zero length means 40 minutes", Test: leaseLength},
		{Name: "lease: its tasks are pending when it expires, and a claim wakes", Options: o, Test: leaseExpires},
		{Name: "lease: its end is noticed by whichever call comes first", Options: o, Test: leaseNoticed},
		{Name: "lease: Finish after expiry is stale and changes nothing", Options: o, Test: leaseStale},
		{Name: "lease: a stale Finish is harmless to the next owner, whose repeat finds the links", Options: o, Test: leaseFenced},
		{Name: "lease: a token that was never given is stale", Options: o, Test: leaseForeign},
		{Name: "lease: the tokens of later openings are larger, and fence off the earlier", Options: o, Test: leaseEpoch},
		{Name: "lease: a stale result does not hinder the others of its call", Options: o, Test: leaseMixed},
		{Name: "lease: the repeat of the last applied Finish is nil and changes nothing", Options: o, Test: leaseRepeat},
		{Name: "claim: ends when its context does", Options: o, Test: claimCancelled},
	}
}

func leaseLength(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	stage.Want(s, "length", s.Turn(1).Length, 40*time.Minute)
	s.Blocked(40*time.Minute - time.Millisecond)
	s.Sleep(2 * time.Millisecond)
	s.Turn(1)
}

func leaseExpires(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "a/2"))
	t := s.Turn(2)
	stage.Want(s, "length", t.Length, stage.LeaseLength)
	stage.Want(s, "InFlight", s.Host("a").InFlight, 2)
	begin := time.Now()
	answer := s.Waiting(frontier.Want{Tasks: 10})
	s.Sleep(stage.LeaseLength + time.Millisecond)
	c, err := answer()
	if err != nil || len(c.Turns) != 1 || time.Since(begin) > stage.LeaseLength+time.Millisecond {
		s.Fatalf("Claim after %v: %+v, error %v", time.Since(begin), c, err)
	}
	next := c.Turns[0]
	stage.Want(s, "tasks after expiry", stage.Names(next.Tasks), "a/0 a/1 a/2")
	stage.Want(s, "attempts", next.Tasks[0].Attempts, 0)
	if next.Token <= t.Token {
		s.Fatalf("token %x after %x: want a larger one", next.Token, t.Token)
	}
	stage.Want(s, "expired leases counted", s.Stats().Counts[frontier.ReasonExpired], 1)
}

func leaseNoticed(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	calls := map[string]func(t frontier.Turn) bool{
		"Finish": func(t frontier.Turn) bool {
			fs, err := s.Frontier.Finish(s.Context(), []frontier.Result{stage.Fetched(t)})
			return err == nil && errors.Is(fs[0].Err, frontier.ErrStale)
		},
		"ClaimAuthority": func(t frontier.Turn) bool {
			next, err := s.Frontier.ClaimAuthority(s.Context(), t.Authority)
			if err == nil {
				s.Finish(stage.Result(next))
			}
			return err == nil
		},
		"Claim": func(frontier.Turn) bool {
			c := s.Claim(1, 1)
			if len(c.Turns) == 1 {
				s.Finish(stage.Result(c.Turns[0]))
			}
			return len(c.Turns) == 1
		},
		"Host":  func(frontier.Turn) bool { h := s.Host("a"); return !h.Leased && h.InFlight == 0 && h.Queued == 1 },
		"Hosts": func(frontier.Turn) bool { h := s.Hosts(1)[0]; return !h.Leased && h.InFlight == 0 && h.Queued == 1 },
		"Stats": func(frontier.Turn) bool { st := s.Stats(); return st.Leases == 0 && st.InFlight == 0 && st.Queued == 1 },
	}
	for name, noticed := range calls {
		t := s.Turn(1)
		s.Sleep(stage.LeaseLength + time.Millisecond)
		stage.Want(s, name+" notices", noticed(t), true)
	}
}

// unchanged calls f and fails if it changes anything that can be seen.
func unchanged(s *stage.Stage, f func()) {
	s.Helper()
	before := s.Picture()
	f()
	if diff := before.Diff(s.Picture()); diff != "" {
		s.Fatalf("something has changed: %s", diff)
	}
	if _, err := s.Frontier.Blob(s.Context(), stage.Digest("a body")); !errors.Is(err, frontier.ErrNoBlob) {
		s.Fatalf("Blob: %v, want ErrNoBlob", err)
	}
	stage.Want(s, "Seen", s.Seen("a/90") || s.Seen("a/91") || s.Seen("z/0"), false)
}

func leaseStale(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	t := s.Turn(2)
	s.Sleep(stage.LeaseLength + time.Millisecond)
	unchanged(s, func() { s.Stale(stage.FullResult(s, t)) })
	stage.Want(s, "tasks", stage.Names(s.Turn(5).Tasks), "a/0 a/1")
}

func leaseFenced(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	old := s.Turn(2)
	s.Sleep(stage.LeaseLength + time.Millisecond)
	t := s.Turn(2)
	stage.Want(s, "tasks of the next owner", stage.Names(t.Tasks), "a/0 a/1")
	keeps := stage.FullResult(s, old)
	keeps.Keep, keeps.Want = true, 5
	unchanged(s, func() { s.Stale(stage.FullResult(s, old)); s.Stale(keeps) })
	r := stage.Fetched(t, t.Tasks[0])
	r.Found = s.Links("a/90", "z/0")
	stage.Want(s, "links of the repeat", s.Finish(r).Added, frontier.Added{New: 2})
	us := s.Drain(0)
	slices.Sort(us)
	if !slices.Equal(us, []string{"a/1", "a/90", "z/0"}) {
		s.Fatalf("fetched %v, want a/1, a/90 and z/0", us)
	}
}

func leaseForeign(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0"))
	t := s.Turn(1)
	for _, token := range []frontier.Token{0, t.Token + 1, t.Token - 1, t.Token ^ 1<<32, ^frontier.Token(0)} {
		r := stage.FullResult(s, t)
		r.Token = token
		unchanged(s, func() { s.Stale(r) })
	}
	r := stage.FullResult(s, t) // the right token for another authority
	r.Authority = s.Authority("unknown")
	unchanged(s, func() { s.Stale(r) })
	s.Finish(stage.Fetched(t))
}

func leaseEpoch(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	t := s.Turn(1)
	s.Reopen()
	unchanged(s, func() { s.Stale(stage.FullResult(s, t)) })
	next := s.Turn(1)
	if next.Token>>32 <= t.Token>>32 {
		s.Fatalf("token %x after a reopen, %x before: want a larger epoch", next.Token, t.Token)
	}
	unchanged(s, func() { s.Stale(stage.FullResult(s, t)) })
	if s.Harness.Crash == nil {
		return
	}
	s.Crash()
	unchanged(s, func() { s.Stale(stage.FullResult(s, next)) })
	if last := s.Turn(1); last.Token>>32 <= next.Token>>32 {
		s.Fatalf("token %x after a crash, %x before: want a larger epoch", last.Token, next.Token)
	}
}

func leaseMixed(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0", "c/0"))
	c := s.Claim(3, 1)
	var rs []frontier.Result
	for _, t := range c.Turns {
		rs = append(rs, stage.Fetched(t))
	}
	rs[1].Token++
	fs, err := s.Frontier.Finish(s.Context(), rs)
	if err != nil || len(fs) != 3 || fs[0].Err != nil || !errors.Is(fs[1].Err, frontier.ErrStale) || fs[2].Err != nil {
		s.Fatalf("Finish: %+v, error %v; want the second stale", fs, err)
	}
	st := s.Stats()
	stage.Want(s, "Fetched", st.Outcomes[frontier.Fetched], 2)
	stage.Want(s, "Leases", st.Leases, 1)
}

func leaseRepeat(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "a/2"))
	t := s.Turn(1)
	r := stage.Fetched(t)
	r.Found, r.Counts = s.Links("b/0"), map[string]int64{"octets": 5}
	r.Extend = []frontier.Seed{{URL: s.URL("z/1"), Tag: "tag", From: "http://a.test/0"}}
	s.Finish(r)
	repeat := func() {
		s.Helper()
		if f := s.Finish(r); len(f.Tasks) > 0 || f.Added.New > 0 {
			s.Fatalf("the repeat answers %+v", f)
		}
	}
	unchanged(s, repeat)
	s.Sync()
	unchanged(s, repeat)
	c := s.Claim(2, 1) // the last applied Finish is still r, though the authority is leased again
	stage.Want(s, "turns", len(c.Turns), 2)
	unchanged(s, repeat)
	for _, t := range c.Turns {
		s.Finish(stage.Fetched(t))
	}
	unchanged(s, func() { s.Stale(r) })
}

func claimCancelled(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	s.Turn(1)
	ctx, cancel := context.WithTimeoutCause(s.Context(), time.Second, errors.New("not this one"))
	defer cancel()
	begin := time.Now()
	c, err := s.Frontier.Claim(ctx, frontier.Want{MaxWait: time.Hour})
	if !errors.Is(err, context.DeadlineExceeded) || len(c.Turns) > 0 || time.Since(begin) != time.Second {
		s.Fatalf("Claim after %v: %+v, error %v", time.Since(begin), c, err)
	}
	stage.Want(s, "Leases", s.Stats().Leases, 1)
	s.Add(s.Links("b/0")) // a cancelled call is no poison
	s.Turn(1)
}
