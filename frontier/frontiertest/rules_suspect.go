package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"curtsy/frontier"
)

// suspectRules are about URLs that may bring the process down each time they are fetched.
var suspectRules = []rule{
	{Name: "suspect: what was in flight at an unclean stop comes last of its host, alone, and says so", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links(Pages("a", 4)...))
		s.Turn(1)
		fall(s)
		Want(s, "Suspects", s.Stats().Suspects, 1)
		Want(s, "Queued", s.Host("a").Queued, 4)
		t := s.Turn(9)
		Want(s, "the first turn", stops(t.Tasks), "a/1:0 a/2:0 a/3:0")
		s.Finish(Fetched(t, t.Tasks[0]))
		t = s.Turn(9)
		Want(s, "the second turn", stops(t.Tasks), "a/2:0 a/3:0")
		s.end(t, frontier.Result{Done: done(t.Tasks[0]), Found: s.Links("a/4"), Deferred: []frontier.Deferral{{Print: t.Tasks[1].Print, After: time.Minute}}})
		s.Sleep(time.Minute)
		t = s.Turn(1)
		s.Finish(Fetched(t))
		other := s.Turn(1)
		s.Finish(Fetched(other))
		if us := Names(t.Tasks) + " " + Names(other.Tasks); us != "a/3 a/4" && us != "a/4 a/3" {
			s.Fatalf("then came %s; want the link and the deferred one, before the suspect", us)
		}
		t = s.Turn(9)
		Want(s, "the last turn", stops(t.Tasks), "a/0:1")
		Want(s, "attempts", t.Tasks[0].Attempts, 0)
		s.Finish(Fetched(t))
		Want(s, "Suspects", s.Stats().Suspects, 0)
		Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
	}},
	{Name: "suspect: what a turn brought but was not in flight yet is none", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links(Pages("a", 5)...))
		t := s.Turn(4)
		s.Finish(Fetched(t, t.Tasks[0]))
		s.Turn(3)
		fall(s)
		t = s.Turn(9)
		Want(s, "the innocent", stops(t.Tasks), "a/2:0 a/3:0 a/4:0")
		s.Finish(Fetched(t))
		Want(s, "the suspect", stops(s.Turn(9).Tasks), "a/1:1")
	}},
	{Name: "suspect: with a width of two, the first two of the turn are", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links(Pages("a", 5)...))
		s.end(s.Turn(1), frontier.Result{Host: &frontier.HostUpdate{Width: 2}})
		s.Turn(4)
		fall(s)
		Want(s, "Suspects", s.Stats().Suspects, 2)
		t := s.Turn(9)
		Want(s, "the innocent", stops(t.Tasks), "a/2:0 a/3:0 a/4:0")
		s.Finish(Fetched(t))
		first := s.Turn(9)
		Want(s, "suspects in a turn", len(first.Tasks), 1)
		s.Finish(Fetched(first))
		second := s.Turn(9)
		Want(s, "suspects in a turn", len(second.Tasks), 1)
		s.Finish(Fetched(second))
		if us := stops(first.Tasks) + " " + stops(second.Tasks); us != "a/0:1 a/1:1" && us != "a/1:1 a/0:1" {
			s.Fatalf("suspects: %s", us)
		}
	}},
	{Name: "suspect: with Keep, the first that is not settled yet", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links(Pages("a", 4)...))
		t := s.Turn(2)
		Want(s, "more", Names(s.end(t, frontier.Result{Done: done(t.Tasks[0]), Keep: true, Want: 1}).Tasks), "a/2")
		fall(s)
		t = s.Turn(9)
		Want(s, "the innocent", stops(t.Tasks), "a/2:0 a/3:0")
		s.Finish(Fetched(t))
		Want(s, "the suspect", stops(s.Turn(9).Tasks), "a/1:1")
	}},
	{Name: "suspect: a lease without tasks makes none", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1"))
		s.Alone(s.Authority("a"))
		fall(s)
		Want(s, "Suspects", s.Stats().Suspects, 0)
		Want(s, "tasks", stops(s.Turn(9).Tasks), "a/0:0 a/1:0")
	}},
	{Name: "suspect: one at a time in the whole frontier, while other hosts go on", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0", "c/0"))
		accuse(s, 3)
		Want(s, "Suspects", s.Stats().Suspects, 3)
		t := s.Turn(9)
		Want(s, "stops", t.Tasks[0].Stops, 1)
		nothing(s, "the other suspects")
		s.Add(s.Links("d/0", "d/1"))
		d := s.Turn(9)
		Want(s, "another host", Names(d.Tasks), "d/0 d/1")
		nothing(s, "the other suspects")
		s.Finish(Fetched(t))
		t = s.Turn(9)
		Want(s, "stops of the next", t.Tasks[0].Stops, 1)
		nothing(s, "the third")
		s.Finish(Fetched(t))
		s.Finish(Fetched(d))
		s.Finish(Fetched(s.Turn(9)))
		Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
	}},
	{Name: "suspect: a turn with one brings no more tasks", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.Turn(1)
		fall(s)
		t := s.Turn(9)
		Want(s, "the suspect", stops(t.Tasks), "a/0:1")
		s.Add(s.Links("a/1", "a/2"))
		Want(s, "more while it is out", Names(s.end(t, frontier.Result{Keep: true, Want: 2}).Tasks), "")
		Want(s, "more when it is closed", Names(s.end(t, frontier.Result{Done: done(t.Tasks...), Keep: true, Want: 2}).Tasks), "")
		s.Finish(resultOf(t))
		Want(s, "the rest", s.Pending(), "a/1 a/2")
	}},
	{Name: "suspect: of two stops only while no other lease is out, and then no other turn", Crash: true, Test: func(s *Stage) {
		guilty := twice(s)
		e := s.Alone(s.Authority("e"))
		s.Add(s.Links("d/0"))
		for range 3 {
			t := s.Turn(9)
			if Names(t.Tasks) == guilty {
				s.Fatalf("%s is given while a lease is out", stops(t.Tasks))
			}
			s.Finish(Fetched(t))
		}
		nothing(s, "a suspect of two stops, while a lease is out")
		s.Finish(resultOf(e))
		t := s.Turn(9)
		Want(s, "at last", stops(t.Tasks), guilty+":2")
		s.Add(s.Links("d/1"))
		nothing(s, "other hosts, while a suspect of two stops is out")
		s.NotDue("a suspect of two stops is out", "e")
		s.Finish(Fetched(t))
		Want(s, "the rest", s.Pending(), "d/1")
	}},
}

