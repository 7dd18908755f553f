package frontiertest

import (
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
