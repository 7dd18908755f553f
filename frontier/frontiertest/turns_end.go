package frontiertest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// endRules are about the three states and about waking up.
func endRules() []stage.Rule {
	return []stage.Rule{
		{Name: "end: Drained when nothing is pending and no lease is out", Test: endDrained},
		{Name: "end: a claim waits while a lease is out, and then sees Drained", Test: endRaceDrained},
		{Name: "end: a claim waits while a lease is out, and gets the link that it brings", Test: endRaceLink},
		{Name: "end: a claim waits while a lease without tasks is out", Test: endRaceAuthority},
		{Name: "end: many workers follow links to the end, each page once, and all see Drained", Test: endGraph},
		{Name: "end: Waiting when all is later than MaxWait, with the earliest due", Test: endWaiting},
		{Name: "end: within MaxWait a claim waits", Test: endWithin},
		{Name: "end: Never when all that is pending is retired or refused", Test: endNever},
		{Name: "wake: a claim that waits for a later host gets what is added now", Test: wakeAdd},
		{Name: "wake: a claim that waits for a later host gets what a Finish makes due earlier", Test: wakeFinish},
		{Name: "wake: every claim that waits is woken at the end", Test: wakeAll},
	}
}

func endDrained(s *stage.Stage) {
	stage.Want(s, "an empty frontier", s.Claim(1, 1).State, frontier.Drained)
	s.Add(s.Refused("trap", "a/9"))
	stage.Want(s, "one that has only refused", s.Claim(1, 1).State, frontier.Drained)
	s.Add(s.Links("a/0"))
	stage.Want(s, "Stats.State", s.Stats().State, frontier.Busy)
	s.Finish(stage.Fetched(s.Turn(1)))
	stage.Want(s, "one whose tasks are closed", s.ClaimWithin(1, 1, time.Hour).State, frontier.Drained)
}

func endRaceDrained(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	t := s.Turn(1)
	stage.Want(s, "Stats.State", s.Stats().State, frontier.Busy)
	answer := s.Waiting(frontier.Want{})
	s.Finish(stage.Fetched(t))
	c, err := answer()
	if err != nil || len(c.Turns) > 0 || c.State != frontier.Drained {
		s.Fatalf("Claim: %+v, error %v; want Drained", c, err)
	}
	stage.Want(s, "Stats.State", s.Stats().State, frontier.Drained)
}

func endRaceLink(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0"))
	c := s.Claim(2, 1)
	stage.Want(s, "turns", len(c.Turns), 2)
	s.Finish(stage.Fetched(c.Turns[1])) // its host is empty now, and a link for it is on the way
	answer := s.Waiting(frontier.Want{})
	r := stage.Fetched(c.Turns[0])
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
}

func endRaceAuthority(s *stage.Stage) {
	t, err := s.Frontier.ClaimAuthority(s.Context(), s.Authority("a"))
	if err != nil {
		s.Fatal(err)
	}
	answer := s.Waiting(frontier.Want{})
	s.Finish(stage.Result(t))
	if c, err := answer(); err != nil || c.State != frontier.Drained {
		s.Fatalf("Claim: %+v, error %v; want Drained", c, err)
	}
}

// endGraph crawls a binary tree of pages, each on another host than its parent: page n links to 2n+1 and 2n+2, and to
// its parent.
func endGraph(s *stage.Stage) {
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
				u := stage.Short(c.Turns[0].Tasks[0].URL)
				mu.Lock()
				visits[u]++
				mu.Unlock()
				_, path, _ := strings.Cut(u, "/")
				n, err := strconv.Atoi(path)
				if err != nil {
					s.Errorf("task %s was never added", u)
				}
				time.Sleep(time.Duration(n%5) * time.Millisecond)
				r := stage.Fetched(c.Turns[0])
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
	stage.Want(s, "pages visited", len(visits), size)
	stage.Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], size)
}