// fall lets a turn's lease be recorded, and crashes.
func fall(s *Stage) {
	s.Helper()
	s.Sleep(frontier.GroupDelay + time.Millisecond)
	s.Crash()
}

// accuse makes the first task of every host that is due a suspect: all are in flight at once.
func accuse(s *Stage, hosts int) {
	s.Helper()
	Want(s, "turns", len(s.Claim(hosts, 1).Turns), hosts)
	fall(s)
}

// nothing fails if a turn is given. A lease is out, so that Claim has to wait.
func nothing(s *Stage, what string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	defer cancel()
	c, err := s.Frontier.Claim(ctx, frontier.Want{Hosts: 9, Tasks: 9, MaxWait: frontier.Never})
	if !errors.Is(err, context.DeadlineExceeded) {
		s.Fatalf("Claim gives %d turns, state %d, error %v; want it to wait: %s", len(c.Turns), c.State, err, what)
	}
}

// stops returns the tasks with their stops: "a/1:2 a/2:0".
func stops(ts []frontier.Task) string {
	var us []string
	for _, t := range ts {
		us = append(us, fmt.Sprintf("%s:%d", Short(t.URL), t.Stops))
	}
	return strings.Join(us, " ")
}

// twice leaves a suspect of two stops, which was never alone, one of one stop, and x/0, one of one stop too. It returns
// the first.
func twice(s *Stage) string {
	s.Helper()
	s.Add(s.Links("a/0", "b/0"))
	accuse(s, 2)
	s.Add(s.Links("x/0"))
	c := s.Claim(9, 9)
	Want(s, "turns", len(c.Turns), 2)
	fall(s)
	Want(s, "Suspects", s.Stats().Suspects, 3)
	for _, t := range c.Turns {
		if t.Tasks[0].Stops > 0 {
			return Names(t.Tasks)
		}
	}
	s.Fatal("no turn has a suspect, though nothing else of its host is due")
	return ""
}

