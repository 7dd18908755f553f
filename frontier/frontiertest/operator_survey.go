package frontiertest

import (
	"fmt"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// surveyRules are about what stands out among hosts.
func surveyRules() []stage.Rule {
	return []stage.Rule{
		{Name: "survey: of a new frontier is empty", Test: surveyEmpty},
		{Name: "survey: the longest queues first, leased and deferred counted, at most so many", Test: surveyLongest},
		{Name: "survey: shut are those with something pending that cannot have a turn now", Test: surveyShut},
		{Name: "survey: hosts come as Host has them, without robots state and memory", Test: surveyHosts},
		{Name: "survey: all hosts are counted by condition and reason, and by what an operator commanded", Test: surveyWhy},
		{Name: "entry: a URL that became a task is told with its state, and no other is", Test: entryStates},
	}
}

func surveyEmpty(s *stage.Stage) {
	v := stage.Survey(s, 5)
	stage.Want(s, "lists and counts", len(v.Longest)+len(v.Shut)+len(v.Why)+len(v.Holds), 0)
}

func surveyLongest(s *stage.Stage) {
	for i, h := range []string{"a", "b", "c", "d"} {
		s.Add(s.Links(stage.Pages(h, []int{3, 9, 1, 6}[i])...))
	}
	t := s.Turn(2)
	r := stage.Result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Hour}}
	s.Finish(r)
	s.Claim(2, 3)
	stage.Want(s, "all", stage.Lengths(stage.Survey(s, 9).Longest), " b.test:9 d.test:6 a.test:3 c.test:1")
	stage.Want(s, "two", stage.Lengths(stage.Survey(s, 2).Longest), " b.test:9 d.test:6")
	stage.Want(s, "none", len(stage.Survey(s, 0).Longest), 0)
	stage.Want(s, "shut", stage.Lengths(stage.Survey(s, 9).Shut), "")
	s.Reopen()
	stage.Want(s, "after a reopen", stage.Lengths(stage.Survey(s, 3).Longest), " b.test:9 d.test:6 a.test:3")
}

func surveyShut(s *stage.Stage) {
	for i, h := range []string{"a", "b", "c", "d", "e", "f"} {
		s.Add(s.Links(stage.Pages(h, i+1)...))
	}
	rest(s, frontier.Retired, frontier.Refused, frontier.Parked, frontier.Open, frontier.Open, frontier.Open, frontier.Refused)
	s.Steer(frontier.Park, "d")
	s.Steer(frontier.Drop, "e")
	stage.Want(s, "shut", stage.Lengths(stage.Survey(s, 9).Shut), " d.test:4 c.test:3 b.test:2 a.test:1")
	stage.Want(s, "the first", stage.Lengths(stage.Survey(s, 1).Shut), " d.test:4")
	s.Steer(frontier.Resume, "d")
	s.Steer(frontier.Resume, "b")
	stage.Want(s, "shut", stage.Lengths(stage.Survey(s, 9).Shut), " c.test:3 a.test:1")
}

func surveyHosts(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	t := s.Turn(1)
	r := stage.Fetched(t)
	r.Host = &frontier.HostUpdate{
		Condition: frontier.Parked, Reason: "busy", Pace: time.Second, Width: 2, Robots: []byte("robots"), Memory: []byte("memory"),
	}
	r.Wait = time.Minute
	s.Finish(r)
	s.Command(frontier.Steering{Act: frontier.Park, Authority: s.Authority("a"), For: time.Hour, Reason: "r"})
	h := s.Host("a")
	h.Robots, h.Memory = nil, nil
	v := stage.Survey(s, 1)
	stage.Want(s, "lists", fmt.Sprint(len(v.Longest), len(v.Shut)), "1 1")
	for _, got := range []frontier.Host{v.Longest[0], v.Shut[0]} {
		stage.Want(s, "robots state and memory", len(got.Robots)+len(got.Memory), 0)
		got.Robots, got.Memory = nil, nil
		stage.Want(s, "the host", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", h))
	}
}

func surveyWhy(s *stage.Stage) {
	rest(s, frontier.Retired, frontier.Refused, frontier.Parked, frontier.Open, frontier.Refused)
	for _, h := range []string{"a", "d", "x"} {
		s.Steer(frontier.Park, h)
	}
	s.Steer(frontier.Drop, "e")
	v := stage.Survey(s, 0)
	why := map[frontier.Condition]map[string]int64{
		frontier.Parked: {"a reason": 1}, frontier.Retired: {"a reason": 1}, frontier.Refused: {"a reason": 2},
	}
	stage.Want(s, "Why", fmt.Sprint(v.Why), fmt.Sprint(why))
	stage.Want(s, "Holds", fmt.Sprint(v.Holds), fmt.Sprint(map[frontier.Act]int64{frontier.Park: 3, frontier.Drop: 1}))
}

// entry asks about one URL.
func entry(s *stage.Stage, u string) (frontier.Entry, bool) {
	s.Helper()
	e, ok, err := s.Frontier.Entry(s.Context(), s.URL(u))
	if err != nil {
		s.Fatalf("Entry %s: %v", u, err)
	}
	return e, ok
}

func entryStates(s *stage.Stage) {
	c := s.Links("a/0")[0]
	told := func(e frontier.Entry) {
		s.Helper()
		got, ok := entry(s, "a/0")
		stage.Want(s, "known", ok, true)
		e.Candidate, got.Print = c, 0 // keyed by the engine's own secret
		stage.Want(s, "the entry", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", e))
	}
	s.Add(s.Links("a/0"), s.Refused("trap", "a/1"))
	told(frontier.Entry{})
	t := s.Turn(1)
	told(frontier.Entry{})
	r := stage.Result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Hour, Reason: "status 503"}}
	s.Finish(r)
	told(frontier.Entry{Attempts: 1, Deferred: true, Reason: "status 503", Wait: time.Hour})
	s.Sleep(time.Hour)
	r = stage.Result(s.Turn(1))
	r.Done = []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Failed, Reason: "status 500"}}
	s.Finish(r)
	told(frontier.Entry{Outcome: frontier.Failed, Reason: "status 500"})
	for _, u := range []string{"a/1", "a/2", "b/0"} {
		_, ok := entry(s, u)
		stage.Want(s, u+" became a task", ok, false)
	}
}
