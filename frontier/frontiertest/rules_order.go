package frontiertest

import (
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"curtsy/frontier"
)

// orderRules are about which task comes next.
func orderRules() []rule {
	return []rule{
		{name: "order: a host's tasks come in the order in which they were accepted", test: orderFIFO},
		{name: "order: the order survives a close", test: orderSurvives},
		{name: "order: what a turn does not settle is at the head again, in its order, no attempt counted", test: orderHead},
		{name: "order: up to Tasks tasks and Hosts hosts; zero means one", test: orderWant},
		{name: "order: hosts that are due take turns, however long their queues", test: orderRotation},
		{name: "order: one owner per authority under many claimers, every task once", test: orderOneOwner},
		{name: "wait: counted from Finish", test: waitFromFinish},
		{name: "wait: zero starts no pace", test: waitZero},
		{name: "wait: a shorter one does not shorten one that is stored", test: waitNotShortened},
		{name: "wait: other hosts go on meanwhile", test: waitOthers},
	}
}

func orderFIFO(s *stage) {
	s.add(s.links("a/5", "a/1", "b/1", "a/3"))
	t := s.turn(1)
	want(s, "the first task", names(t.Tasks), "a/5")
	r := fetched(t)
	r.Found = s.links("a/0", "b/0", "a/9")
	s.finish(r)
	s.add(s.links("a/2"))
	var as []string
	for _, u := range s.drain(0) {
		if strings.HasPrefix(u, "a/") {
			as = append(as, u)
		}
	}
	want(s, "breadth first", strings.Join(as, " "), "a/1 a/3 a/0 a/9 a/2")
}

func orderSurvives(s *stage) {
	us := pages("a", 300)
	slices.Reverse(us)
	for part := range slices.Chunk(us, 70) {
		s.add(s.links(part...))
		s.reopen()
	}
	t := s.turn(100)
	want(s, "a hundred tasks", names(t.Tasks), strings.Join(us[:100], " "))
	s.finish(fetched(t, t.Tasks[:50]...))
	s.reopen()
	t = s.turn(1000)
	want(s, "the others", names(t.Tasks), strings.Join(us[50:], " "))
	s.finish(fetched(t))
	want(s, "state", s.claim(1, 1).State, frontier.Drained)
}

func orderHead(s *stage) {
	s.add(s.links(pages("a", 7)...))
	t := s.turn(5)
	want(s, "the first turn", names(t.Tasks), "a/0 a/1 a/2 a/3 a/4")
	s.finish(fetched(t, t.Tasks[1], t.Tasks[3]))
	t = s.turn(2)
	want(s, "the second turn", names(t.Tasks), "a/0 a/2")
	s.finish(result(t))
	t = s.turn(10)
	want(s, "the third turn", names(t.Tasks), "a/0 a/2 a/4 a/5 a/6")
	for _, x := range t.Tasks {
		want(s, "attempts of "+short(x.URL), x.Attempts, 0)
		want(s, "reason of "+short(x.URL), x.Reason, "")
	}
	want(s, "InFlight", s.stats().InFlight, 5)
	s.finish(result(t))
	want(s, "Queued", s.stats().Queued, 5)
}

func orderWant(s *stage) {
	s.add(s.links("a/0", "a/1", "a/2", "b/0", "b/1", "c/0"))
	c := s.claim(0, 0)
	want(s, "turns", len(c.Turns), 1)
	want(s, "tasks", len(c.Turns[0].Tasks), 1)
	s.finish(result(c.Turns[0]))
	c = s.claim(2, 2)
	want(s, "turns", len(c.Turns), 2)
	rest := s.claim(5, 2)
	want(s, "turns", len(rest.Turns), 1)
	var sizes []int
	for _, t := range append(c.Turns, rest.Turns...) {
		sizes = append(sizes, len(t.Tasks))
		for _, x := range t.Tasks {
			want(s, "the authority of a task", x.URL.Authority(), t.Authority)
		}
	}
	slices.Sort(sizes)
	if !slices.Equal(sizes, []int{1, 2, 2}) {
		s.Fatalf("tasks of the turns: %v, want 1, 2 and 2", sizes)
	}
}

