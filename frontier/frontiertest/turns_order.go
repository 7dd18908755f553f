package frontiertest

import (
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// orderRules are about which task comes next.
func orderRules() []stage.Rule {
	return []stage.Rule{
		{Name: "order: a host's tasks come in the order in which they were accepted", Test: orderFIFO},
		{Name: "order: the order survives a close", Test: orderSurvives},
		{Name: "order: what a turn does not settle is at the head again, in its order, no attempt counted", Test: orderHead},
		{Name: "order: up to Tasks tasks and Hosts hosts; zero means one", Test: orderWant},
		{Name: "order: hosts that are due take turns, however long their queues", Test: orderRotation},
		{Name: "order: one owner per authority under many claimers, every task once", Test: orderOneOwner},
		{Name: "wait: counted from Finish", Test: waitFromFinish},
		{Name: "wait: zero starts no pace", Test: waitZero},
		{Name: "wait: a shorter one does not shorten one that is stored", Test: waitNotShortened},
		{Name: "wait: other hosts go on meanwhile", Test: waitOthers},
	}
}

func orderFIFO(s *stage.Stage) {
	s.Add(s.Links("a/5", "a/1", "b/1", "a/3"))
	t := s.Turn(1)
	stage.Want(s, "the first task", stage.Names(t.Tasks), "a/5")
	r := stage.Fetched(t)
	r.Found = s.Links("a/0", "b/0", "a/9")
	s.Finish(r)
	s.Add(s.Links("a/2"))
	var as []string
	for _, u := range s.Drain(0) {
		if strings.HasPrefix(u, "a/") {
			as = append(as, u)
		}
	}
	stage.Want(s, "breadth first", strings.Join(as, " "), "a/1 a/3 a/0 a/9 a/2")
}

func orderSurvives(s *stage.Stage) {
	us := stage.Pages("a", 300)
	slices.Reverse(us)
	for part := range slices.Chunk(us, 70) {
		s.Add(s.Links(part...))
		s.Reopen()
	}
	t := s.Turn(100)
	stage.Want(s, "a hundred tasks", stage.Names(t.Tasks), strings.Join(us[:100], " "))
	s.Finish(stage.Fetched(t, t.Tasks[:50]...))
	s.Reopen()
	t = s.Turn(1000)
	stage.Want(s, "the others", stage.Names(t.Tasks), strings.Join(us[50:], " "))
	s.Finish(stage.Fetched(t))
	stage.Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
}

func orderHead(s *stage.Stage) {
	s.Add(s.Links(stage.Pages("a", 7)...))
	t := s.Turn(5)
	stage.Want(s, "the first turn", stage.Names(t.Tasks), "a/0 a/1 a/2 a/3 a/4")
	s.Finish(stage.Fetched(t, t.Tasks[1], t.Tasks[3]))
	t = s.Turn(2)
	stage.Want(s, "the second turn", stage.Names(t.Tasks), "a/0 a/2")
	s.Finish(stage.Result(t))
	t = s.Turn(10)
	stage.Want(s, "the third turn", stage.Names(t.Tasks), "a/0 a/2 a/4 a/5 a/6")
	for _, x := range t.Tasks {
		stage.Want(s, "attempts of "+stage.Short(x.URL), x.Attempts, 0)
		stage.Want(s, "reason of "+stage.Short(x.URL), x.Reason, "")
	}
	stage.Want(s, "InFlight", s.Stats().InFlight, 5)
	s.Finish(stage.Result(t))
	stage.Want(s, "Queued", s.Stats().Queued, 5)
}

func orderWant(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "a/2", "b/0", "b/1", "c/0"))
	c := s.Claim(0, 0)
	stage.Want(s, "turns", len(c.Turns), 1)
	stage.Want(s, "tasks", len(c.Turns[0].Tasks), 1)
	s.Finish(stage.Result(c.Turns[0]))
	c = s.Claim(2, 2)
	stage.Want(s, "turns", len(c.Turns), 2)
	rest := s.Claim(5, 2)
	stage.Want(s, "turns", len(rest.Turns), 1)
	var sizes []int
	for _, t := range append(c.Turns, rest.Turns...) {
		sizes = append(sizes, len(t.Tasks))
		for _, x := range t.Tasks {
			stage.Want(s, "the authority of a task", x.URL.Authority(), t.Authority)
		}
	}
	slices.Sort(sizes)
	if !slices.Equal(sizes, []int{1, 2, 2}) {
		s.Fatalf("tasks of the turns: %v, want 1, 2 and 2", sizes)
	}
}

