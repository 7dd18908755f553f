package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"curtsy/frontier"
)

// leaseRules are about turns, tokens and time.
var leaseRules = []rule{
	{Name: "lease: zero length means 40 minutes", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		Want(s, "length", s.Turn(1).Length, 40*time.Minute)
		s.Blocked(40*time.Minute - time.Millisecond)
		s.Sleep(2 * time.Millisecond)
		s.Turn(1)
	}},
	{Name: "lease: its tasks are pending when it expires, and a claim wakes", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "a/2"))
		t := s.Turn(2)
		Want(s, "length", t.Length, turnLength)
		Want(s, "InFlight", s.Host("a").InFlight, 2)
		begin := time.Now()
		answer := s.Waiting(frontier.Want{Tasks: 10})
		s.Outlast()
		c, err := answer()
		if err != nil || len(c.Turns) != 1 || time.Since(begin) > turnLength+time.Millisecond {
			s.Fatalf("Claim after %v: %+v, error %v", time.Since(begin), c, err)
		}
		next := c.Turns[0]
		Want(s, "tasks after expiry", Names(next.Tasks), "a/0 a/1 a/2")
		Want(s, "attempts", next.Tasks[0].Attempts, 0)
		if next.Token <= t.Token {
			s.Fatalf("token %x after %x: want a larger one", next.Token, t.Token)
		}
		Want(s, "expired leases counted", s.Stats().Counts[frontier.ReasonExpired], 1)
	}},
	{Name: "lease: its end is noticed by whichever call comes first", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		calls := map[string]func(t frontier.Turn) bool{
			"Finish": func(t frontier.Turn) bool {
				fs, err := s.Frontier.Finish(s.Context(), []frontier.Result{Fetched(t)})
				return err == nil && errors.Is(fs[0].Err, frontier.ErrStale)
			},
			"ClaimAuthority": func(t frontier.Turn) bool {
				next, err := s.Frontier.ClaimAuthority(s.Context(), t.Authority)
				if err == nil {
					s.Finish(resultOf(next))
				}
				return err == nil
			},
			"Claim": func(frontier.Turn) bool {
				c := s.Claim(1, 1)
				if len(c.Turns) == 1 {
					s.Finish(resultOf(c.Turns[0]))
				}
				return len(c.Turns) == 1
			},
			"Host":  func(frontier.Turn) bool { h := s.Host("a"); return !h.Leased && h.InFlight == 0 && h.Queued == 1 },
			"Hosts": func(frontier.Turn) bool { h := s.Hosts(1)[0]; return !h.Leased && h.InFlight == 0 && h.Queued == 1 },
			"Stats": func(frontier.Turn) bool { st := s.Stats(); return st.Leases == 0 && st.InFlight == 0 && st.Queued == 1 },
		}
		for name, noticed := range calls {
			t := s.Turn(1)
			s.Outlast()
			Want(s, name+" notices", noticed(t), true)
		}
	}},
	{Name: "lease: Finish after expiry is stale and changes nothing", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1"))
		t := s.Turn(2)
		s.Outlast()
		unchanged(s, func() { s.Stale(FullResult(s, t)) })
		Want(s, "tasks", Names(s.Turn(5).Tasks), "a/0 a/1")
	}},
	{Name: "lease: a stale Finish is harmless to the next owner, whose repeat finds the links", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1"))
		old := s.Turn(2)
		s.Outlast()
		t := s.Turn(2)
		Want(s, "tasks of the next owner", Names(t.Tasks), "a/0 a/1")
		keeps := FullResult(s, old)
		keeps.Keep, keeps.Want = true, 5
		unchanged(s, func() { s.Stale(FullResult(s, old)); s.Stale(keeps) })
		Want(s, "links of the repeat", s.end(t, frontier.Result{Done: done(t.Tasks[0]), Found: s.Links("a/90", "z/0")}).Added, frontier.Added{New: 2})
		us := s.Drain(0)
		slices.Sort(us)
		if !slices.Equal(us, []string{"a/1", "a/90", "z/0"}) {
			s.Fatalf("fetched %v, want a/1, a/90 and z/0", us)
		}
	}},
	{Name: "lease: a token that was never given is stale", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0"))
		t := s.Turn(1)
		for _, token := range []frontier.Token{0, t.Token + 1, t.Token - 1, t.Token ^ 1<<32, ^frontier.Token(0)} {
			r := FullResult(s, t)
			r.Token = token
			unchanged(s, func() { s.Stale(r) })
		}
		r := FullResult(s, t) // the right token for another authority
		r.Authority = s.Authority("unknown")
		unchanged(s, func() { s.Stale(r) })
		s.Finish(Fetched(t))
	}},
	{Name: "lease: the tokens of later openings are larger, and fence off the earlier", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1"))
		t := s.Turn(1)
		s.Reopen()
		unchanged(s, func() { s.Stale(FullResult(s, t)) })
		next := s.Turn(1)
		if next.Token>>32 <= t.Token>>32 {
			s.Fatalf("token %x after a reopen, %x before: want a larger epoch", next.Token, t.Token)
		}
		unchanged(s, func() { s.Stale(FullResult(s, t)) })
		if s.Harness.Crash == nil {
			return
		}
		s.Crash()
		unchanged(s, func() { s.Stale(FullResult(s, next)) })
		if last := s.Turn(1); last.Token>>32 <= next.Token>>32 {
			s.Fatalf("token %x after a crash, %x before: want a larger epoch", last.Token, next.Token)
		}
	}},
	{Name: "lease: a stale result does not hinder the others of its call", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0", "c/0"))
		c := s.Claim(3, 1)
		var rs []frontier.Result
		for _, t := range c.Turns {
			rs = append(rs, Fetched(t))
		}
		rs[1].Token++
		fs, err := s.Frontier.Finish(s.Context(), rs)
		if err != nil || len(fs) != 3 || fs[0].Err != nil || !errors.Is(fs[1].Err, frontier.ErrStale) || fs[2].Err != nil {
			s.Fatalf("Finish: %+v, error %v; want the second stale", fs, err)
		}
		st := s.Stats()
		Want(s, "Fetched", st.Outcomes[frontier.Fetched], 2)
		Want(s, "Leases", st.Leases, 1)
	}},
	{Name: "lease: the repeat of the last applied Finish is nil and changes nothing", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "a/2"))
		t := s.Turn(1)
		r := Fetched(t)
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
		Want(s, "turns", len(c.Turns), 2)
		unchanged(s, repeat)
		for _, t := range c.Turns {
			s.Finish(Fetched(t))
		}
		unchanged(s, func() { s.Stale(r) })
	}},
	{Name: "claim: ends when its context does", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.Turn(1)
		ctx, cancel := context.WithTimeoutCause(s.Context(), time.Second, errors.New("not this one"))
		defer cancel()
		begin := time.Now()
		c, err := s.Frontier.Claim(ctx, frontier.Want{MaxWait: time.Hour})
		if !errors.Is(err, context.DeadlineExceeded) || len(c.Turns) > 0 || time.Since(begin) != time.Second {
			s.Fatalf("Claim after %v: %+v, error %v", time.Since(begin), c, err)
		}
		Want(s, "Leases", s.Stats().Leases, 1)
		s.Add(s.Links("b/0")) // a cancelled call is no poison
		s.Turn(1)
	}},
}

