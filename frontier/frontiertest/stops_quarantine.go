package frontiertest

import (
	"fmt"
	"slices"
	"strings"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// quarantineRules are about URLs that bring the process down each time, and about those that only happen to be in
// flight when it is killed.
func quarantineRules() []stage.Rule {
	return []stage.Rule{
		{Name: "quarantine: alone in flight at QuarantineStops unclean stops, closed as Failed at the opening", Crash: true, Test: quarantineAlone},
		{Name: "quarantine: not for stops at which another was in flight", Crash: true, Test: quarantineCompany},
		{Name: "quarantine: not for clean stops", Crash: true, Test: quarantineClean},
		{Name: "quarantine: Retry opens it again with no stops counted", Crash: true, Test: quarantineRetry},
		{Name: "quarantine: a deferral in between begins the count anew", Crash: true, Test: quarantineDeferred},
		{Name: "quarantine: a URL that kills at each claim ends there soon, and all others get done", Crash: true, Test: quarantineKiller(1, false)},
		{Name: "quarantine: also in turns of many tasks, on several hosts at once", Crash: true, Test: quarantineKiller(3, false)},
		{Name: "quarantine: also when it kills at the instant of its claim", Crash: true, Test: quarantineKiller(3, true)},
		{Name: "quarantine: twenty kills of an innocent crawl quarantine nothing", Crash: true, Test: quarantineInnocent},
		{Name: "quarantine: twenty kills at any instant quarantine only what was alone at three", Crash: true, Test: quarantineRandom},
	}
}

// quarantined fails unless so many URLs are in quarantine, and no other Failed.
func quarantined(s *stage.Stage, n int64) {
	s.Helper()
	st := s.Stats()
	stage.Want(s, "Failed", st.Outcomes[frontier.Failed], n)
	stage.Want(s, "Failed as quarantined", st.Reasons[frontier.Failed][frontier.ReasonQuarantined], n)
}

// told fails unless Quarantined tells of these URLs: what this opening has put in quarantine, and no earlier one.
func told(s *stage.Stage, urls ...string) {
	s.Helper()
	cs, err := s.Frontier.Quarantined(s.Context())
	if err != nil {
		s.Fatalf("Quarantined: %v", err)
	}
	var got []string
	for _, c := range cs {
		got = append(got, stage.Short(c.URL))
	}
	stage.Want(s, "Quarantined", strings.Join(got, " "), strings.Join(urls, " "))
}

func quarantineAlone(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	for n := range frontier.QuarantineStops {
		quarantined(s, 0)
		stage.Want(s, "task", stops(s.Turn(1).Tasks), fmt.Sprintf("a/0:%d", n))
		fall(s)
	}
	quarantined(s, 1)
	told(s, "a/0")
	st := s.Stats()
	stage.Want(s, "Suspects", st.Suspects, 0)
	stage.Want(s, "Discovered", st.Discovered, 1)
	stage.Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
	stage.Want(s, "Add of it", s.Add(s.Links("a/0")), frontier.Added{Known: 1})
	s.Reopen()
	quarantined(s, 1)
	told(s)
	s.Crash()
	quarantined(s, 1)
	told(s)
}

func quarantineCompany(s *stage.Stage) {
	guilty := twice(s) // two stops, never alone
	for range frontier.QuarantineStops - 1 {
		for {
			t := s.Turn(1)
			if stage.Names(t.Tasks) == guilty {
				break
			}
			s.Finish(stage.Fetched(t))
		}
		fall(s)
		quarantined(s, 0)
	}
	stage.Want(s, "the task", stops(s.Only(guilty).Tasks), guilty+":4")
	fall(s)
	quarantined(s, 1)
}

func quarantineClean(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	for range 2 * frontier.QuarantineStops {
		s.Turn(1)
		s.Sleep(2 * frontier.GroupDelay)
		s.Reopen()
	}
	stage.Want(s, "Suspects", s.Stats().Suspects, 0)
	for range frontier.QuarantineStops - 1 {
		s.Turn(1)
		fall(s)
		s.Turn(1)
		s.Reopen()
	}
	stage.Want(s, "the task", stops(s.Turn(1).Tasks), fmt.Sprintf("a/0:%d", frontier.QuarantineStops-1))
	quarantined(s, 0)
}

func quarantineRetry(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	for round := range 2 {
		for n := range frontier.QuarantineStops {
			stage.Want(s, "task", stops(s.Turn(1).Tasks), fmt.Sprintf("a/0:%d", n))
			fall(s)
		}
		quarantined(s, 1)
		r := frontier.Retrial{Outcome: frontier.Failed, Reason: frontier.ReasonQuarantined}
		stage.Want(s, "Retried", s.Retry(r), frontier.Retried{URLs: 1})
		quarantined(s, 0)
		stage.Want(s, "Suspects", s.Stats().Suspects, 0)
		if round == 0 {
			s.Reopen()
		}
	}
	stage.Want(s, "the rest", s.Pending(), "a/0")
}

func quarantineDeferred(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	for range 3 {
		for range frontier.QuarantineStops - 1 {
			s.Turn(1)
			fall(s)
		}
		t := s.Turn(1)
		stage.Want(s, "the task", stops(t.Tasks), fmt.Sprintf("a/0:%d", frontier.QuarantineStops-1))
		r := stage.Result(t)
		r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print}}
		s.Finish(r)
		s.Sync()
	}
	quarantined(s, 0)
}

