package frontiertest

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"curtsy/frontier"
)

// orderRules are about which task comes next.
var orderRules = []rule{
	{Name: "order: a host's tasks come in the order in which they were accepted", Test: func(s *Stage) {
		s.Add(s.Links("a/5", "a/1", "b/1", "a/3"))
		t := s.Turn(1)
		Want(s, "the first task", Names(t.Tasks), "a/5")
		s.end(t, frontier.Result{Done: done(t.Tasks...), Found: s.Links("a/0", "b/0", "a/9")})
		s.Add(s.Links("a/2"))
		var as []string
		for _, u := range s.Drain(0) {
			if strings.HasPrefix(u, "a/") {
				as = append(as, u)
			}
		}
		Want(s, "breadth first", strings.Join(as, " "), "a/1 a/3 a/0 a/9 a/2")
	}},
	{Name: "order: the order survives a close", Test: func(s *Stage) {
		us := Pages("a", 300)
		slices.Reverse(us)
		for part := range slices.Chunk(us, 70) {
			s.Add(s.Links(part...))
			s.Reopen()
		}
		t := s.Turn(100)
		Want(s, "a hundred tasks", Names(t.Tasks), strings.Join(us[:100], " "))
		s.Finish(Fetched(t, t.Tasks[:50]...))
		s.Reopen()
		t = s.Turn(1000)
		Want(s, "the others", Names(t.Tasks), strings.Join(us[50:], " "))
		s.Finish(Fetched(t))
		Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
	}},
	{Name: "order: what a turn does not settle is at the head again, in its order, no attempt counted", Test: func(s *Stage) {
		s.Add(s.Links(Pages("a", 7)...))
		t := s.Turn(5)
		Want(s, "the first turn", Names(t.Tasks), "a/0 a/1 a/2 a/3 a/4")
		s.Finish(Fetched(t, t.Tasks[1], t.Tasks[3]))
		t = s.Turn(2)
		Want(s, "the second turn", Names(t.Tasks), "a/0 a/2")
		s.Finish(resultOf(t))
		t = s.Turn(10)
		Want(s, "the third turn", Names(t.Tasks), "a/0 a/2 a/4 a/5 a/6")
		for _, x := range t.Tasks {
			Want(s, "attempts of "+Short(x.URL), x.Attempts, 0)
			Want(s, "reason of "+Short(x.URL), x.Reason, "")
		}
		Want(s, "InFlight", s.Stats().InFlight, 5)
		s.Finish(resultOf(t))
		Want(s, "Queued", s.Stats().Queued, 5)
	}},
	{Name: "order: up to Tasks tasks and Hosts hosts; zero means one", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "a/2", "b/0", "b/1", "c/0"))
		c := s.Claim(0, 0)
		Want(s, "turns", len(c.Turns), 1)
		Want(s, "tasks", len(c.Turns[0].Tasks), 1)
		s.Finish(resultOf(c.Turns[0]))
		c = s.Claim(2, 2)
		Want(s, "turns", len(c.Turns), 2)
		rest := s.Claim(5, 2)
		Want(s, "turns", len(rest.Turns), 1)
		var sizes []int
		for _, t := range append(c.Turns, rest.Turns...) {
			sizes = append(sizes, len(t.Tasks))
			for _, x := range t.Tasks {
				Want(s, "the authority of a task", x.URL.Authority(), t.Authority)
			}
		}
		slices.Sort(sizes)
		if !slices.Equal(sizes, []int{1, 2, 2}) {
			s.Fatalf("tasks of the turns: %v, want 1, 2 and 2", sizes)
		}
	}},
	{Name: "order: hosts that are due take turns, however long their queues", Test: func(s *Stage) {
		hosts := []string{"big", "a", "b", "c", "d"}
		s.Add(s.Links(Pages("big", 100)...))
		for _, h := range hosts[1:] {
			s.Add(s.Links(Pages(h, 4)...))
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
			s.Finish(Fetched(t))
		}
		Want(s, "what is left to big", s.Host("big").Queued, 96)
		Want(s, "what is left in all", s.Stats().Queued, 96)
	}},
	{Name: "order: the host that was due first comes first, and one that is given back comes last", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "cs/0", "kk/0")) // of one slot
		var names []string
		for i, t := range s.Claim(3, 1).Turns {
			names = append(names, Names(t.Tasks))
			r := resultOf(t)
			r.Wait = []time.Duration{3 * time.Second, time.Second, 2 * time.Second}[i]
			s.Finish(r)
		}
		s.Sleep(5 * time.Second)
		t := s.Turn(1)
		Want(s, "the first", Names(t.Tasks), names[1])
		s.Finish(resultOf(t))
		s.Sleep(time.Second)
		for _, i := range []int{2, 0, 1} {
			Want(s, "the next", Names(s.Turn(1).Tasks), names[i])
		}
	}},
	{Name: "order: one owner per authority under many claimers, every task once", Test: func(s *Stage) {
		const hosts, each, workers = 7, 30, 16
		for i := range hosts {
			s.Add(s.Links(Pages(string(rune('a'+i)), each)...))
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
					r := Fetched(c.Turns[0])
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
					tasks[Short(x.URL)]++
				}
			case t := <-ended:
				owned[t.Authority.String()] = false
			}
		}
		synctest.Wait()
		Want(s, "tasks", len(tasks), hosts*each)
		for u, n := range tasks {
			Want(s, "times that "+u+" was claimed", n, 1)
		}
		Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], hosts*each)
	}},
	{Name: "wait: counted from Finish", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1"))
		t := s.Turn(1)
		s.Sleep(700 * time.Millisecond)
		s.end(t, frontier.Result{Done: done(t.Tasks...), Wait: time.Second})
		begin := time.Now()
		c := s.Claim(1, 1)
		Want(s, "state", c.State, frontier.Waiting)
		Want(s, "due", c.Due, time.Second)
		Want(s, "Host.Wait", s.Host("a").Wait, time.Second)
		s.Blocked(999 * time.Millisecond)
		c = s.ClaimWithin(1, 1, time.Second)
		Want(s, "turns", len(c.Turns), 1)
		Want(s, "pause", time.Since(begin), time.Second)
		Want(s, "Host.Wait of the turn", c.Turns[0].Host.Wait, 0)
	}},
	{Name: "wait: zero starts no pace", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1"))
		begin := time.Now()
		t := s.Turn(1)
		s.end(t, frontier.Result{Host: &frontier.HostUpdate{Pace: time.Hour}, Done: []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Disallowed}}})
		t = s.Turn(1)
		s.end(t, frontier.Result{Wait: -time.Hour})
		s.Turn(1)
		Want(s, "time passed", time.Since(begin), 0)
	}},
	{Name: "wait: a shorter one does not shorten one that is stored", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1"))
		t := s.Turn(1)
		s.end(t, frontier.Result{Done: done(t.Tasks...), Wait: time.Minute, Keep: true})
		s.end(t, frontier.Result{Wait: time.Second})
		Want(s, "due", s.Claim(1, 1).Due, time.Minute)
	}},
	{Name: "wait: other hosts go on meanwhile", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "b/0", "b/1", "b/2"))
		for i := range 4 {
			t := s.Turn(1)
			r := Fetched(t)
			if t.Authority == s.Authority("a") {
				r.Wait = time.Hour
			}
			s.Finish(r)
			Want(s, "tasks left", s.Stats().Queued, int64(4-i))
		}
		c := s.Claim(1, 1)
		Want(s, "state", c.State, frontier.Waiting)
		Want(s, "due", c.Due, time.Hour)
	}},
}

