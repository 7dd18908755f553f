package frontiertest

import (
	"fmt"
	"slices"
	"strings"

	"curtsy/frontier"
)

// quarantineRules are about URLs that bring the process down each time, and about those that only happen to be in
// flight when it is killed.
func quarantineRules() []rule {
	return []rule{
		{name: "quarantine: alone in flight at QuarantineStops unclean stops, closed as Failed at the opening", crash: true, test: quarantineAlone},
		{name: "quarantine: not for stops at which another was in flight", crash: true, test: quarantineCompany},
		{name: "quarantine: not for clean stops", crash: true, test: quarantineClean},
		{name: "quarantine: Retry opens it again with no stops counted", crash: true, test: quarantineRetry},
		{name: "quarantine: a deferral in between begins the count anew", crash: true, test: quarantineDeferred},
		{name: "quarantine: a URL that kills at each claim ends there soon, and all others get done", crash: true, test: quarantineKiller(1, false)},
		{name: "quarantine: also in turns of many tasks, on several hosts at once", crash: true, test: quarantineKiller(3, false)},
		{name: "quarantine: also when it kills at the instant of its claim", crash: true, test: quarantineKiller(3, true)},
		{name: "quarantine: twenty kills of an innocent crawl quarantine nothing", crash: true, test: quarantineInnocent},
		{name: "quarantine: twenty kills at any instant quarantine only what was alone at three", crash: true, test: quarantineRandom},
	}
}

// quarantined fails unless so many URLs are in quarantine, and no other Failed.
func (s *stage) quarantined(n int64) {
	s.Helper()
	st := s.stats()
	want(s, "Failed", st.Outcomes[frontier.Failed], n)
	want(s, "Failed as quarantined", st.Reasons[frontier.Failed][frontier.ReasonQuarantined], n)
}

// told fails unless Quarantined tells of these URLs: what this opening has put in quarantine, and no earlier one.
func (s *stage) told(urls ...string) {
	s.Helper()
	cs, err := s.f.Quarantined(s.Context())
	if err != nil {
		s.Fatalf("Quarantined: %v", err)
	}
	var got []string
	for _, c := range cs {
		got = append(got, short(c.URL))
	}
	want(s, "Quarantined", strings.Join(got, " "), strings.Join(urls, " "))
}

func quarantineAlone(s *stage) {
	s.add(s.links("a/0"))
	for n := range frontier.QuarantineStops {
		s.quarantined(0)
		want(s, "task", stops(s.turn(1).Tasks), fmt.Sprintf("a/0:%d", n))
		s.fall()
	}
	s.quarantined(1)
	s.told("a/0")
	st := s.stats()
	want(s, "Suspects", st.Suspects, 0)
	want(s, "Discovered", st.Discovered, 1)
	want(s, "state", s.claim(1, 1).State, frontier.Drained)
	want(s, "Add of it", s.add(s.links("a/0")), frontier.Added{Known: 1})
	s.reopen()
	s.quarantined(1)
	s.told()
	s.crash()
	s.quarantined(1)
	s.told()
}

func quarantineCompany(s *stage) {
	guilty := s.twice() // two stops, never alone
	for range frontier.QuarantineStops - 1 {
		for {
			t := s.turn(1)
			if names(t.Tasks) == guilty {
				break
			}
			s.finish(fetched(t))
		}
		s.fall()
		s.quarantined(0)
	}
	want(s, "the task", stops(s.only(guilty).Tasks), guilty+":4")
	s.fall()
	s.quarantined(1)
}

func quarantineClean(s *stage) {
	s.add(s.links("a/0"))
	for range 2 * frontier.QuarantineStops {
		s.turn(1)
		s.sleep(2 * frontier.GroupDelay)
		s.reopen()
	}
	want(s, "Suspects", s.stats().Suspects, 0)
	for range frontier.QuarantineStops - 1 {
		s.turn(1)
		s.fall()
		s.turn(1)
		s.reopen()
	}
	want(s, "the task", stops(s.turn(1).Tasks), fmt.Sprintf("a/0:%d", frontier.QuarantineStops-1))
	s.quarantined(0)
}

func quarantineRetry(s *stage) {
	s.add(s.links("a/0"))
	for round := range 2 {
		for n := range frontier.QuarantineStops {
			want(s, "task", stops(s.turn(1).Tasks), fmt.Sprintf("a/0:%d", n))
			s.fall()
		}
		s.quarantined(1)
		r := frontier.Retrial{Outcome: frontier.Failed, Reason: frontier.ReasonQuarantined}
		want(s, "Retried", s.retry(r), frontier.Retried{URLs: 1})
		s.quarantined(0)
		want(s, "Suspects", s.stats().Suspects, 0)
		if round == 0 {
			s.reopen()
		}
	}
	want(s, "the rest", s.all(), "a/0")
}