// unchanged calls f and fails if it changes anything that can be seen.
func unchanged(s *Stage, f func()) {
	s.Helper()
	before := s.Picture()
	f()
	if diff := before.Diff(s.Picture()); diff != "" {
		s.Fatalf("something has changed: %s", diff)
	}
	if _, err := s.Frontier.Blob(s.Context(), digest("a body")); !errors.Is(err, frontier.ErrNoBlob) {
		s.Fatalf("Blob: %v, want ErrNoBlob", err)
	}
	Want(s, "Seen", s.Seen("a/90") || s.Seen("a/91") || s.Seen("z/0"), false)
}

// keepRules are about turns that are extended.
var keepRules = []rule{
	{Name: "keep: more tasks under the same lease, the others stay in flight", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links(Pages("a", 6)...))
		t := s.Turn(2)
		f := s.end(t, frontier.Result{Done: done(t.Tasks[1]), Keep: true, Want: 2, Found: s.Links("a/6", "b/0")})
		Want(s, "more tasks", Names(f.Tasks), "a/2 a/3")
		Want(s, "links", f.Added, frontier.Added{New: 2})
		Want(s, "InFlight", s.Host("a").InFlight, 3)
		f = s.end(t, frontier.Result{
			Done: []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Gone}}, Deferred: []frontier.Deferral{{Print: f.Tasks[1].Print, After: time.Minute}}, Keep: true, Want: 100,
		})
		Want(s, "all the others", Names(f.Tasks), "a/4 a/5 a/6")
		h := s.Host("a")
		Want(s, "InFlight, Deferred", [2]int64{h.InFlight, h.Deferred}, [2]int64{4, 1})
		Want(s, "none wanted", Names(s.end(t, frontier.Result{Keep: true}).Tasks), "")
		s.Finish(Fetched(t, f.Tasks[0]))
		h = s.Host("a")
		Want(s, "leased", h.Leased, false)
		Want(s, "outcomes", h.Outcomes, frontier.Outcomes{frontier.Fetched: 2, frontier.Gone: 1})
		s.Sleep(time.Second)
		c := s.Claim(2, 10)
		Want(s, "turns", len(c.Turns), 2)
		for _, t := range c.Turns {
			if t.Authority == s.Authority("a") {
				Want(s, "the rest", Names(t.Tasks), "a/2 a/5 a/6")
			}
		}
	}},
	{Name: "keep: an empty queue gives no task, links found later do", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		t := s.Turn(3)
		Want(s, "tasks", Names(s.end(t, frontier.Result{Done: done(t.Tasks...), Keep: true, Want: 3}).Tasks), "")
		Want(s, "Leases", s.Stats().Leases, 1)
		s.Add(s.Links("a/1"))
		Want(s, "tasks", Names(s.end(t, frontier.Result{Keep: true, Want: 3}).Tasks), "a/1")
		s.Finish(resultOf(t))
		Want(s, "what is left", strings.Join(s.Drain(0), " "), "a/1")
	}},
	{Name: "keep: the lease still expires, and is then stale", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1"))
		t := s.Turn(1)
		more := s.end(t, frontier.Result{Done: done(t.Tasks...), Keep: true, Want: 1}).Tasks
		Want(s, "more", Names(more), "a/1")
		s.Outlast()
		r := Fetched(t, more...)
		unchanged(s, func() { s.Stale(r) }) // not the repeat of a Finish, although the token had one
		Want(s, "what is left", strings.Join(s.Drain(0), " "), "a/1")
	}},
	{Name: "keep: what an earlier Finish of the turn has settled is not settled twice", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "a/2"))
		t := s.Turn(3)
		r := Fetched(t, t.Tasks[0])
		r.Deferred = []frontier.Deferral{{Print: t.Tasks[1].Print, After: time.Minute}}
		r.Keep = true
		for range 2 { // the second is a repeat, after an answer that was lost
			s.Finish(r)
			h := s.Host("a")
			Want(s, "Fetched", h.Outcomes[frontier.Fetched], 1)
			Want(s, "InFlight, Deferred", [2]int64{h.InFlight, h.Deferred}, [2]int64{1, 1})
		}
		s.Finish(Fetched(t, t.Tasks[2]))
		s.Sleep(time.Minute)
		x := s.Turn(3).Tasks
		Want(s, "what is left", Names(x), "a/1")
		Want(s, "attempts", x[0].Attempts, 1)
	}},
	{Name: "width: kept for later leases, zero means one", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		for _, w := range []struct{ set, given int }{{4, 1}, {0, 4}, {1, 1}, {2, 1}, {0, 2}} {
			t := s.Turn(1)
			Want(s, "Width", t.Width, w.given)
			s.end(t, frontier.Result{Host: &frontier.HostUpdate{Width: w.set}})
			if w.set == 2 {
				s.Reopen()
			}
		}
	}},
}