// depthRules are about the order of the tasks of a host that is not breadth first.
var depthRules = []rule{
	{Name: "depth first: the task that was accepted last comes first", Options: frontier.Options{Order: frontier.DepthFirst}, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "a/2", "a/3"))
		t := s.Turn(2)
		Want(s, "the first turn", Names(t.Tasks), "a/3 a/2")
		s.end(t, frontier.Result{Done: done(t.Tasks...), Found: s.Links("a/4", "a/5")})
		Want(s, "the rest", s.Pending(), "a/5 a/4 a/1 a/0")
	}},
	{Name: "depth first: what a turn does not settle has its old place", Options: frontier.Options{Order: frontier.DepthFirst}, Test: func(s *Stage) {
		s.Add(s.Links(Pages("a", 5)...))
		t := s.Turn(3)
		Want(s, "the first turn", Names(t.Tasks), "a/4 a/3 a/2")
		s.Finish(Fetched(t, t.Tasks[1]))
		t = s.Turn(2)
		Want(s, "the second turn", Names(t.Tasks), "a/4 a/2")
		s.Add(s.Links("a/5"))
		s.Finish(resultOf(t))
		t = s.Turn(9)
		Want(s, "the third turn", Names(t.Tasks), "a/5 a/4 a/2 a/1 a/0")
		for _, x := range t.Tasks {
			Want(s, "attempts of "+Short(x.URL), x.Attempts, 0)
		}
	}},
	{Name: "depth first: each opening says its own order", Options: frontier.Options{Order: frontier.DepthFirst}, Test: func(s *Stage) {
		s.Add(s.Links(Pages("a", 150)...))
		s.Finish(Fetched(s.Turn(1)))
		s.Reopen()
		t := s.Turn(2)
		Want(s, "depth first", Names(t.Tasks), "a/148 a/147")
		s.Finish(Fetched(t))
		s.Reopen(frontier.Options{})
		t = s.Turn(200)
		Want(s, "breadth first", Names(t.Tasks), strings.Join(Pages("a", 147), " "))
		s.Finish(Fetched(t, t.Tasks[0]))
		s.Reopen(frontier.Options{Order: frontier.DepthFirst})
		Want(s, "depth first", Names(s.Turn(2).Tasks), "a/146 a/145")
	}},
	{Name: "depth first: what is tried again has its old place", Options: frontier.Options{Order: frontier.DepthFirst}, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/f1", "a/f2"))
		s.CloseAll()
		s.Add(s.Links("a/3"))
		s.Retry(frontier.Retrial{Outcome: frontier.Failed})
		Want(s, "the rest", s.Pending(), "a/3 a/f2 a/f1")
	}},
}