// recordRules are about how long a task is a suspect, and when it is durable that it is in flight.
var recordRules = []rule{
	{Name: "suspect: one that is deferred is one no more", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "b/0"))
		accuse(s, 2)
		t := s.Turn(1)
		for t.Tasks[0].Stops == 0 {
			s.Finish(Fetched(t))
			t = s.Turn(1)
		}
		Want(s, "Suspects", s.Stats().Suspects, 2)
		s.Postpone(t, frontier.Deferral{After: time.Minute, Reason: "status 500"})
		Want(s, "Suspects", s.Stats().Suspects, 1)
		for range 2 {
			s.Sleep(time.Minute)
			other := s.Turn(1)
			if other.Tasks[0].Stops > 0 {
				s.Finish(Fetched(other))
				other = s.Turn(1)
			}
			Want(s, "the deferred one", stops(other.Tasks), Names(t.Tasks)+":0")
			Want(s, "attempts", other.Tasks[0].Attempts, 1)
			s.Finish(resultOf(other))
			s.Reopen()
		}
	}},
	{Name: "suspect: one that is returned untried, or whose lease expires, stays one", Crash: true, Options: frontier.Options{LeaseLength: turnLength}, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.Turn(1)
		fall(s)
		t := s.Turn(1)
		Want(s, "the suspect", stops(t.Tasks), "a/0:1")
		s.Finish(resultOf(t))
		Want(s, "returned", stops(s.Turn(1).Tasks), "a/0:1")
		s.Outlast()
		Want(s, "expired", stops(s.Turn(1).Tasks), "a/0:1")
		Want(s, "Suspects", s.Stats().Suspects, 1)
	}},
	{Name: "suspect: one that is closed is counted no more, and its retry is innocent", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.Turn(1)
		fall(s)
		t := s.Turn(1)
		s.end(t, frontier.Result{Done: []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Failed}}})
		Want(s, "Suspects", s.Stats().Suspects, 0)
		s.Retry(frontier.Retrial{Outcome: frontier.Failed})
		Want(s, "Suspects", s.Stats().Suspects, 0)
		s.Add(s.Links("a/1"))
		Want(s, "tasks", stops(s.Turn(9).Tasks), "a/0:0 a/1:0")
	}},
	{Name: "suspect: stays one over a clean stop, with no stop counted", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.Turn(1)
		fall(s)
		for range 4 {
			Want(s, "the suspect", stops(s.Turn(1).Tasks), "a/0:1")
			s.Reopen()
			Want(s, "Suspects", s.Stats().Suspects, 1)
		}
	}},
	// Crashes at the very instant at which a turn is given.
	{Name: "suspect: after an unclean stop a turn is given only when its record is durable", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "b/0"))
		s.Crash()
		Want(s, "Suspects", s.Stats().Suspects, 0)
		s.Claim(2, 1)
		s.Crash()
		Want(s, "Suspects", s.Stats().Suspects, 2)
		Want(s, "the innocent", stops(s.Turn(1).Tasks), "a/1:0")
	}},
	// First has so many results applied that other turns are given without a record.
	{Name: "suspect: the record of a turn with one is durable when it is given, however late", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.Turn(1)
		fall(s)
		s.Add(s.Links("b/0"))
		for range frontier.GroupPages + 10 {
			t := s.Turn(9)
			if Names(t.Tasks) == "b/0" || len(t.Tasks) == 0 {
				s.Finish(resultOf(t))
				continue
			}
			Want(s, "the suspect", stops(t.Tasks), "a/0:1")
			s.Finish(resultOf(t))
		}
		s.Add(s.Links("c/0")) // a commit whose record is empty
		Want(s, "the suspect", stops(s.Only("a/0").Tasks), "a/0:1")
		s.Crash()
		Want(s, "the suspect", stops(s.Only("a/0").Tasks), "a/0:2")
	}},
	{Name: "suspect: a lease is recorded within GroupDelay, without a result", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1"))
		s.Sleep(2 * frontier.GroupDelay) // no commit is on its way for another reason
		s.Turn(1)
		fall(s)
		Want(s, "Suspects", s.Stats().Suspects, 1)
	}},
}