// authorityRules are about ClaimAuthority.
var authorityRules = []rule{
	{Name: "claim authority: unknown or idle it is leased, with no tasks", Options: leased, Test: func(s *Stage) {
		a := s.Authority("a")
		t, err := s.Frontier.ClaimAuthority(s.Context(), a)
		if err != nil || t.Authority != a || t.Host.Authority != a || len(t.Tasks) != 0 || t.Token == 0 || t.Length != turnLength || t.Width != 1 {
			s.Fatalf("ClaimAuthority: %+v, error %v", t, err)
		}
		s.end(t, frontier.Result{Host: &frontier.HostUpdate{Robots: []byte("hop 1")}, Found: s.Links("b/0")})
		Want(s, "robots state", string(s.Host("a").Robots), "hop 1")
		t, err = s.Frontier.ClaimAuthority(s.Context(), a)
		if err != nil || string(t.Host.Robots) != "hop 1" {
			s.Fatalf("ClaimAuthority of an idle one: %+v, error %v", t, err)
		}
		s.Finish(resultOf(t))
		s.Reopen()
		Want(s, "robots state after a reopen", string(s.Host("a").Robots), "hop 1")
	}},
	{Name: "claim authority: not due while leased, waiting, parked, retired or refused", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		t := s.Turn(1)
		s.NotDue("leased", "a")
		s.end(t, frontier.Result{Wait: time.Minute})
		s.NotDue("waiting", "a")
		s.Sleep(time.Minute)
		for condition, why := range map[frontier.Condition]string{
			frontier.Parked: "parked", frontier.Retired: "retired", frontier.Refused: "refused",
		} {
			t := s.Alone(s.Authority(why))
			s.end(t, frontier.Result{Host: &frontier.HostUpdate{Condition: condition, Reason: "because"}, Wait: time.Hour})
			s.NotDue(why, why)
		}
		s.Sleep(time.Hour)
		s.NotDue("retired", "retired")
		s.NotDue("refused", "refused")
		s.Alone(s.Authority("parked"))
	}},
	{Name: "claim authority: shares lease and pace with the queue of the host", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		t := s.Alone(s.Authority("a"))
		Want(s, "Queued", s.Host("a").Queued, 1)
		answer := s.Waiting(frontier.Want{})
		s.end(t, frontier.Result{Wait: time.Minute})
		c, err := answer()
		if err != nil || c.State != frontier.Waiting || c.Due != time.Minute {
			s.Fatalf("Claim: %+v, error %v; want Waiting for a minute", c, err)
		}
		s.Sleep(time.Minute)
		Want(s, "task", Names(s.Turn(1).Tasks), "a/0")
		s.NotDue("leased", "a")
	}},
}

