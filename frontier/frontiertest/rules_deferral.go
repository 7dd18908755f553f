package frontiertest

import (
	"math/rand/v2"
	"strconv"
	"time"

	"curtsy/frontier"
)

// deferralRules are about tasks that come again.
func deferralRules() []rule {
	return []rule{
		{name: "deferral: not before After, an attempt counted, with its reason", test: deferAfter},
		{name: "deferral: other tasks of the host go on meanwhile", test: deferOthers},
		{name: "deferral: the host's own wait holds too", test: deferHostWaits},
		{name: "deferral: After zero is due at once", test: deferZero},
		{name: "deferral: a new URL replaces the old, no attempt counted", test: deferReplaced},
		{name: "deferral: what was never tried comes before what was", test: deferBehind},
		{name: "deferral: any mix of bad URLs leaves all good ones their turn", test: deferMixed},
		{name: "deferral: a close keeps the rest of the wait, attempts, reason and URL", test: deferSurvives},
	}
}

// postpone ends a turn with its first task deferred and the others unsettled.
func (s *stage) postpone(t frontier.Turn, d frontier.Deferral) {
	s.Helper()
	r := result(t)
	d.Print = t.Tasks[0].Print
	r.Deferred = []frontier.Deferral{d}
	s.finish(r)
}

func deferAfter(s *stage) {
	s.add(s.links("a/0"))
	for attempt := range 4 {
		t := s.turn(1)
		want(s, "attempts", t.Tasks[0].Attempts, attempt)
		if attempt > 0 {
			want(s, "reason", t.Tasks[0].Reason, "status 500")
		}
		want(s, "replaced", t.Tasks[0].Replaced, false)
		s.postpone(t, frontier.Deferral{After: time.Minute, Reason: "status 500"})
		want(s, "Deferred", s.host("a").Deferred, 1)
		c := s.claim(1, 1)
		want(s, "state", c.State, frontier.Waiting)
		want(s, "due", c.Due, time.Minute)
		s.blocked(time.Minute - time.Millisecond)
		s.sleep(time.Millisecond)
	}
	s.finish(fetched(s.turn(1)))
	want(s, "state", s.claim(1, 1).State, frontier.Drained)
}

func deferOthers(s *stage) {
	s.add(s.links("a/0", "a/1", "a/2"))
	s.postpone(s.turn(1), frontier.Deferral{After: time.Minute})
	t := s.turn(1)
	want(s, "the next", names(t.Tasks), "a/1")
	s.finish(fetched(t))
	t = s.turn(10)
	want(s, "all that is due", names(t.Tasks), "a/2")
	s.sleep(2 * time.Minute)
	s.finish(fetched(t))
	want(s, "at last", names(s.turn(1).Tasks), "a/0")
}

func deferHostWaits(s *stage) {
	s.add(s.links("a/0"))
	t := s.turn(1)
	r := result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Minute}}
	r.Wait = time.Hour
	s.finish(r)
	want(s, "due", s.claim(1, 1).Due, time.Hour)
	s.blocked(time.Hour - time.Millisecond)
	s.sleep(time.Millisecond)
	s.turn(1)
}

func deferZero(s *stage) {
	s.add(s.links("a/0"))
	s.postpone(s.turn(1), frontier.Deferral{})
	t := s.turn(1)
	want(s, "attempts", t.Tasks[0].Attempts, 1)
	s.postpone(t, frontier.Deferral{After: -time.Hour})
	t = s.turn(1)
	want(s, "attempts", t.Tasks[0].Attempts, 2)
	s.finish(result(t)) // not settled this time: no attempt
	want(s, "attempts", s.turn(1).Tasks[0].Attempts, 2)
}

func deferReplaced(s *stage) {
	s.add(s.links("a/%7Euser", "a/1"))
	t := s.turn(1)
	s.postpone(t, frontier.Deferral{URL: s.url("a/~user"), Reason: "redirect to itself"})
	var x frontier.Task
	for _, y := range s.turn(2).Tasks {
		if y.Print == t.Tasks[0].Print {
			x = y
		}
	}
	want(s, "the fetch URL", x.URL.String(), "http://a.test/~user")
	want(s, "replaced", x.Replaced, true)
	want(s, "attempts", x.Attempts, 0)
	want(s, "reason", x.Reason, "redirect to itself")
	want(s, "Discovered", s.stats().Discovered, 2)
}

