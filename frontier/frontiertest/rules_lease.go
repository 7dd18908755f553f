package frontiertest

import (
	"context"
	"errors"
	"slices"
	"time"

	"curtsy/frontier"
)

// length is the lease length of the rules that set one.
const length = 10 * time.Minute

// leaseRules are about turns, tokens and time.
func leaseRules() []rule {
	o := frontier.Options{LeaseLength: length}
	return []rule{
		{name: "lease: zero length means 40 minutes", test: leaseLength},
		{name: "lease: its tasks are pending when it expires, and a claim wakes", o: o, test: leaseExpires},
		{name: "lease: its end is noticed by whichever call comes first", o: o, test: leaseNoticed},
		{name: "lease: Finish after expiry is stale and changes nothing", o: o, test: leaseStale},
		{name: "lease: a stale Finish is harmless to the next owner, whose repeat finds the links", o: o, test: leaseFenced},
		{name: "lease: a token that was never given is stale", o: o, test: leaseForeign},
		{name: "lease: the tokens of later openings are larger, and fence off the earlier", o: o, test: leaseEpoch},
		{name: "lease: a stale result does not hinder the others of its call", o: o, test: leaseMixed},
		{name: "lease: the repeat of the last applied Finish is nil and changes nothing", o: o, test: leaseRepeat},
		{name: "claim: ends when its context does", o: o, test: claimCancelled},
	}
}

func leaseLength(s *stage) {
	s.add(s.links("a/0"))
	want(s, "length", s.turn(1).Length, 40*time.Minute)
	s.blocked(40*time.Minute - time.Millisecond)
	s.sleep(2 * time.Millisecond)
	s.turn(1)
}

func leaseExpires(s *stage) {
	s.add(s.links("a/0", "a/1", "a/2"))
	t := s.turn(2)
	want(s, "length", t.Length, length)
	want(s, "InFlight", s.host("a").InFlight, 2)
	begin := time.Now()
	answer := s.waiting(frontier.Want{Tasks: 10})
	s.sleep(length + time.Millisecond)
	c, err := answer()
	if err != nil || len(c.Turns) != 1 || time.Since(begin) > length+time.Millisecond {
		s.Fatalf("Claim after %v: %+v, error %v", time.Since(begin), c, err)
	}
	next := c.Turns[0]
	want(s, "tasks after expiry", names(next.Tasks), "a/0 a/1 a/2")
	want(s, "attempts", next.Tasks[0].Attempts, 0)
	if next.Token <= t.Token {
		s.Fatalf("token %x after %x: want a larger one", next.Token, t.Token)
	}
	want(s, "expired leases counted", s.stats().Counts[frontier.ReasonExpired], 1)
}

func leaseNoticed(s *stage) {
	s.add(s.links("a/0"))
	calls := map[string]func(t frontier.Turn) bool{
		"Finish": func(t frontier.Turn) bool {
			fs, err := s.f.Finish(s.Context(), []frontier.Result{fetched(t)})
			return err == nil && errors.Is(fs[0].Err, frontier.ErrStale)
		},
		"ClaimAuthority": func(t frontier.Turn) bool {
			next, err := s.f.ClaimAuthority(s.Context(), t.Authority)
			if err == nil {
				s.finish(result(next))
			}
			return err == nil
		},
		"Claim": func(frontier.Turn) bool {
			c := s.claim(1, 1)
			if len(c.Turns) == 1 {
				s.finish(result(c.Turns[0]))
			}
			return len(c.Turns) == 1
		},
		"Host":  func(frontier.Turn) bool { h := s.host("a"); return !h.Leased && h.InFlight == 0 && h.Queued == 1 },
		"Hosts": func(frontier.Turn) bool { h := s.hosts(1)[0]; return !h.Leased && h.InFlight == 0 && h.Queued == 1 },
		"Stats": func(frontier.Turn) bool { st := s.stats(); return st.Leases == 0 && st.InFlight == 0 && st.Queued == 1 },
	}
	for name, noticed := range calls {
		t := s.turn(1)
		s.sleep(length + time.Millisecond)
		want(s, name+" notices", noticed(t), true)
	}
}

// full returns a result that would change everything there is to change.
func (s *stage) full(t frontier.Turn) frontier.Result {
	s.Helper()
	r := fetched(t, t.Tasks[0])
	if len(t.Tasks) > 1 {
		r.Deferred = []frontier.Deferral{{Print: t.Tasks[1].Print, After: time.Hour, Reason: "status 500"}}
	}
	r.Found = slices.Concat(s.links("a/90", "z/0"), s.refused("trap", "a/91"))
	r.Extend = []frontier.Seed{{URL: s.url("z/1"), Tag: "tag", From: "http://a.test/0"}}
	r.Host = &frontier.HostUpdate{Condition: frontier.Parked, Reason: "busy", Pace: time.Minute, Width: 3, Robots: []byte("r"), Memory: []byte("m")}
	r.Wait = time.Hour
	r.Blobs = [][]byte{[]byte("a body")}
	r.Counts = map[string]int64{"octets": 1000}
	return r
}