func endWaiting(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0", "c/0"))
	c := s.Claim(3, 1)
	stage.ParkAll(s, c, 3*time.Hour, time.Hour, 2*time.Hour)
	for _, wait := range []time.Duration{0, time.Second, time.Hour - time.Millisecond} {
		c := s.ClaimWithin(1, 1, wait)
		stage.Want(s, "state", c.State, frontier.Waiting)
		stage.Want(s, "due", c.Due, time.Hour)
	}
	st := s.Stats()
	stage.Want(s, "Stats.State", st.State, frontier.Waiting)
	stage.Want(s, "Stats.Due", st.Due, time.Hour)
	s.Finish(stage.Fetched(s.ClaimWithin(1, 1, time.Hour).Turns[0]))
	stage.Want(s, "due", s.ClaimWithin(1, 1, time.Minute).Due, time.Hour)
}

func endWithin(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0"))
	stage.ParkAll(s, s.Claim(2, 1), 2*time.Second, time.Second)
	begin := time.Now()
	c := s.ClaimWithin(2, 1, time.Second)
	stage.Want(s, "turns", len(c.Turns), 1)
	stage.Want(s, "time passed", time.Since(begin), time.Second)
	c = s.ClaimWithin(2, 1, frontier.Never)
	stage.Want(s, "turns", len(c.Turns), 1)
	stage.Want(s, "time passed", time.Since(begin), 2*time.Second)
}

func endNever(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0"))
	c := s.Claim(2, 1)
	for i, condition := range []frontier.Condition{frontier.Retired, frontier.Refused} {
		r := stage.Result(c.Turns[i])
		r.Host = &frontier.HostUpdate{Condition: condition, Reason: "because"}
		s.Finish(r)
	}
	c = s.ClaimWithin(1, 1, 1000*time.Hour)
	stage.Want(s, "state", c.State, frontier.Waiting)
	stage.Want(s, "due", c.Due, frontier.Never)
	stage.Want(s, "Stats.Due", s.Stats().Due, frontier.Never)
	s.Add(s.Links("a/1", "c/0"))
	stage.Want(s, "what others bring", stage.Names(s.Turn(5).Tasks), "c/0")
}

func wakeAdd(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	stage.ParkAll(s, s.Claim(1, 1), time.Hour)
	answer := s.Waiting(frontier.Want{MaxWait: 2 * time.Hour})
	s.Sleep(time.Minute)
	begin := time.Now()
	s.Add(s.Links("b/0"))
	c, err := answer()
	if err != nil || len(c.Turns) != 1 || stage.Names(c.Turns[0].Tasks) != "b/0" {
		s.Fatalf("Claim: %+v, error %v; want b/0", c, err)
	}
	stage.Want(s, "time passed", time.Since(begin), 0)
}

func wakeFinish(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "b/0"))
	c := s.Claim(2, 1)
	stage.Want(s, "turns", len(c.Turns), 2)
	stage.ParkAll(s, frontier.Claimed{Turns: c.Turns[1:]}, time.Hour)
	answer := s.Waiting(frontier.Want{MaxWait: 2 * time.Hour})
	begin := time.Now()
	r := stage.Result(c.Turns[0])
	r.Wait = time.Second
	s.Finish(r)
	s.Sleep(time.Second)
	c, err := answer()
	if err != nil || len(c.Turns) != 1 || time.Since(begin) != time.Second {
		s.Fatalf("Claim: %+v, error %v after %v; want a turn after a second", c, err, time.Since(begin))
	}
}

func wakeAll(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	t := s.Turn(1)
	var answers []func() (frontier.Claimed, error)
	for range 5 {
		answers = append(answers, s.Waiting(frontier.Want{MaxWait: time.Hour}))
	}
	s.Finish(stage.Fetched(t))
	for _, answer := range answers {
		if c, err := answer(); err != nil || c.State != frontier.Drained || len(c.Turns) > 0 {
			s.Fatalf("Claim: %+v, error %v; want Drained", c, err)
		}
	}
}
