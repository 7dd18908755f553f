package frontiertest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"curtsy/frontier"
)

// endRules are about the three states and about waking up.
func endRules() []rule {
	return []rule{
		{name: "end: Drained when nothing is pending and no lease is out", test: endDrained},
		{name: "end: a claim waits while a lease is out, and then sees Drained", test: endRaceDrained},
		{name: "end: a claim waits while a lease is out, and gets the link that it brings", test: endRaceLink},
		{name: "end: a claim waits while a lease without tasks is out", test: endRaceAuthority},
		{name: "end: many workers follow links to the end, each page once, and all see Drained", test: endGraph},
		{name: "end: Waiting when all is later than MaxWait, with the earliest due", test: endWaiting},
		{name: "end: within MaxWait a claim waits", test: endWithin},
		{name: "end: Never when all that is pending is retired or refused", test: endNever},
		{name: "wake: a claim that waits for a later host gets what is added now", test: wakeAdd},
		{name: "wake: a claim that waits for a later host gets what a Finish makes due earlier", test: wakeFinish},
		{name: "wake: every claim that waits is woken at the end", test: wakeAll},
	}
}

func endDrained(s *stage) {
	want(s, "an empty frontier", s.claim(1, 1).State, frontier.Drained)
	s.add(s.refused("trap", "a/9"))
	want(s, "one that has only refused", s.claim(1, 1).State, frontier.Drained)
	s.add(s.links("a/0"))
	want(s, "Stats.State", s.stats().State, frontier.Busy)
	s.finish(fetched(s.turn(1)))
	want(s, "one whose tasks are closed", s.claimWithin(1, 1, time.Hour).State, frontier.Drained)
}

func endRaceDrained(s *stage) {
	s.add(s.links("a/0"))
	t := s.turn(1)
	want(s, "Stats.State", s.stats().State, frontier.Busy)
	answer := s.waiting(frontier.Want{})
	s.finish(fetched(t))
	c, err := answer()
	if err != nil || len(c.Turns) > 0 || c.State != frontier.Drained {
		s.Fatalf("Claim: %+v, error %v; want Drained", c, err)
	}
	want(s, "Stats.State", s.stats().State, frontier.Drained)
}

func endRaceLink(s *stage) {
	s.add(s.links("a/0", "b/0"))
	c := s.claim(2, 1)
	want(s, "turns", len(c.Turns), 2)
	s.finish(fetched(c.Turns[1])) // its host is empty now, and a link for it is on the way
	answer := s.waiting(frontier.Want{})
	r := fetched(c.Turns[0])
	r.Found = []frontier.Candidate{s.links("x/1")[0]}
	u, err := c.Turns[1].Authority.URL("/late")
	if err != nil {
		s.Fatal(err)
	}
	r.Found[0].URL = u
	s.finish(r)
	c2, err := answer()
	if err != nil || len(c2.Turns) != 1 || c2.Turns[0].Tasks[0].URL.String() != u.String() {
		s.Fatalf("Claim: %+v, error %v; want %s", c2, err, u)
	}
}

func endRaceAuthority(s *stage) {
	t, err := s.f.ClaimAuthority(s.Context(), s.auth("a"))
	if err != nil {
		s.Fatal(err)
	}
	answer := s.waiting(frontier.Want{})
	s.finish(result(t))
	if c, err := answer(); err != nil || c.State != frontier.Drained {
		s.Fatalf("Claim: %+v, error %v; want Drained", c, err)
	}
}

// endGraph crawls a binary tree of pages, each on another host than its parent: page n links to 2n+1 and 2n+2, and to
// its parent.
func endGraph(s *stage) {
	const size, workers = 300, 8
	page := func(n int) string { return fmt.Sprintf("h%d/%d", n%7, n) }
	s.add(s.seeds(page(0)))
	var mu sync.Mutex
	visits := map[string]int{}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				c, err := s.f.Claim(s.Context(), frontier.Want{MaxWait: time.Second})
				if err != nil || len(c.Turns) == 0 {
					if err != nil || c.State != frontier.Drained {
						s.Errorf("Claim ends with state %d, error %v; want Drained", c.State, err)
					}
					return
				}
				u := short(c.Turns[0].Tasks[0].URL)
				mu.Lock()
				visits[u]++
				mu.Unlock()
				_, path, _ := strings.Cut(u, "/")
				n, err := strconv.Atoi(path)
				if err != nil {
					s.Errorf("task %s was never added", u)
				}
				time.Sleep(time.Duration(n%5) * time.Millisecond)
				r := fetched(c.Turns[0])
				r.Wait = time.Duration(n%3) * time.Millisecond
				for _, link := range []int{2*n + 1, 2*n + 2, (n - 1) / 2} {
					if link < size {
						r.Found = append(r.Found, s.links(page(link))...)
					}
				}
				if fs, err := s.f.Finish(s.Context(), []frontier.Result{r}); err != nil || fs[0].Err != nil {
					s.Errorf("Finish: %v, %v", fs, err)
				}
			}
		})
	}
	wg.Wait()
	s.sums()
	want(s, "pages visited", len(visits), size)
	want(s, "Fetched", s.stats().Outcomes[frontier.Fetched], size)
}

