package frontiertest

import (
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/frontiertest/stage"
)

// restartRules are about when a host is due after the frontier was opened again: never a burst, no park forgotten.
func restartRules() []stage.Rule {
	o := frontier.Options{Pace: time.Second}
	return []stage.Rule{
		{Name: "restart: a stored wait that is longer than the pace is obeyed to its end", Options: o, Test: restartPark},
		{Name: "restart: a host whose wait is over keeps its pace from now", Options: o, Test: restartPace},
		{Name: "restart: the pace is obeyed when it is longer than the rest of the wait", Options: o, Test: restartLonger},
		{Name: "restart: after a clean stop a host with no stored pace is due at once", Options: o, Test: restartClean},
		{Name: "restart: after an unclean stop a host with no stored pace waits Options.Pace", Options: o, Crash: true, Test: restartUnclean},
		{Name: "restart: after an unclean stop the longer of a stored pace and Options.Pace counts", Options: o, Crash: true, Test: restartStored},
		{Name: "restart: after an unclean stop Options.Pace holds for authorities not known yet", Options: o, Crash: true, Test: restartUnknown},
		{Name: "restart: Options.PaceOf takes the place of Options.Pace where it is less", Options: o, Crash: true, Test: restartPaceOf},
		{Name: "restart: a clean stop leaves the rest of Options.Pace to the next opening", Options: o, Crash: true, Test: restartTwice},
		{Name: "restart: a crash forgets no park and no deferral", Options: o, Crash: true, Test: restartCrash},
		{Name: "restart: openings are counted, and Unclean is about the last stop", Options: o, Crash: true, Test: restartCounts},
		{Name: "restart: an operator's clean stop leaves the next run an unclean one before it", Options: o, Crash: true, Test: restartOperator},
	}
}

// visit takes one turn with the host that is due, which leaves its task, and gives the host a pace and a wait.
func visit(s *stage.Stage, pace, wait time.Duration) {
	s.Helper()
	r := stage.Result(s.Turn(1))
	r.Host, r.Wait = &frontier.HostUpdate{Pace: pace}, wait
	s.Finish(r)
}

// due fails unless the first host is due after d.
func due(s *stage.Stage, d time.Duration) {
	s.Helper()
	stage.Want(s, "Host.Wait", s.Host("a").Wait, d)
	if d > 0 {
		c := s.Claim(1, 1)
		stage.Want(s, "state", c.State, frontier.Waiting)
		stage.Want(s, "due", c.Due, d)
		s.Blocked(d - time.Millisecond)
		s.Sleep(time.Millisecond)
	}
	s.Finish(stage.Result(s.Turn(1)))
}

func restartPark(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	visit(s, 2*time.Second, 3*time.Hour)
	s.Sleep(10 * time.Minute)
	s.Close()
	s.Sleep(time.Hour)
	s.Open(s.Options)
	due(s, 110*time.Minute)
}

func restartPace(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	visit(s, 5*time.Second, 5*time.Second)
	s.Close()
	s.Sleep(time.Hour)
	s.Open(s.Options)
	due(s, 5*time.Second)
	s.Reopen()
	due(s, 5*time.Second)
}

func restartLonger(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	visit(s, 5*time.Second, 6*time.Second)
	s.Sleep(4 * time.Second)
	s.Reopen()
	due(s, 5*time.Second)
}

func restartClean(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	visit(s, 0, 0)
	s.Reopen()
	due(s, 0)
}

func restartUnclean(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	s.Finish(stage.Result(s.Turn(1)))
	s.Crash()
	due(s, time.Second)
	s.Reopen()
	due(s, 0)
}

func restartStored(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	visit(s, 200*time.Millisecond, 0)
	s.Sync()
	s.Crash()
	due(s, time.Second)
	visit(s, 3*time.Second, 0)
	s.Sync()
	s.Crash()
	due(s, 3*time.Second)
}

func restartUnknown(s *stage.Stage) {
	s.Crash()
	s.Sleep(400 * time.Millisecond)
	s.NotDue("waiting", "b") // discovered and asked before the crash, for all we know
	s.Add(s.Links("a/0"))
	due(s, 600*time.Millisecond)
	if _, err := s.Frontier.ClaimAuthority(s.Context(), s.Authority("c")); err != nil {
		s.Fatalf("ClaimAuthority when the pace is over: %v", err)
	}
}