// quarantineRules are about URLs that bring the process down each time, and about those that only happen to be in
// flight when it is killed.
var quarantineRules = []rule{
	{Name: "quarantine: alone in flight at QuarantineStops unclean stops, closed as Failed at the opening", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		for n := range frontier.QuarantineStops {
			quarantined(s, 0)
			Want(s, "task", stops(s.Turn(1).Tasks), fmt.Sprintf("a/0:%d", n))
			fall(s)
		}
		quarantined(s, 1)
		told(s, "a/0")
		st := s.Stats()
		Want(s, "Suspects", st.Suspects, 0)
		Want(s, "Discovered", st.Discovered, 1)
		Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
		Want(s, "Add of it", s.Add(s.Links("a/0")), frontier.Added{Known: 1})
		s.Reopen()
		quarantined(s, 1)
		told(s)
		s.Crash()
		quarantined(s, 1)
		told(s)
	}},
	{Name: "quarantine: not for stops at which another was in flight", Crash: true, Test: func(s *Stage) {
		guilty := twice(s) // two stops, never alone
		for range frontier.QuarantineStops - 1 {
			for {
				t := s.Turn(1)
				if Names(t.Tasks) == guilty {
					break
				}
				s.Finish(Fetched(t))
			}
			fall(s)
			quarantined(s, 0)
		}
		Want(s, "the task", stops(s.Only(guilty).Tasks), guilty+":4")
		fall(s)
		quarantined(s, 1)
	}},
	{Name: "quarantine: not for clean stops", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		for range 2 * frontier.QuarantineStops {
			s.Turn(1)
			s.Sleep(2 * frontier.GroupDelay)
			s.Reopen()
		}
		Want(s, "Suspects", s.Stats().Suspects, 0)
		for range frontier.QuarantineStops - 1 {
			s.Turn(1)
			fall(s)
			s.Turn(1)
			s.Reopen()
		}
		Want(s, "the task", stops(s.Turn(1).Tasks), fmt.Sprintf("a/0:%d", frontier.QuarantineStops-1))
		quarantined(s, 0)
	}},
	{Name: "quarantine: Retry opens it again with no stops counted", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		for round := range 2 {
			for n := range frontier.QuarantineStops {
				Want(s, "task", stops(s.Turn(1).Tasks), fmt.Sprintf("a/0:%d", n))
				fall(s)
			}
			quarantined(s, 1)
			r := frontier.Retrial{Outcome: frontier.Failed, Reason: frontier.ReasonQuarantined}
			Want(s, "Retried", s.Retry(r), frontier.Retried{URLs: 1})
			quarantined(s, 0)
			Want(s, "Suspects", s.Stats().Suspects, 0)
			if round == 0 {
				s.Reopen()
			}
		}
		Want(s, "the rest", s.Pending(), "a/0")
	}},
	{Name: "quarantine: a deferral in between begins the count anew", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		for range 3 {
			for range frontier.QuarantineStops - 1 {
				s.Turn(1)
				fall(s)
			}
			t := s.Turn(1)
			Want(s, "the task", stops(t.Tasks), fmt.Sprintf("a/0:%d", frontier.QuarantineStops-1))
			s.Postpone(t, frontier.Deferral{})
			s.Sync()
		}
		quarantined(s, 0)
	}},
	{Name: "quarantine: a URL that kills at each claim ends there soon, and all others get done", Crash: true, Test: quarantineKiller(1, false)},
	{Name: "quarantine: also in turns of many tasks, on several hosts at once", Crash: true, Test: quarantineKiller(3, false)},
	{Name: "quarantine: also when it kills at the instant of its claim", Crash: true, Test: quarantineKiller(3, true)},
	// Kills a crawl each time when four turns have been out for long enough to be recorded.
	{Name: "quarantine: twenty kills of an innocent crawl quarantine nothing", Crash: true, Test: func(s *Stage) {
		const kills, hosts, each = 20, 6, 30
		for h := range hosts {
			s.Add(s.Links(Pages(fmt.Sprintf("h%d", h), each)...))
		}
		for range kills {
			c := s.Claim(4, 3)
			Want(s, "turns", len(c.Turns), 4)
			s.Finish(Fetched(c.Turns[0], c.Turns[0].Tasks[0]))
			s.Finish(Fetched(c.Turns[1], c.Turns[1].Tasks[:min(2, len(c.Turns[1].Tasks))]...))
			s.Claim(2, 1)
			fall(s)
			quarantined(s, 0)
		}
		s.Drain(0)
		quarantined(s, 0)
		st := s.Stats()
		Want(s, "Fetched", st.Outcomes[frontier.Fetched], hosts*each)
		Want(s, "Suspects", st.Suspects, 0)
	}},
	// Kills a crawl of few hosts after a number of steps that goes up and down. Only a task may be in quarantine that was alone out at three of the kills, or within GroupDelay before.
	{Name: "quarantine: twenty kills at any instant quarantine only what was alone at three", Crash: true, Test: func(s *Stage) {
		for h := range 3 {
			s.Add(s.Links(Pages(fmt.Sprintf("h%d", h), 12)...))
		}
		alone := map[string]int{}
		for kill := range 20 {
			c := s.Claim(1+kill%2, 1+kill%3)
			for range kill * 7 % 4 {
				for _, t := range c.Turns {
					s.Finish(Fetched(t, t.Tasks[0]))
				}
				c = s.Claim(1+kill%3, 2)
			}
			s.Sleep(frontier.GroupDelay + 1)
			if len(c.Turns) == 1 {
				alone[Names(c.Turns[0].Tasks[:1])]++
			}
			s.Crash()
		}
		us := s.Drain(0)
		var may int64
		for _, n := range alone {
			if n >= frontier.QuarantineStops {
				may++
			}
		}
		st := s.Stats()
		Want(s, "Suspects", st.Suspects, 0)
		Want(s, "Fetched and Failed", st.Outcomes[frontier.Fetched]+st.Outcomes[frontier.Failed], 36)
		if n := st.Reasons[frontier.Failed][frontier.ReasonQuarantined]; n > may || n != st.Outcomes[frontier.Failed] {
			s.Fatalf("%d in quarantine, and %d were alone at %d kills; the rest: %s", n, may, frontier.QuarantineStops, strings.Join(us, " "))
		}
	}},
}