func orderRotation(s *stage) {
	hosts := []string{"big", "a", "b", "c", "d"}
	s.add(s.links(pages("big", 100)...))
	for _, h := range hosts[1:] {
		s.add(s.links(pages(h, 4)...))
	}
	var last []string
	for range 4 * len(hosts) {
		t := s.turn(1)
		h := t.Authority.Host()
		if n := min(len(last), len(hosts)-1); slices.Contains(last[len(last)-n:], h) {
			s.Fatalf("%s has a turn again after %v: another host was due for longer", h, last[len(last)-n:])
		}
		last = append(last, h)
		s.sleep(10 * time.Millisecond)
		s.finish(fetched(t))
	}
	want(s, "what is left to big", s.host("big").Queued, 96)
	want(s, "what is left in all", s.stats().Queued, 96)
}

func orderOneOwner(s *stage) {
	const hosts, each, workers = 7, 30, 16
	for i := range hosts {
		s.add(s.links(pages(string(rune('a'+i)), each)...))
	}
	type answer struct {
		t   frontier.Turn
		err error
	}
	begun, ended := make(chan answer), make(chan frontier.Turn)
	for w := range workers {
		go func() {
			for n := 0; ; n++ {
				c, err := s.f.Claim(s.Context(), frontier.Want{Tasks: 3, MaxWait: time.Hour})
				if err != nil || len(c.Turns) != 1 {
					begun <- answer{err: err}
					return
				}
				begun <- answer{t: c.Turns[0]}
				time.Sleep(time.Duration((w*7+n*3)%11) * time.Millisecond)
				ended <- c.Turns[0] // before Finish: from then on another may own it
				r := fetched(c.Turns[0])
				r.Wait = time.Duration(n%3) * 5 * time.Millisecond
				if fs, err := s.f.Finish(s.Context(), []frontier.Result{r}); err != nil || fs[0].Err != nil {
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
				tasks[short(x.URL)]++
			}
		case t := <-ended:
			owned[t.Authority.String()] = false
		}
	}
	synctest.Wait()
	want(s, "tasks", len(tasks), hosts*each)
	for u, n := range tasks {
		want(s, "times that "+u+" was claimed", n, 1)
	}
	want(s, "Fetched", s.stats().Outcomes[frontier.Fetched], hosts*each)
}

func waitFromFinish(s *stage) {
	s.add(s.links("a/0", "a/1"))
	t := s.turn(1)
	s.sleep(700 * time.Millisecond)
	r := fetched(t)
	r.Wait = time.Second
	s.finish(r)
	begin := time.Now()
	c := s.claim(1, 1)
	want(s, "state", c.State, frontier.Waiting)
	want(s, "due", c.Due, time.Second)
	want(s, "Host.Wait", s.host("a").Wait, time.Second)
	s.blocked(999 * time.Millisecond)
	c = s.claimWithin(1, 1, time.Second)
	want(s, "turns", len(c.Turns), 1)
	want(s, "pause", time.Since(begin), time.Second)
	want(s, "Host.Wait of the turn", c.Turns[0].Host.Wait, 0)
}

func waitZero(s *stage) {
	s.add(s.links("a/0", "a/1"))
	begin := time.Now()
	t := s.turn(1)
	r := result(t)
	r.Host = &frontier.HostUpdate{Pace: time.Hour}
	r.Done = []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Disallowed}}
	s.finish(r)
	t = s.turn(1)
	r = result(t)
	r.Wait = -time.Hour
	s.finish(r)
	s.turn(1)
	want(s, "time passed", time.Since(begin), 0)
}

func waitNotShortened(s *stage) {
	s.add(s.links("a/0", "a/1"))
	t := s.turn(1)
	r := fetched(t)
	r.Wait, r.Keep = time.Minute, true
	s.finish(r)
	r = result(t)
	r.Wait = time.Second
	s.finish(r)
	want(s, "due", s.claim(1, 1).Due, time.Minute)
}

func waitOthers(s *stage) {
	s.add(s.links("a/0", "a/1", "b/0", "b/1", "b/2"))
	for i := range 4 {
		t := s.turn(1)
		r := fetched(t)
		if t.Authority == s.auth("a") {
			r.Wait = time.Hour
		}
		s.finish(r)
		want(s, "tasks left", s.stats().Queued, int64(4-i))
	}
	c := s.claim(1, 1)
	want(s, "state", c.State, frontier.Waiting)
	want(s, "due", c.Due, time.Hour)
}
