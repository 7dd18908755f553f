package frontiertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
)

// suspectRules are about URLs that may bring the process down each time they are fetched.
var suspectRules = []rule{
	{Name: "suspect: of two stops only while no other lease is out, and then no other turn", Crash: true, Test: func(s *Stage) {
		guilty := twice(s)
		e := s.Alone(s.Authority("e"))
		s.Add(s.Links("d/0"))
		for range 3 {
			t := s.Turn(9)
			require.NotEqual(s, guilty, Names(t.Tasks), "given while a lease is out")
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
	{Name: "suspect: one that is deferred is one no more", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "b/0"))
		accuse(s, 2)
		t := s.Turn(1)
		for t.Tasks[0].Stops == 0 {
			s.Finish(Fetched(t))
			t = s.Turn(1)
		}
		Want(s, "Suspects", s.Stats().Suspects, 2)
		s.end(t, frontier.Result{Deferred: []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Minute, Reason: "status 500"}}})
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

// fall lets a turn's lease be recorded, and crashes.
func fall(s *Stage) {
	s.Sleep(frontier.GroupDelay + time.Millisecond)
	s.Crash()
}

// accuse makes the first task of every host that is due a suspect: all are in flight at once.
func accuse(s *Stage, hosts int) {
	Want(s, "turns", len(s.Claim(hosts, 1).Turns), hosts)
	fall(s)
}

// nothing fails if a turn is given. A lease is out, so that Claim has to wait.
func nothing(s *Stage, what string) {
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	defer cancel()
	c, err := s.Frontier.Claim(ctx, frontier.Want{Hosts: 9, Tasks: 9, MaxWait: frontier.Never})
	require.ErrorIsf(s, err, context.DeadlineExceeded, "Claim gives %d turns, state %d; want it to wait: %s", len(c.Turns), c.State, what)
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

// quarantined fails unless so many URLs are in quarantine, and no other Failed.
func quarantined(s *Stage, n int64) {
	st := s.Stats()
	Want(s, "Failed", st.Outcomes[frontier.Failed], n)
	Want(s, "Failed as quarantined", st.Reasons[frontier.Failed][frontier.ReasonQuarantined], n)
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
			require.LessOrEqual(s, kills, most, "the killer is not in quarantine")
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