// deferralRules are about tasks that come again.
var deferralRules = []rule{
	{Name: "deferral: not before After, an attempt counted, with its reason", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		for attempt := range 4 {
			t := s.Turn(1)
			Want(s, "attempts", t.Tasks[0].Attempts, attempt)
			if attempt > 0 {
				Want(s, "reason", t.Tasks[0].Reason, "status 500")
			}
			Want(s, "replaced", t.Tasks[0].Replaced, false)
			s.Postpone(t, frontier.Deferral{After: time.Minute, Reason: "status 500"})
			Want(s, "Deferred", s.Host("a").Deferred, 1)
			c := s.Claim(1, 1)
			Want(s, "state", c.State, frontier.Waiting)
			Want(s, "due", c.Due, time.Minute)
			s.Blocked(time.Minute - time.Millisecond)
			s.Sleep(time.Millisecond)
		}
		s.Finish(Fetched(s.Turn(1)))
		Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
	}},
	{Name: "deferral: other tasks of the host go on meanwhile", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "a/2"))
		s.Postpone(s.Turn(1), frontier.Deferral{After: time.Minute})
		t := s.Turn(1)
		Want(s, "the next", Names(t.Tasks), "a/1")
		s.Finish(Fetched(t))
		t = s.Turn(10)
		Want(s, "all that is due", Names(t.Tasks), "a/2")
		s.Sleep(2 * time.Minute)
		s.Finish(Fetched(t))
		Want(s, "at last", Names(s.Turn(1).Tasks), "a/0")
	}},
	{Name: "deferral: the host's own wait holds too", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		t := s.Turn(1)
		s.end(t, frontier.Result{Deferred: []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Minute}}, Wait: time.Hour})
		Want(s, "due", s.Claim(1, 1).Due, time.Hour)
		s.Blocked(time.Hour - time.Millisecond)
		s.Sleep(time.Millisecond)
		s.Turn(1)
	}},
	{Name: "deferral: After zero is due at once", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.Postpone(s.Turn(1), frontier.Deferral{})
		t := s.Turn(1)
		Want(s, "attempts", t.Tasks[0].Attempts, 1)
		s.Postpone(t, frontier.Deferral{After: -time.Hour})
		t = s.Turn(1)
		Want(s, "attempts", t.Tasks[0].Attempts, 2)
		s.Finish(resultOf(t)) // not settled this time: no attempt
		Want(s, "attempts", s.Turn(1).Tasks[0].Attempts, 2)
	}},
	{Name: "deferral: a new URL replaces the old, no attempt counted", Test: func(s *Stage) {
		s.Add(s.Links("a/%7Euser", "a/1"))
		t := s.Turn(1)
		s.Postpone(t, frontier.Deferral{URL: s.URL("a/~user"), Reason: "redirect to itself"})
		var x frontier.Task
		for _, y := range s.Turn(2).Tasks {
			if y.Print == t.Tasks[0].Print {
				x = y
			}
		}
		Want(s, "the fetch URL", x.URL.String(), "http://a.test/~user")
		Want(s, "replaced", x.Replaced, true)
		Want(s, "attempts", x.Attempts, 0)
		Want(s, "reason", x.Reason, "redirect to itself")
		Want(s, "Discovered", s.Stats().Discovered, 2)
	}},
	// Also after a turn that returned a tried task untried, and after a close.
	{Name: "deferral: what was never tried comes before what was", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "a/2", "a/3", "a/4"))
		s.Postpone(s.Turn(1), frontier.Deferral{After: 2 * time.Minute, Reason: "incomplete"})
		s.Postpone(s.Turn(1), frontier.Deferral{After: time.Minute, Reason: "incomplete"})
		s.Sleep(time.Hour)
		t := s.Turn(10)
		Want(s, "all", Names(t.Tasks), "a/2 a/3 a/4 a/0 a/1")
		s.Finish(resultOf(t))
		t = s.Turn(1)
		Want(s, "the first", Names(t.Tasks), "a/2")
		s.Finish(Fetched(t))
		s.Add(s.Links("a/5"))
		s.Reopen()
		s.Sleep(time.Hour) // the pace of a reopened frontier
		t = s.Turn(10)
		Want(s, "all after a reopen", Names(t.Tasks), "a/3 a/4 a/5 a/0 a/1")
		s.end(t, frontier.Result{Done: []frontier.Done{{Print: t.Tasks[3].Print, Outcome: frontier.Failed}}})
		Want(s, "the rest", Names(s.Turn(10).Tasks), "a/3 a/4 a/5 a/1")
	}},
	// Of a host with some good URLs and many that fail each time, at random places, and with links found on the way, each good one is given within as many turns with the host as there are URLs, whatever the waits.
	{Name: "deferral: any mix of bad URLs leaves all good ones their turn", Test: func(s *Stage) {
		r := rand.New(rand.NewPCG(5, 2))
		for round := range 20 {
			host := "h" + strconv.Itoa(round)
			n := 2 + r.IntN(60)
			bad, settled := map[string]bool{}, map[string]bool{}
			var us []string
			for i := range n {
				u := host + "/" + strconv.Itoa(i)
				us, bad[u] = append(us, u), r.IntN(3) > 0
			}
			later := r.IntN(n)
			s.Add(s.Links(us[later:]...))
			good := 0
			for turns := 0; good < n-len(keys(bad)); turns++ {
				if turns > n {
					s.Fatalf("%d of %d good URLs after %d turns with %d URLs", good, n-len(keys(bad)), turns, n)
				}
				c := s.ClaimWithin(1, 1+r.IntN(4), 2*time.Hour)
				t := c.Turns[0]
				x := t.Tasks[0]
				res := resultOf(t)
				res.Wait = time.Duration(r.IntN(60)) * time.Second
				if turns == 0 {
					res.Found = s.Links(us[:later]...)
				}
				switch u := Short(x.URL); {
				case settled[u]:
					s.Fatalf("%s is given again", u)
				case bad[u]:
					res.Deferred = []frontier.Deferral{{Print: x.Print, After: time.Duration(r.IntN(120)) * time.Second, Reason: "incomplete"}}
				default:
					settled[u] = true
					good++
					res.Done = []frontier.Done{{Print: x.Print, Outcome: frontier.Fetched}}
				}
				s.Finish(res)
			}
			for s.Stats().Queued+s.Stats().Deferred > 0 { // what is bad is given up
				t := s.ClaimWithin(1, 10, 2*time.Hour).Turns[0]
				res := resultOf(t)
				for _, x := range t.Tasks {
					res.Done = append(res.Done, frontier.Done{Print: x.Print, Outcome: frontier.Failed})
				}
				s.Finish(res)
			}
		}
	}},
	{Name: "deferral: a close keeps the rest of the wait, attempts, reason and URL", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/%7Eb"))
		c := s.Claim(2, 1)
		for _, t := range c.Turns {
			d := frontier.Deferral{After: time.Hour, Reason: "status 500"}
			if t.Authority == s.Authority("b") {
				d = frontier.Deferral{After: 2 * time.Hour, Reason: "redirect to itself", URL: s.URL("b/~b")}
			}
			s.Postpone(t, d)
		}
		s.Sleep(10 * time.Minute)
		s.Close()
		s.Sleep(10 * time.Minute)
		s.Open(s.Options)
		Want(s, "Deferred", s.Stats().Deferred, 2)
		Want(s, "due", s.Claim(2, 2).Due, 40*time.Minute)
		s.Sleep(40 * time.Minute)
		x := s.Turn(1).Tasks[0]
		Want(s, "attempts", x.Attempts, 1)
		Want(s, "reason", x.Reason, "status 500")
		s.Sleep(time.Hour)
		for _, t := range s.Claim(2, 2).Turns { // a's lease has expired meanwhile
			if x := t.Tasks[0]; t.Authority == s.Authority("b") {
				Want(s, "the fetch URL", x.URL.String(), "http://b.test/~b")
				Want(s, "replaced", x.Replaced, true)
				Want(s, "reason", x.Reason, "redirect to itself")
				return
			}
		}
		s.Fatal("b has no turn after two hours")
	}},
}

// keys are those of m that are true.
func keys(m map[string]bool) (ks []string) {
	for k, yes := range m {
		if yes {
			ks = append(ks, k)
		}
	}
	return ks
}