// endRules are about the three states and about waking up.
var endRules = []rule{
	{Name: "end: Drained when nothing is pending and no lease is out", Test: func(s *Stage) {
		Want(s, "an empty frontier", s.Claim(1, 1).State, frontier.Drained)
		s.Add(s.Refused("trap", "a/9"))
		Want(s, "one that has only refused", s.Claim(1, 1).State, frontier.Drained)
		s.Add(s.Links("a/0"))
		Want(s, "Stats.State", s.Stats().State, frontier.Busy)
		s.Finish(Fetched(s.Turn(1)))
		Want(s, "one whose tasks are closed", s.ClaimWithin(1, 1, time.Hour).State, frontier.Drained)
	}},
	{Name: "end: a claim waits while a lease is out, and gets the link that it brings", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0"))
		c := s.Claim(2, 1)
		Want(s, "turns", len(c.Turns), 2)
		s.Finish(Fetched(c.Turns[1])) // its host is empty now, and a link for it is on the way
		answer := s.Waiting(frontier.Want{})
		r := Fetched(c.Turns[0])
		r.Found = []frontier.Candidate{s.Links("x/1")[0]}
		u, err := c.Turns[1].Authority.URL("/late")
		if err != nil {
			s.Fatal(err)
		}
		r.Found[0].URL = u
		s.Finish(r)
		c2, err := answer()
		if err != nil || len(c2.Turns) != 1 || c2.Turns[0].Tasks[0].URL.String() != u.String() {
			s.Fatalf("Claim: %+v, error %v; want %s", c2, err, u)
		}
	}},
	// Crawls a binary tree of pages, each on another host than its parent: page n links to 2n+1 and 2n+2, and to its parent.
	{Name: "end: many workers follow links to the end, each page once, and all see Drained", Test: func(s *Stage) {
		const size, workers = 300, 8
		page := func(n int) string { return fmt.Sprintf("h%d/%d", n%7, n) }
		s.Add(s.Seeds(page(0)))
		var mu sync.Mutex
		visits := map[string]int{}
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for {
					c, err := s.Frontier.Claim(s.Context(), frontier.Want{MaxWait: time.Second})
					if err != nil || len(c.Turns) == 0 {
						if err != nil || c.State != frontier.Drained {
							s.Errorf("Claim ends with state %d, error %v; want Drained", c.State, err)
						}
						return
					}
					u := Short(c.Turns[0].Tasks[0].URL)
					mu.Lock()
					visits[u]++
					mu.Unlock()
					_, path, _ := strings.Cut(u, "/")
					n, err := strconv.Atoi(path)
					if err != nil {
						s.Errorf("task %s was never added", u)
					}
					time.Sleep(time.Duration(n%5) * time.Millisecond)
					r := Fetched(c.Turns[0])
					r.Wait = time.Duration(n%3) * time.Millisecond
					for _, link := range []int{2*n + 1, 2*n + 2, (n - 1) / 2} {
						if link < size {
							r.Found = append(r.Found, s.Links(page(link))...)
						}
					}
					if fs, err := s.Frontier.Finish(s.Context(), []frontier.Result{r}); err != nil || fs[0].Err != nil {
						s.Errorf("Finish: %v, %v", fs, err)
					}
				}
			})
		}
		wg.Wait()
		s.CheckSums()
		Want(s, "pages visited", len(visits), size)
		Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], size)
	}},
	{Name: "end: Waiting when all is later than MaxWait, with the earliest due", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0", "c/0"))
		c := s.Claim(3, 1)
		parkAll(s, c, 3*time.Hour, time.Hour, 2*time.Hour)
		for _, wait := range []time.Duration{0, time.Second, time.Hour - time.Millisecond} {
			c := s.ClaimWithin(1, 1, wait)
			Want(s, "state", c.State, frontier.Waiting)
			Want(s, "due", c.Due, time.Hour)
		}
		st := s.Stats()
		Want(s, "Stats.State", st.State, frontier.Waiting)
		Want(s, "Stats.Due", st.Due, time.Hour)
		s.Finish(Fetched(s.ClaimWithin(1, 1, time.Hour).Turns[0]))
		Want(s, "due", s.ClaimWithin(1, 1, time.Minute).Due, time.Hour)
	}},
	{Name: "end: within MaxWait a claim waits", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0"))
		parkAll(s, s.Claim(2, 1), 2*time.Second, time.Second)
		begin := time.Now()
		c := s.ClaimWithin(2, 1, time.Second)
		Want(s, "turns", len(c.Turns), 1)
		Want(s, "time passed", time.Since(begin), time.Second)
		c = s.ClaimWithin(2, 1, frontier.Never)
		Want(s, "turns", len(c.Turns), 1)
		Want(s, "time passed", time.Since(begin), 2*time.Second)
	}},
	{Name: "end: Never when all that is pending is retired or refused", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0"))
		c := s.Claim(2, 1)
		for i, condition := range []frontier.Condition{frontier.Retired, frontier.Refused} {
			s.end(c.Turns[i], frontier.Result{Host: &frontier.HostUpdate{Condition: condition, Reason: "because"}})
		}
		c = s.ClaimWithin(1, 1, 1000*time.Hour)
		Want(s, "state", c.State, frontier.Waiting)
		Want(s, "due", c.Due, frontier.Never)
		Want(s, "Stats.Due", s.Stats().Due, frontier.Never)
		Want(s, "Retired, Refused", [2]int64{s.Stats().Retired, s.Stats().Refused}, [2]int64{1, 1})
		s.Add(s.Links("a/1", "c/0"))
		Want(s, "what others bring", Names(s.Turn(5).Tasks), "c/0")
	}},
	{Name: "wake: a claim that waits for a later host gets what is added now", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		parkAll(s, s.Claim(1, 1), time.Hour)
		answer := s.Waiting(frontier.Want{MaxWait: 2 * time.Hour})
		s.Sleep(time.Minute)
		begin := time.Now()
		s.Add(s.Links("b/0"))
		s.Gives(answer, "b/0")
		Want(s, "time passed", time.Since(begin), 0)
	}},
	{Name: "wake: a claim that waits for a later host gets what a Finish makes due earlier", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "b/0"))
		c := s.Claim(2, 1)
		Want(s, "turns", len(c.Turns), 2)
		parkAll(s, frontier.Claimed{Turns: c.Turns[1:]}, time.Hour)
		answer := s.Waiting(frontier.Want{MaxWait: 2 * time.Hour})
		begin := time.Now()
		s.end(c.Turns[0], frontier.Result{Wait: time.Second})
		s.Sleep(time.Second)
		c, err := answer()
		if err != nil || len(c.Turns) != 1 || time.Since(begin) != time.Second {
			s.Fatalf("Claim: %+v, error %v after %v; want a turn after a second", c, err, time.Since(begin))
		}
	}},
	{Name: "wake: every claim that waits is woken at the end", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		t := s.Turn(1)
		var answers []func() (frontier.Claimed, error)
		for range 5 {
			answers = append(answers, s.Waiting(frontier.Want{MaxWait: time.Hour}))
		}
		s.Finish(Fetched(t))
		for _, answer := range answers {
			s.Ends(answer, frontier.Drained)
		}
	}},
}