// quarantined fails unless so many URLs are in quarantine, and no other Failed.
func quarantined(s *Stage, n int64) {
	s.Helper()
	st := s.Stats()
	Want(s, "Failed", st.Outcomes[frontier.Failed], n)
	Want(s, "Failed as quarantined", st.Reasons[frontier.Failed][frontier.ReasonQuarantined], n)
}

// told fails unless Quarantined tells of these URLs: what this opening has put in quarantine, and no earlier one.
func told(s *Stage, urls ...string) {
	s.Helper()
	cs, err := s.Frontier.Quarantined(s.Context())
	if err != nil {
		s.Fatalf("Quarantined: %v", err)
	}
	var got []string
	for _, c := range cs {
		got = append(got, Short(c.URL))
	}
	Want(s, "Quarantined", strings.Join(got, " "), strings.Join(urls, " "))
}

// quarantineKiller crawls three hosts, a turn of so many tasks at each at one time. A worker that begins with the
// second page of the first host brings the process down: at once, or when the lease has been recorded.
func quarantineKiller(tasks int, atOnce bool) func(s *Stage) {
	return func(s *Stage) {
		const killer, most = "a/1", 3 + frontier.QuarantineStops
		for _, h := range []string{"a", "b", "c"} {
			s.Add(s.Links(Pages(h, 10)...))
		}
		kills := 0
		for done := false; !done; {
			if kills > most {
				s.Fatalf("%d kills, and %s is not in quarantine", kills, killer)
			}
			c := s.Claim(3, tasks)
			done = len(c.Turns) == 0
			fatal := slices.ContainsFunc(c.Turns, func(t frontier.Turn) bool { return Names(t.Tasks[:1]) == killer })
			switch {
			case fatal && atOnce:
				kills++
				s.Crash()
				continue
			case fatal:
				kills++
				fall(s)
				continue
			}
			for _, t := range c.Turns {
				s.Finish(Fetched(t, t.Tasks[0]))
			}
		}
		quarantined(s, 1)
		Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], 29)
		s.Retry(frontier.Retrial{Outcome: frontier.Failed})
		Want(s, "what is tried again", s.Pending(), killer)
	}
}