func orderRotation(s *stage.Stage) {
	hosts := []string{"big", "a", "b", "c", "d"}
	s.Add(s.Links(stage.Pages("big", 100)...))
	for _, h := range hosts[1:] {
		s.Add(s.Links(stage.Pages(h, 4)...))
	}
	var last []string
	for range 4 * len(hosts) {
		t := s.Turn(1)
		h := t.Authority.Host()
		if n := min(len(last), len(hosts)-1); slices.Contains(last[len(last)-n:], h) {
			s.Fatalf("%s has a turn again after %v: another host was due for longer", h, last[len(last)-n:])
		}
		last = append(last, h)
		s.Sleep(10 * time.Millisecond)
		s.Finish(stage.Fetched(t))
	}
	stage.Want(s, "what is left to big", s.Host("big").Queued, 96)
	stage.Want(s, "what is left in all", s.Stats().Queued, 96)
}

func orderOneOwner(s *stage.Stage) {
	const hosts, each, workers = 7, 30, 16
	for i := range hosts {
		s.Add(s.Links(stage.Pages(string(rune('a'+i)), each)...))
	}
	type answer struct {
		t   frontier.Turn
		err error
	}
	begun, ended := make(chan answer), make(chan frontier.Turn)
	for w := range workers {
		go func() {
			for n := 0; ; n++ {
				c, err := s.Frontier.Claim(s.Context(), frontier.Want{Tasks: 3, MaxWait: time.Hour})
				if err != nil || len(c.Turns) != 1 {
					begun <- answer{err: err}
					return
				}
				begun <- answer{t: c.Turns[0]}
				time.Sleep(time.Duration((w*7+n*3)%11) * time.Millisecond)
				ended <- c.Turns[0] // before Finish: from then on another may own it
				r := stage.Fetched(c.Turns[0])
				r.Wait = time.Duration(n%3) * 5 * time.Millisecond
				if fs, err := s.Frontier.Finish(s.Context(), []frontier.Result{r}); err != nil || fs[0].Err != nil {
					s.Errorf("Finish: %v, %v", fs, err)
				}
			}
		}()
	}
	owned, tokens, tasks := map[string]bool{}, map[frontier.Token]bool{}, map[string]int{}
	for working := workers; working > 0; {
		select {
		case a := <-begun:
			if len(a.t.Tasks) == 0 {
				working--
				if a.err != nil {
					s.Errorf("Claim: %v", a.err)
				}
				continue
			}
			if h := a.t.Authority.String(); owned[h] || tokens[a.t.Token] || a.t.Token == 0 {
				s.Errorf("%s, token %x: owned already %v, token used already %v", h, a.t.Token, owned[h], tokens[a.t.Token])
			}
			owned[a.t.Authority.String()], tokens[a.t.Token] = true, true
			for _, x := range a.t.Tasks {
				tasks[stage.Short(x.URL)]++
			}
		case t := <-ended:
			owned[t.Authority.String()] = false
		}
	}
	synctest.Wait()
	stage.Want(s, "tasks", len(tasks), hosts*each)
	for u, n := range tasks {
		stage.Want(s, "times that "+u+" was claimed", n, 1)
	}
	stage.Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], hosts*each)
}

func waitFromFinish(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	t := s.Turn(1)
	s.Sleep(700 * time.Millisecond)
	r := stage.Fetched(t)
	r.Wait = time.Second
	s.Finish(r)
	begin := time.Now()
	c := s.Claim(1, 1)
	stage.Want(s, "state", c.State, frontier.Waiting)
	stage.Want(s, "due", c.Due, time.Second)
	stage.Want(s, "Host.Wait", s.Host("a").Wait, time.Second)
	s.Blocked(999 * time.Millisecond)
	c = s.ClaimWithin(1, 1, time.Second)
	stage.Want(s, "turns", len(c.Turns), 1)
	stage.Want(s, "pause", time.Since(begin), time.Second)
	stage.Want(s, "Host.Wait of the turn", c.Turns[0].Host.Wait, 0)
}

func waitZero(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	begin := time.Now()
	t := s.Turn(1)
	r := stage.Result(t)
	r.Host = &frontier.HostUpdate{Pace: time.Hour}
	r.Done = []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Disallowed}}
	s.Finish(r)
	t = s.Turn(1)
	r = stage.Result(t)
	r.Wait = -time.Hour
	s.Finish(r)
	s.Turn(1)
	stage.Want(s, "time passed", time.Since(begin), 0)
}

func waitNotShortened(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	t := s.Turn(1)
	r := stage.Fetched(t)
	r.Wait, r.Keep = time.Minute, true
	s.Finish(r)
	r = stage.Result(t)
	r.Wait = time.Second
	s.Finish(r)
	stage.Want(s, "due", s.Claim(1, 1).Due, time.Minute)
}

func waitOthers(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "b/0", "b/1", "b/2"))
	for i := range 4 {
		t := s.Turn(1)
		r := stage.Fetched(t)
		if t.Authority == s.Authority("a") {
			r.Wait = time.Hour
		}
		s.Finish(r)
		stage.Want(s, "tasks left", s.Stats().Queued, int64(4-i))
	}
	c := s.Claim(1, 1)
	stage.Want(s, "state", c.State, frontier.Waiting)
	stage.Want(s, "due", c.Due, time.Hour)
}
