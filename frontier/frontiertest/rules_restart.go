package frontiertest

import (
	"time"

	"curtsy/frontier"
)

// restartRules are about when a host is due after the frontier was opened again: never a burst, no park forgotten.
func restartRules() []rule {
	o := frontier.Options{Pace: time.Second}
	return []rule{
		{name: "restart: a stored wait that is longer than the pace is obeyed to its end", o: o, test: restartPark},
		{name: "restart: a host whose wait is over keeps its pace from now", o: o, test: restartPace},
		{name: "restart: the pace is obeyed when it is longer than the rest of the wait", o: o, test: restartLonger},
		{name: "restart: after a clean stop a host with no stored pace is due at once", o: o, test: restartClean},
		{name: "restart: after an unclean stop a host with no stored pace waits Options.Pace", o: o, crash: true, test: restartUnclean},
		{name: "restart: after an unclean stop a stored pace is the one that counts", o: o, crash: true, test: restartStored},
		{name: "restart: after an unclean stop Options.Pace holds for authorities not known yet", o: o, crash: true, test: restartUnknown},
		{name: "restart: a crash forgets no park and no deferral", o: o, crash: true, test: restartCrash},
		{name: "restart: openings are counted, and Unclean is about the last stop", o: o, crash: true, test: restartCounts},
	}
}

// visit takes one turn with the host that is due, which leaves its task, and gives the host a pace and a wait.
func (s *stage) visit(pace, wait time.Duration) {
	s.Helper()
	r := result(s.turn(1))
	r.Host, r.Wait = &frontier.HostUpdate{Pace: pace}, wait
	s.finish(r)
}

// due fails unless the first host is due after d.
func (s *stage) due(d time.Duration) {
	s.Helper()
	want(s, "Host.Wait", s.host("a").Wait, d)
	if d > 0 {
		c := s.claim(1, 1)
		want(s, "state", c.State, frontier.Waiting)
		want(s, "due", c.Due, d)
		s.blocked(d - time.Millisecond)
		s.sleep(time.Millisecond)
	}
	s.finish(result(s.turn(1)))
}

func restartPark(s *stage) {
	s.add(s.links("a/0"))
	s.visit(2*time.Second, 3*time.Hour)
	s.sleep(10 * time.Minute)
	s.close()
	s.sleep(time.Hour)
	s.open(s.o)
	s.due(110 * time.Minute)
}

func restartPace(s *stage) {
	s.add(s.links("a/0"))
	s.visit(5*time.Second, 5*time.Second)
	s.close()
	s.sleep(time.Hour)
	s.open(s.o)
	s.due(5 * time.Second)
	s.reopen()
	s.due(5 * time.Second)
}

func restartLonger(s *stage) {
	s.add(s.links("a/0"))
	s.visit(5*time.Second, 6*time.Second)
	s.sleep(4 * time.Second)
	s.reopen()
	s.due(5 * time.Second)
}

func restartClean(s *stage) {
	s.add(s.links("a/0"))
	s.visit(0, 0)
	s.reopen()
	s.due(0)
}

func restartUnclean(s *stage) {
	s.add(s.links("a/0"))
	s.finish(result(s.turn(1)))
	s.crash()
	s.due(time.Second)
	s.reopen()
	s.due(0)
}

func restartStored(s *stage) {
	s.add(s.links("a/0"))
	s.visit(200*time.Millisecond, 0)
	s.sync()
	s.crash()
	s.due(200 * time.Millisecond)
	s.visit(3*time.Second, 0)
	s.sync()
	s.crash()
	s.due(3 * time.Second)
}

func restartUnknown(s *stage) {
	s.crash()
	s.sleep(400 * time.Millisecond)
	s.notDue("waiting", "b") // discovered and asked before the crash, for all we know
	s.add(s.links("a/0"))
	s.due(600 * time.Millisecond)
	if _, err := s.f.ClaimAuthority(s.Context(), s.auth("c")); err != nil {
		s.Fatalf("ClaimAuthority when the pace is over: %v", err)
	}
}

func restartCrash(s *stage) {
	s.add(s.links("a/0", "a/1"))
	t := s.turn(1)
	r := result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, After: 3 * time.Hour, Reason: "status 500"}}
	r.Host, r.Wait = &frontier.HostUpdate{Condition: frontier.Parked, Reason: "status 503", Pace: time.Second}, time.Hour
	s.finish(r)
	s.sync()
	s.sleep(10 * time.Minute)
	s.crash()
	h := s.host("a")
	want(s, "condition", h.Condition, frontier.Parked)
	want(s, "reason", h.Reason, "status 503")
	want(s, "Deferred", h.Deferred, 1)
	want(s, "due", s.claim(1, 1).Due, 50*time.Minute)
	s.sleep(50 * time.Minute)
	t = s.turn(2)
	want(s, "tasks", names(t.Tasks), "a/1")
	s.finish(fetched(t))
	want(s, "due", s.claim(1, 1).Due, 2*time.Hour)
	s.sleep(2 * time.Hour)
	x := s.turn(1).Tasks[0]
	want(s, "attempts", x.Attempts, 1)
	want(s, "reason", x.Reason, "status 500")
}

func restartCounts(s *stage) {
	for n, crash := range []bool{false, true, true, false} {
		if crash {
			s.crash()
		} else {
			s.reopen()
		}
		st := s.stats()
		want(s, "Restarts", st.Restarts, int64(n+1))
		want(s, "Unclean", st.Unclean, crash)
	}
}