func quarantineDeferred(s *stage) {
	s.add(s.links("a/0"))
	for range 3 {
		for range frontier.QuarantineStops - 1 {
			s.turn(1)
			s.fall()
		}
		t := s.turn(1)
		want(s, "the task", stops(t.Tasks), fmt.Sprintf("a/0:%d", frontier.QuarantineStops-1))
		r := result(t)
		r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print}}
		s.finish(r)
		s.sync()
	}
	s.quarantined(0)
}

// quarantineKiller crawls three hosts, a turn of so many tasks at each at one time. Whoever begins with the second page
// of the first host brings the process down: at once, or when the lease has been recorded.
func quarantineKiller(tasks int, atOnce bool) func(s *stage) {
	return func(s *stage) {
		const killer, most = "a/1", 3 + frontier.QuarantineStops
		for _, h := range []string{"a", "b", "c"} {
			s.add(s.links(pages(h, 10)...))
		}
		kills := 0
		for done := false; !done; {
			if kills > most {
				s.Fatalf("%d kills, and %s is not in quarantine", kills, killer)
			}
			c := s.claim(3, tasks)
			done = len(c.Turns) == 0
			fatal := slices.ContainsFunc(c.Turns, func(t frontier.Turn) bool { return names(t.Tasks[:1]) == killer })
			switch {
			case fatal && atOnce:
				kills++
				s.crash()
				continue
			case fatal:
				kills++
				s.fall()
				continue
			}
			for _, t := range c.Turns {
				s.finish(fetched(t, t.Tasks[0]))
			}
		}
		s.quarantined(1)
		want(s, "Fetched", s.stats().Outcomes[frontier.Fetched], 29)
		s.retry(frontier.Retrial{Outcome: frontier.Failed})
		want(s, "what is tried again", s.all(), killer)
	}
}

// quarantineInnocent kills a crawl each time when four turns have been out for long enough to be recorded.
func quarantineInnocent(s *stage) {
	const kills, hosts, each = 20, 6, 30
	for h := range hosts {
		s.add(s.links(pages(fmt.Sprintf("h%d", h), each)...))
	}
	for range kills {
		c := s.claim(4, 3)
		want(s, "turns", len(c.Turns), 4)
		s.finish(fetched(c.Turns[0], c.Turns[0].Tasks[0]))
		s.finish(fetched(c.Turns[1], c.Turns[1].Tasks[:min(2, len(c.Turns[1].Tasks))]...))
		s.claim(2, 1)
		s.fall()
		s.quarantined(0)
	}
	s.drain(0)
	s.quarantined(0)
	st := s.stats()
	want(s, "Fetched", st.Outcomes[frontier.Fetched], hosts*each)
	want(s, "Suspects", st.Suspects, 0)
}

// quarantineRandom kills a crawl of few hosts after a number of steps that goes up and down. What may be in quarantine
// is what was the only task out at three of the kills, or within GroupDelay before.
func quarantineRandom(s *stage) {
	for h := range 3 {
		s.add(s.links(pages(fmt.Sprintf("h%d", h), 12)...))
	}
	alone := map[string]int{}
	for kill := range 20 {
		c := s.claim(1+kill%2, 1+kill%3)
		for range kill * 7 % 4 {
			for _, t := range c.Turns {
				s.finish(fetched(t, t.Tasks[0]))
			}
			c = s.claim(1+kill%3, 2)
		}
		s.sleep(frontier.GroupDelay + 1)
		if len(c.Turns) == 1 {
			alone[names(c.Turns[0].Tasks[:1])]++
		}
		s.crash()
	}
	us := s.drain(0)
	var may int64
	for _, n := range alone {
		if n >= frontier.QuarantineStops {
			may++
		}
	}
	st := s.stats()
	want(s, "Suspects", st.Suspects, 0)
	want(s, "Fetched and Failed", st.Outcomes[frontier.Fetched]+st.Outcomes[frontier.Failed], 36)
	if n := st.Reasons[frontier.Failed][frontier.ReasonQuarantined]; n > may || n != st.Outcomes[frontier.Failed] {
		s.Fatalf("%d in quarantine, and %d were alone at %d kills; the rest: %s", n, may, frontier.QuarantineStops, strings.Join(us, " "))
	}
}