// parkAll gives the host of every turn a wait.
func (s *stage) parkAll(c frontier.Claimed, waits ...time.Duration) {
	s.Helper()
	for i, t := range c.Turns {
		r := result(t)
		r.Wait = waits[i]
		s.finish(r)
	}
}

func endWaiting(s *stage) {
	s.add(s.links("a/0", "b/0", "c/0"))
	c := s.claim(3, 1)
	s.parkAll(c, 3*time.Hour, time.Hour, 2*time.Hour)
	for _, wait := range []time.Duration{0, time.Second, time.Hour - time.Millisecond} {
		c := s.claimWithin(1, 1, wait)
		want(s, "state", c.State, frontier.Waiting)
		want(s, "due", c.Due, time.Hour)
	}
	st := s.stats()
	want(s, "Stats.State", st.State, frontier.Waiting)
	want(s, "Stats.Due", st.Due, time.Hour)
	s.finish(fetched(s.claimWithin(1, 1, time.Hour).Turns[0]))
	want(s, "due", s.claimWithin(1, 1, time.Minute).Due, time.Hour)
}

func endWithin(s *stage) {
	s.add(s.links("a/0", "b/0"))
	s.parkAll(s.claim(2, 1), 2*time.Second, time.Second)
	begin := time.Now()
	c := s.claimWithin(2, 1, time.Second)
	want(s, "turns", len(c.Turns), 1)
	want(s, "time passed", time.Since(begin), time.Second)
	c = s.claimWithin(2, 1, frontier.Never)
	want(s, "turns", len(c.Turns), 1)
	want(s, "time passed", time.Since(begin), 2*time.Second)
}

func endNever(s *stage) {
	s.add(s.links("a/0", "b/0"))
	c := s.claim(2, 1)
	for i, condition := range []frontier.Condition{frontier.Retired, frontier.Refused} {
		r := result(c.Turns[i])
		r.Host = &frontier.HostUpdate{Condition: condition, Reason: "because"}
		s.finish(r)
	}
	c = s.claimWithin(1, 1, 1000*time.Hour)
	want(s, "state", c.State, frontier.Waiting)
	want(s, "due", c.Due, frontier.Never)
	want(s, "Stats.Due", s.stats().Due, frontier.Never)
	s.add(s.links("a/1", "c/0"))
	want(s, "what others bring", names(s.turn(5).Tasks), "c/0")
}

func wakeAdd(s *stage) {
	s.add(s.links("a/0"))
	s.parkAll(s.claim(1, 1), time.Hour)
	answer := s.waiting(frontier.Want{MaxWait: 2 * time.Hour})
	s.sleep(time.Minute)
	begin := time.Now()
	s.add(s.links("b/0"))
	c, err := answer()
	if err != nil || len(c.Turns) != 1 || names(c.Turns[0].Tasks) != "b/0" {
		s.Fatalf("Claim: %+v, error %v; want b/0", c, err)
	}
	want(s, "time passed", time.Since(begin), 0)
}

func wakeFinish(s *stage) {
	s.add(s.links("a/0", "a/1", "b/0"))
	c := s.claim(2, 1)
	want(s, "turns", len(c.Turns), 2)
	s.parkAll(frontier.Claimed{Turns: c.Turns[1:]}, time.Hour)
	answer := s.waiting(frontier.Want{MaxWait: 2 * time.Hour})
	begin := time.Now()
	r := result(c.Turns[0])
	r.Wait = time.Second
	s.finish(r)
	s.sleep(time.Second)
	c, err := answer()
	if err != nil || len(c.Turns) != 1 || time.Since(begin) != time.Second {
		s.Fatalf("Claim: %+v, error %v after %v; want a turn after a second", c, err, time.Since(begin))
	}
}

func wakeAll(s *stage) {
	s.add(s.links("a/0"))
	t := s.turn(1)
	var answers []func() (frontier.Claimed, error)
	for range 5 {
		answers = append(answers, s.waiting(frontier.Want{MaxWait: time.Hour}))
	}
	s.finish(fetched(t))
	for _, answer := range answers {
		if c, err := answer(); err != nil || c.State != frontier.Drained || len(c.Turns) > 0 {
			s.Fatalf("Claim: %+v, error %v; want Drained", c, err)
		}
	}
}
