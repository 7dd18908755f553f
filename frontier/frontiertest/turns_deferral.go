package frontiertest

import (
	"math/rand/v2"
	"strconv"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// deferralRules are about tasks that come again.
func deferralRules() []stage.Rule {
	return []stage.Rule{
		{Name: "deferral: not before After, an attempt counted, with its reason", Test: deferAfter},
		{Name: "deferral: other tasks of the host go on meanwhile", Test: deferOthers},
		{Name: "deferral: the host's own wait holds too", Test: deferHostWaits},
		{Name: "deferral: After zero is due at once", Test: deferZero},
		{Name: "deferral: a new URL replaces the old, no attempt counted", Test: deferReplaced},
		{Name: "deferral: what was never tried comes before what was", Test: deferBehind},
		{Name: "deferral: any mix of bad URLs leaves all good ones their turn", Test: deferMixed},
		{Name: "deferral: a close keeps the rest of the wait, attempts, reason and URL", Test: deferSurvives},
	}
}

func deferAfter(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	for attempt := range 4 {
		t := s.Turn(1)
		stage.Want(s, "attempts", t.Tasks[0].Attempts, attempt)
		if attempt > 0 {
			stage.Want(s, "reason", t.Tasks[0].Reason, "status 500")
		}
		stage.Want(s, "replaced", t.Tasks[0].Replaced, false)
		s.Postpone(t, frontier.Deferral{After: time.Minute, Reason: "status 500"})
		stage.Want(s, "Deferred", s.Host("a").Deferred, 1)
		c := s.Claim(1, 1)
		stage.Want(s, "state", c.State, frontier.Waiting)
		stage.Want(s, "due", c.Due, time.Minute)
		s.Blocked(time.Minute - time.Millisecond)
		s.Sleep(time.Millisecond)
	}
	s.Finish(stage.Fetched(s.Turn(1)))
	stage.Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
}

func deferOthers(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "a/2"))
	s.Postpone(s.Turn(1), frontier.Deferral{After: time.Minute})
	t := s.Turn(1)
	stage.Want(s, "the next", stage.Names(t.Tasks), "a/1")
	s.Finish(stage.Fetched(t))
	t = s.Turn(10)
	stage.Want(s, "all that is due", stage.Names(t.Tasks), "a/2")
	s.Sleep(2 * time.Minute)
	s.Finish(stage.Fetched(t))
	stage.Want(s, "at last", stage.Names(s.Turn(1).Tasks), "a/0")
}

func deferHostWaits(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	t := s.Turn(1)
	r := stage.Result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Minute}}
	r.Wait = time.Hour
	s.Finish(r)
	stage.Want(s, "due", s.Claim(1, 1).Due, time.Hour)
	s.Blocked(time.Hour - time.Millisecond)
	s.Sleep(time.Millisecond)
	s.Turn(1)
}

func deferZero(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	s.Postpone(s.Turn(1), frontier.Deferral{})
	t := s.Turn(1)
	stage.Want(s, "attempts", t.Tasks[0].Attempts, 1)
	s.Postpone(t, frontier.Deferral{After: -time.Hour})
	t = s.Turn(1)
	stage.Want(s, "attempts", t.Tasks[0].Attempts, 2)
	s.Finish(stage.Result(t)) // not settled this time: no attempt
	stage.Want(s, "attempts", s.Turn(1).Tasks[0].Attempts, 2)
}

func deferReplaced(s *stage.Stage) {
	s.Add(s.Links("a/%7Euser", "a/1"))
	t := s.Turn(1)
	s.Postpone(t, frontier.Deferral{URL: s.URL("a/~user"), Reason: "redirect to itself"})
	var x frontier.Task
	for _, y := range s.Turn(2).Tasks {
		if y.Print == t.Tasks[0].Print {
			x = y
		}
	}
	stage.Want(s, "the fetch URL", x.URL.String(), "http://a.test/~user")
	stage.Want(s, "replaced", x.Replaced, true)
	stage.Want(s, "attempts", x.Attempts, 0)
	stage.Want(s, "reason", x.Reason, "redirect to itself")
	stage.Want(s, "Discovered", s.Stats().Discovered, 2)
}

func deferSurvives(s *stage.Stage) {
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
	stage.Want(s, "Deferred", s.Stats().Deferred, 2)
	stage.Want(s, "due", s.Claim(2, 2).Due, 40*time.Minute)
	s.Sleep(40 * time.Minute)
	x := s.Turn(1).Tasks[0]
	stage.Want(s, "attempts", x.Attempts, 1)
	stage.Want(s, "reason", x.Reason, "status 500")
	s.Sleep(time.Hour)
	for _, t := range s.Claim(2, 2).Turns { // a's lease has expired meanwhile
		if x := t.Tasks[0]; t.Authority == s.Authority("b") {
			stage.Want(s, "the fetch URL", x.URL.String(), "http://b.test/~b")
			stage.Want(s, "replaced", x.Replaced, true)
			stage.Want(s, "reason", x.Reason, "redirect to itself")
			return
		}
	}
	s.Fatal("b has no turn after two hours")
}

// deferBehind: also after a turn that returned a tried task untried, and after a close.
func deferBehind(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "a/2", "a/3", "a/4"))
	s.Postpone(s.Turn(1), frontier.Deferral{After: 2 * time.Minute, Reason: "incomplete"})
	s.Postpone(s.Turn(1), frontier.Deferral{After: time.Minute, Reason: "incomplete"})
	s.Sleep(time.Hour)
	t := s.Turn(10)
	stage.Want(s, "all", stage.Names(t.Tasks), "a/2 a/3 a/4 a/0 a/1")
	s.Finish(stage.Result(t))
	t = s.Turn(1)
	stage.Want(s, "the first", stage.Names(t.Tasks), "a/2")
	s.Finish(stage.Fetched(t))
	s.Add(s.Links("a/5"))
	s.Reopen()
	s.Sleep(time.Hour) // the pace of a reopened frontier
	t = s.Turn(10)
	stage.Want(s, "all after a reopen", stage.Names(t.Tasks), "a/3 a/4 a/5 a/0 a/1")
	r := stage.Result(t)
	r.Done = []frontier.Done{{Print: t.Tasks[3].Print, Outcome: frontier.Failed}}
	s.Finish(r)
	stage.Want(s, "the rest", stage.Names(s.Turn(10).Tasks), "a/3 a/4 a/5 a/1")
}

// deferMixed: of a host with some good URLs and many that fail each time, at random places, and with links found on
// the way, each good one is given within as many turns with the host as there are URLs, whatever the waits.
func deferMixed(s *stage.Stage) {
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
			res := stage.Result(t)
			res.Wait = time.Duration(r.IntN(60)) * time.Second
			if turns == 0 {
				res.Found = s.Links(us[:later]...)
			}
			switch u := stage.Short(x.URL); {
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
			res := stage.Result(t)
			for _, x := range t.Tasks {
				res.Done = append(res.Done, frontier.Done{Print: x.Print, Outcome: frontier.Failed})
			}
			s.Finish(res)
		}
	}
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
