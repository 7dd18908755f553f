package frontiertest

import (
	"fmt"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// surveyRules are about what stands out among hosts.
func surveyRules() []rule {
	return []rule{
		{name: "survey: of a new frontier is empty", test: surveyEmpty},
		{name: "survey: the longest queues first, leased and deferred counted, at most so many", test: surveyLongest},
		{name: "survey: shut are those with something pending that cannot have a turn now", test: surveyShut},
		{name: "survey: hosts come as Host has them, without robots state and memory", test: surveyHosts},
		{name: "survey: all hosts are counted by condition and reason, and by what an operator commanded", test: surveyWhy},
		{name: "entry: a URL that became a task is told with its state, and no other is", test: entryStates},
	}
}

// survey looks at what stands out, n hosts of each kind.
func (s *stage) survey(n int) frontier.Survey {
	s.Helper()
	v, err := s.f.Survey(s.Context(), n)
	if err != nil {
		s.Fatalf("Survey: %v", err)
	}
	return v
}

// lengths returns hosts with the numbers of their pending URLs: "a:3 b:1".
func lengths(hosts []frontier.Host) string {
	var text string
	for _, h := range hosts {
		if n := h.Pending(); n > 0 {
			text += fmt.Sprintf(" %s:%d", h.Authority.Host(), n)
		}
	}
	return text
}

func surveyEmpty(s *stage) {
	v := s.survey(5)
	want(s, "lists and counts", len(v.Longest)+len(v.Shut)+len(v.Why)+len(v.Holds), 0)
}

func surveyLongest(s *stage) {
	for i, h := range []string{"a", "b", "c", "d"} {
		s.add(s.links(pages(h, []int{3, 9, 1, 6}[i])...))
	}
	t := s.turn(2)
	r := result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Hour}}
	s.finish(r)
	s.claim(2, 3)
	want(s, "all", lengths(s.survey(9).Longest), " b.test:9 d.test:6 a.test:3 c.test:1")
	want(s, "two", lengths(s.survey(2).Longest), " b.test:9 d.test:6")
	want(s, "none", len(s.survey(0).Longest), 0)
	want(s, "shut", lengths(s.survey(9).Shut), "")
	s.reopen()
	want(s, "after a reopen", lengths(s.survey(3).Longest), " b.test:9 d.test:6 a.test:3")
}

func surveyShut(s *stage) {
	for i, h := range []string{"a", "b", "c", "d", "e", "f"} {
		s.add(s.links(pages(h, i+1)...))
	}
	s.rest(frontier.Retired, frontier.Refused, frontier.Parked, frontier.Open, frontier.Open, frontier.Open, frontier.Refused)
	s.steer(frontier.Park, "d")
	s.steer(frontier.Drop, "e")
	want(s, "shut", lengths(s.survey(9).Shut), " d.test:4 c.test:3 b.test:2 a.test:1")
	want(s, "the first", lengths(s.survey(1).Shut), " d.test:4")
	s.steer(frontier.Resume, "d")
	s.steer(frontier.Resume, "b")
	want(s, "shut", lengths(s.survey(9).Shut), " c.test:3 a.test:1")
}

func surveyHosts(s *stage) {
	s.add(s.links("a/0", "a/1"))
	t := s.turn(1)
	r := fetched(t)
	r.Host = &frontier.HostUpdate{
		Condition: frontier.Parked, Reason: "busy", Pace: time.Second, Width: 2, Robots: []byte("robots"), Memory: []byte("memory"),
	}
	r.Wait = time.Minute
	s.finish(r)
	s.command(frontier.Steering{Act: frontier.Park, Authority: s.auth("a"), For: time.Hour, Reason: "r"})
	h := s.host("a")
	h.Robots, h.Memory = nil, nil
	v := s.survey(1)
	want(s, "lists", fmt.Sprint(len(v.Longest), len(v.Shut)), "1 1")
	for _, got := range []frontier.Host{v.Longest[0], v.Shut[0]} {
		want(s, "robots state and memory", len(got.Robots)+len(got.Memory), 0)
		got.Robots, got.Memory = nil, nil
		want(s, "the host", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", h))
	}
}

func surveyWhy(s *stage) {
	s.rest(frontier.Retired, frontier.Refused, frontier.Parked, frontier.Open, frontier.Refused)
	for _, h := range []string{"a", "d", "x"} {
		s.steer(frontier.Park, h)
	}
	s.steer(frontier.Drop, "e")
	v := s.survey(0)
	why := map[frontier.Condition]map[string]int64{
		frontier.Parked: {"a reason": 1}, frontier.Retired: {"a reason": 1}, frontier.Refused: {"a reason": 2},
	}
	want(s, "Why", fmt.Sprint(v.Why), fmt.Sprint(why))
	want(s, "Holds", fmt.Sprint(v.Holds), fmt.Sprint(map[frontier.Act]int64{frontier.Park: 3, frontier.Drop: 1}))
}

// urls returns the URLs of candidates.
func urls(cs []frontier.Candidate) []canon.URL {
	var us []canon.URL
	for _, c := range cs {
		us = append(us, c.URL)
	}
	return us
}

// entry asks about one URL.
func (s *stage) entry(u string) (frontier.Entry, bool) {
	s.Helper()
	e, ok, err := s.f.Entry(s.Context(), s.url(u))
	if err != nil {
		s.Fatalf("Entry %s: %v", u, err)
	}
	return e, ok
}

func entryStates(s *stage) {
	c := s.links("a/0")[0]
	told := func(e frontier.Entry) {
		s.Helper()
		got, ok := s.entry("a/0")
		want(s, "known", ok, true)
		e.Candidate, got.Print = c, 0 // keyed by the engine's own secret
		want(s, "the entry", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", e))
	}
	s.add(s.links("a/0"), s.refused("trap", "a/1"))
	told(frontier.Entry{})
	t := s.turn(1)
	told(frontier.Entry{})
	r := result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Hour, Reason: "status 503"}}
	s.finish(r)
	told(frontier.Entry{Attempts: 1, Deferred: true, Reason: "status 503", Wait: time.Hour})
	s.sleep(time.Hour)
	r = result(s.turn(1))
	r.Done = []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Failed, Reason: "status 500"}}
	s.finish(r)
	told(frontier.Entry{Outcome: frontier.Failed, Reason: "status 500"})
	for _, u := range []string{"a/1", "a/2", "b/0"} {
		_, ok := s.entry(u)
		want(s, u+" became a task", ok, false)
	}
}