// quarantineKiller crawls three hosts, a turn of so many tasks at each at one time. A worker that begins with the
// second page of the first host brings the process down: at once, or when the lease has been recorded.
func quarantineKiller(tasks int, atOnce bool) func(s *stage.Stage) {
	return func(s *stage.Stage) {
		const killer, most = "a/1", 3 + frontier.QuarantineStops
		for _, h := range []string{"a", "b", "c"} {
			s.Add(s.Links(stage.Pages(h, 10)...))
		}
		kills := 0
		for done := false; !done; {
			if kills > most {
				s.Fatalf("%d kills, and %s is not in quarantine", kills, killer)
			}
			c := s.Claim(3, tasks)
			done = len(c.Turns) == 0
			fatal := slices.ContainsFunc(c.Turns, func(t frontier.Turn) bool { return stage.Names(t.Tasks[:1]) == killer })
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
				s.Finish(stage.Fetched(t, t.Tasks[0]))
			}
		}
		quarantined(s, 1)
		stage.Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], 29)
		s.Retry(frontier.Retrial{Outcome: frontier.Failed})
		stage.Want(s, "what is tried again", s.Pending(), killer)
	}
}

// quarantineInnocent kills a crawl each time when four turns have been out for long enough to be recorded.
func quarantineInnocent(s *stage.Stage) {
	const kills, hosts, each = 20, 6, 30
	for h := range hosts {
		s.Add(s.Links(stage.Pages(fmt.Sprintf("h%d", h), each)...))
	}
	for range kills {
		c := s.Claim(4, 3)
		stage.Want(s, "turns", len(c.Turns), 4)
		s.Finish(stage.Fetched(c.Turns[0], c.Turns[0].Tasks[0]))
		s.Finish(stage.Fetched(c.Turns[1], c.Turns[1].Tasks[:min(2, len(c.Turns[1].Tasks))]...))
		s.Claim(2, 1)
		fall(s)
		quarantined(s, 0)
	}
	s.Drain(0)
	quarantined(s, 0)
	st := s.Stats()
	stage.Want(s, "Fetched", st.Outcomes[frontier.Fetched], hosts*each)
	stage.Want(s, "Suspects", st.Suspects, 0)
}

// quarantineRandom kills a crawl of few hosts after a number of steps that goes up and down. Only a task may be in
// quarantine that was alone out at three of the kills, or within GroupDelay before.
func quarantineRandom(s *stage.Stage) {
	for h := range 3 {
		s.Add(s.Links(stage.Pages(fmt.Sprintf("h%d", h), 12)...))
	}
	alone := map[string]int{}
	for kill := range 20 {
		c := s.Claim(1+kill%2, 1+kill%3)
		for range kill * 7 % 4 {
			for _, t := range c.Turns {
				s.Finish(stage.Fetched(t, t.Tasks[0]))
			}
			c = s.Claim(1+kill%3, 2)
		}
		s.Sleep(frontier.GroupDelay + 1)
		if len(c.Turns) == 1 {
			alone[stage.Names(c.Turns[0].Tasks[:1])]++
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
	stage.Want(s, "Suspects", st.Suspects, 0)
	stage.Want(s, "Fetched and Failed", st.Outcomes[frontier.Fetched]+st.Outcomes[frontier.Failed], 36)
	if n := st.Reasons[frontier.Failed][frontier.ReasonQuarantined]; n > may || n != st.Outcomes[frontier.Failed] {
		s.Fatalf("%d in quarantine, and %d were alone at %d kills; the rest: %s", n, may, frontier.QuarantineStops, strings.Join(us, " "))
	}
}