// paced opens the frontier with a PaceOf: that of b is short, that of c longer than Pace, and that of d less than zero.
func paced(s *stage.Stage) {
	s.Helper()
	o := s.Options
	o.PaceOf = func(a canon.Authority) time.Duration {
		switch a.Host() {
		case "b.test":
			return 300 * time.Millisecond
		case "c.test":
			return time.Hour
		case "d.test":
			return -1
		}
		return o.Pace
	}
	s.Open(o)
}

func restartPaceOf(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0", "c/0", "d/0"))
	s.Kill()
	paced(s)
	waits := func(name string, d time.Duration) {
		s.Helper()
		stage.Want(s, "Host.Wait of "+name, s.Host(name).Wait, d)
	}
	waits("a", time.Second)
	waits("b", 300*time.Millisecond)
	waits("c", time.Second)
	waits("d", 0)
	t := s.Turn(1)
	stage.Want(s, "the first that is due", t.Authority, s.Authority("d"))
	s.Finish(stage.Fetched(t))
	stage.Want(s, "due", s.Claim(1, 1).Due, 300*time.Millisecond)
	s.Sleep(100 * time.Millisecond)
	s.Add(s.Links("e/0"))
	waits("e", 900*time.Millisecond)
}

func restartTwice(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0"))
	visit(s, 200*time.Millisecond, 0)
	s.Sync()
	s.Kill()
	paced(s)
	s.Sleep(100 * time.Millisecond)
	s.Reopen()
	stage.Want(s, "Host.Wait of one with a stored pace", s.Host("a").Wait, 900*time.Millisecond)
	stage.Want(s, "Host.Wait of one with a pace of its own", s.Host("b").Wait, 300*time.Millisecond)
	s.NotDue("found in the second opening", "e") // discovered and asked before the crash, for all we know
	s.Sleep(899 * time.Millisecond)
	s.NotDue("found in the second opening", "e")
	s.Sleep(time.Millisecond)
	if _, err := s.Frontier.ClaimAuthority(s.Context(), s.Authority("e")); err != nil {
		s.Fatalf("ClaimAuthority when the pace is over: %v", err)
	}
}

func restartCrash(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	t := s.Turn(1)
	r := stage.Result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, After: 3 * time.Hour, Reason: "status 500"}}
	r.Host, r.Wait = &frontier.HostUpdate{Condition: frontier.Parked, Reason: "status 503", Pace: time.Second}, time.Hour
	s.Finish(r)
	s.Sync()
	s.Sleep(10 * time.Minute)
	s.Crash()
	h := s.Host("a")
	stage.Want(s, "condition", h.Condition, frontier.Parked)
	stage.Want(s, "reason", h.Reason, "status 503")
	stage.Want(s, "Deferred", h.Deferred, 1)
	stage.Want(s, "due", s.Claim(1, 1).Due, 50*time.Minute)
	s.Sleep(50 * time.Minute)
	t = s.Turn(2)
	stage.Want(s, "tasks", stage.Names(t.Tasks), "a/1")
	s.Finish(stage.Fetched(t))
	stage.Want(s, "due", s.Claim(1, 1).Due, 2*time.Hour)
	s.Sleep(2 * time.Hour)
	x := s.Turn(1).Tasks[0]
	stage.Want(s, "attempts", x.Attempts, 1)
	stage.Want(s, "reason", x.Reason, "status 500")
}

func restartCounts(s *stage.Stage) {
	for n, crash := range []bool{false, true, true, false} {
		if crash {
			s.Crash()
		} else {
			s.Reopen()
		}
		st := s.Stats()
		stage.Want(s, "Restarts", st.Restarts, int64(n+1))
		stage.Want(s, "Unclean", st.Unclean, crash)
	}
}

func restartOperator(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	s.Turn(1)
	s.Sleep(frontier.GroupDelay + time.Millisecond)
	s.Kill()
	run, operator := s.Options, s.Options
	operator.Operator = true
	for range 2 {
		s.Open(operator)
		stage.Want(s, "Unclean", s.Stats().Unclean, true)
		s.Close()
	}
	s.Open(run)
	stage.Want(s, "Unclean", s.Stats().Unclean, true)
	s.Sleep(run.Pace)
	stage.Want(s, "stops", s.Turn(1).Tasks[0].Stops, 1)
	s.Reopen()
	stage.Want(s, "Unclean after the run", s.Stats().Unclean, false)
	s.Close()
	s.Open(operator)
	s.Close()
	s.Open(run)
	stage.Want(s, "Unclean after an operator alone", s.Stats().Unclean, false)
}