func deferSurvives(s *stage) {
	s.add(s.links("a/0", "b/%7Eb"))
	c := s.claim(2, 1)
	for _, t := range c.Turns {
		d := frontier.Deferral{After: time.Hour, Reason: "status 500"}
		if t.Authority == s.auth("b") {
			d = frontier.Deferral{After: 2 * time.Hour, Reason: "redirect to itself", URL: s.url("b/~b")}
		}
		s.postpone(t, d)
	}
	s.sleep(10 * time.Minute)
	s.close()
	s.sleep(10 * time.Minute)
	s.open(s.o)
	want(s, "Deferred", s.stats().Deferred, 2)
	want(s, "due", s.claim(2, 2).Due, 40*time.Minute)
	s.sleep(40 * time.Minute)
	x := s.turn(1).Tasks[0]
	want(s, "attempts", x.Attempts, 1)
	want(s, "reason", x.Reason, "status 500")
	s.sleep(time.Hour)
	for _, t := range s.claim(2, 2).Turns { // a's lease has expired meanwhile
		if x := t.Tasks[0]; t.Authority == s.auth("b") {
			want(s, "the fetch URL", x.URL.String(), "http://b.test/~b")
			want(s, "replaced", x.Replaced, true)
			want(s, "reason", x.Reason, "redirect to itself")
			return
		}
	}
	s.Fatal("b has no turn after two hours")
}

// deferBehind: also after a turn that returned a tried task untried, and after a close.
func deferBehind(s *stage) {
	s.add(s.links("a/0", "a/1", "a/2", "a/3", "a/4"))
	s.postpone(s.turn(1), frontier.Deferral{After: 2 * time.Minute, Reason: "incomplete"})
	s.postpone(s.turn(1), frontier.Deferral{After: time.Minute, Reason: "incomplete"})
	s.sleep(time.Hour)
	t := s.turn(10)
	want(s, "all", names(t.Tasks), "a/2 a/3 a/4 a/0 a/1")
	s.finish(result(t))
	t = s.turn(1)
	want(s, "the first", names(t.Tasks), "a/2")
	s.finish(fetched(t))
	s.add(s.links("a/5"))
	s.reopen()
	s.sleep(time.Hour) // the pace of a reopened frontier
	t = s.turn(10)
	want(s, "all after a reopen", names(t.Tasks), "a/3 a/4 a/5 a/0 a/1")
	r := result(t)
	r.Done = []frontier.Done{{Print: t.Tasks[3].Print, Outcome: frontier.Failed}}
	s.finish(r)
	want(s, "the rest", names(s.turn(10).Tasks), "a/3 a/4 a/5 a/1")
}

// deferMixed: of a host with some good URLs and many that fail each time, at random places, and with links found on the way,
// each good one is given within as many turns with the host as there are URLs, whatever the waits.
func deferMixed(s *stage) {
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
		s.add(s.links(us[later:]...))
		good := 0
		for turns := 0; good < n-len(keys(bad)); turns++ {
			if turns > n {
				s.Fatalf("%d of %d good URLs after %d turns with %d URLs", good, n-len(keys(bad)), turns, n)
			}
			c := s.claimWithin(1, 1+r.IntN(4), 2*time.Hour)
			t := c.Turns[0]
			x := t.Tasks[0]
			res := result(t)
			res.Wait = time.Duration(r.IntN(60)) * time.Second
			if turns == 0 {
				res.Found = s.links(us[:later]...)
			}
			switch u := short(x.URL); {
			case settled[u]:
				s.Fatalf("%s is given again", u)
			case bad[u]:
				res.Deferred = []frontier.Deferral{{Print: x.Print, After: time.Duration(r.IntN(120)) * time.Second, Reason: "incomplete"}}
			default:
				settled[u] = true
				good++
				res.Done = []frontier.Done{{Print: x.Print, Outcome: frontier.Fetched}}
			}
			s.finish(res)
		}
		for s.stats().Queued+s.stats().Deferred > 0 { // what is bad is given up
			t := s.claimWithin(1, 10, 2*time.Hour).Turns[0]
			res := result(t)
			for _, x := range t.Tasks {
				res.Done = append(res.Done, frontier.Done{Print: x.Print, Outcome: frontier.Failed})
			}
			s.finish(res)
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