// unchanged calls f and fails if it changes anything that can be seen.
func (s *stage) unchanged(f func()) {
	s.Helper()
	before := s.picture()
	f()
	if diff := before.Diff(s.picture()); diff != "" {
		s.Fatalf("something has changed: %s", diff)
	}
	if _, err := s.f.Blob(s.Context(), digest("a body")); !errors.Is(err, frontier.ErrNoBlob) {
		s.Fatalf("Blob: %v, want ErrNoBlob", err)
	}
	want(s, "Seen", s.seen("a/90") || s.seen("a/91") || s.seen("z/0"), false)
}

func leaseStale(s *stage) {
	s.add(s.links("a/0", "a/1"))
	t := s.turn(2)
	s.sleep(length + time.Millisecond)
	s.unchanged(func() { s.stale(s.full(t)) })
	want(s, "tasks", names(s.turn(5).Tasks), "a/0 a/1")
}

func leaseFenced(s *stage) {
	s.add(s.links("a/0", "a/1"))
	old := s.turn(2)
	s.sleep(length + time.Millisecond)
	t := s.turn(2)
	want(s, "tasks of the next owner", names(t.Tasks), "a/0 a/1")
	keeps := s.full(old)
	keeps.Keep, keeps.Want = true, 5
	s.unchanged(func() { s.stale(s.full(old)); s.stale(keeps) })
	r := fetched(t, t.Tasks[0])
	r.Found = s.links("a/90", "z/0")
	want(s, "links of the repeat", s.finish(r).Added, frontier.Added{New: 2})
	us := s.drain(0)
	slices.Sort(us)
	if !slices.Equal(us, []string{"a/1", "a/90", "z/0"}) {
		s.Fatalf("fetched %v, want a/1, a/90 and z/0", us)
	}
}

func leaseForeign(s *stage) {
	s.add(s.links("a/0", "b/0"))
	t := s.turn(1)
	for _, token := range []frontier.Token{0, t.Token + 1, t.Token - 1, t.Token ^ 1<<32, ^frontier.Token(0)} {
		r := s.full(t)
		r.Token = token
		s.unchanged(func() { s.stale(r) })
	}
	r := s.full(t) // the right token for another authority
	r.Authority = s.auth("unknown")
	s.unchanged(func() { s.stale(r) })
	s.finish(fetched(t))
}

func leaseEpoch(s *stage) {
	s.add(s.links("a/0", "a/1"))
	t := s.turn(1)
	s.reopen()
	s.unchanged(func() { s.stale(s.full(t)) })
	next := s.turn(1)
	if next.Token>>32 <= t.Token>>32 {
		s.Fatalf("token %x after a reopen, %x before: want a larger epoch", next.Token, t.Token)
	}
	s.unchanged(func() { s.stale(s.full(t)) })
	if s.h.Crash == nil {
		return
	}
	s.crash()
	s.unchanged(func() { s.stale(s.full(next)) })
	if last := s.turn(1); last.Token>>32 <= next.Token>>32 {
		s.Fatalf("token %x after a crash, %x before: want a larger epoch", last.Token, next.Token)
	}
}

func leaseMixed(s *stage) {
	s.add(s.links("a/0", "b/0", "c/0"))
	c := s.claim(3, 1)
	var rs []frontier.Result
	for _, t := range c.Turns {
		rs = append(rs, fetched(t))
	}
	rs[1].Token++
	fs, err := s.f.Finish(s.Context(), rs)
	if err != nil || len(fs) != 3 || fs[0].Err != nil || !errors.Is(fs[1].Err, frontier.ErrStale) || fs[2].Err != nil {
		s.Fatalf("Finish: %+v, error %v; want the second stale", fs, err)
	}
	st := s.stats()
	want(s, "Fetched", st.Outcomes[frontier.Fetched], 2)
	want(s, "Leases", st.Leases, 1)
}

func leaseRepeat(s *stage) {
	s.add(s.links("a/0", "a/1", "a/2"))
	t := s.turn(1)
	r := fetched(t)
	r.Found, r.Counts = s.links("b/0"), map[string]int64{"octets": 5}
	r.Extend = []frontier.Seed{{URL: s.url("z/1"), Tag: "tag", From: "http://a.test/0"}}
	s.finish(r)
	repeat := func() {
		s.Helper()
		if f := s.finish(r); len(f.Tasks) > 0 || f.Added.New > 0 {
			s.Fatalf("the repeat answers %+v", f)
		}
	}
	s.unchanged(repeat)
	s.sync()
	s.unchanged(repeat)
	c := s.claim(2, 1) // the last applied Finish is still r, though the authority is leased again
	want(s, "turns", len(c.Turns), 2)
	s.unchanged(repeat)
	for _, t := range c.Turns {
		s.finish(fetched(t))
	}
	s.unchanged(func() { s.stale(r) })
}

func claimCancelled(s *stage) {
	s.add(s.links("a/0"))
	s.turn(1)
	ctx, cancel := context.WithTimeoutCause(s.Context(), time.Second, errors.New("not this one"))
	defer cancel()
	begin := time.Now()
	c, err := s.f.Claim(ctx, frontier.Want{MaxWait: time.Hour})
	if !errors.Is(err, context.DeadlineExceeded) || len(c.Turns) > 0 || time.Since(begin) != time.Second {
		s.Fatalf("Claim after %v: %+v, error %v", time.Since(begin), c, err)
	}
	want(s, "Leases", s.stats().Leases, 1)
	s.add(s.links("b/0")) // a cancelled call is no poison
	s.turn(1)
}
