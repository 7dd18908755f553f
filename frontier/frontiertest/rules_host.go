package frontiertest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// hostRules are about what is kept of hosts, totals and blobs.
var hostRules = []rule{
	{Name: "host: an update is kept, none keeps what is stored", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		u := frontier.HostUpdate{
			Condition: frontier.Parked, Reason: "status 503", Pace: 1500 * time.Millisecond, Width: 2,
			Robots: bytes.Repeat([]byte{0, 1, 2, 255}, frontier.MaxRobots/4), Memory: bytes.Repeat([]byte{7}, frontier.MaxMemory),
		}
		t := s.Turn(1)
		s.end(t, frontier.Result{Host: &u})
		s.Finish(resultOf(s.Turn(1))) // carries no update
		same := func(what string, h frontier.Host) {
			s.Helper()
			Want(s, what, fmt.Sprintf("%+v", h.HostUpdate), fmt.Sprintf("%+v", u))
		}
		same("Host", s.Host("a"))
		same("Hosts", s.Hosts(1)[0])
		s.Reopen()
		same("Host after a reopen", s.Host("a"))
		s.Sleep(2 * time.Second) // the pace is obeyed anew
		t = s.Turn(1)
		same("Turn.Host", t.Host)
		s.end(t, frontier.Result{Host: &frontier.HostUpdate{}})
		u = frontier.HostUpdate{}
		h := s.Host("a")
		Want(s, "octets of robots state and memory", len(h.Robots)+len(h.Memory), 0)
		Want(s, "condition", h.Condition, frontier.Open)
		Want(s, "pace", h.Pace, 0)
	}},
	{Name: "host: an unknown one is not ok", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		for _, a := range []canon.Authority{s.Authority("b"), {}} {
			if h, ok, err := s.Frontier.Host(s.Context(), a); ok || err != nil {
				s.Fatalf("Host: %+v, ok %v, error %v; want it unknown", h, ok, err)
			}
		}
	}},
	{Name: "host: Hosts pages in the order of authorities", Test: func(s *Stage) {
		var wanted []string
		for i := range 23 {
			name := fmt.Sprintf("h%d", (i*7)%23)
			s.Add(s.Links(name + "/0"))
			wanted = append(wanted, s.Authority(name).String())
		}
		slices.Sort(wanted)
		for range 2 {
			for _, limit := range []int{1, 5, 23, 100} {
				var got []string
				for _, h := range s.Hosts(limit) {
					got = append(got, h.Authority.String())
				}
				Want(s, fmt.Sprintf("hosts, %d a page", limit), strings.Join(got, " "), strings.Join(wanted, " "))
			}
			page, err := s.Frontier.Hosts(s.Context(), s.Authority("h1x"), 1) // after one that is not known
			if err != nil || len(page) != 1 || page[0].Authority.String() <= s.Authority("h1x").String() {
				s.Fatalf("Hosts after h1x: %+v, error %v", page, err)
			}
			s.Reopen()
		}
	}},
	{Name: "host: what the caller does to its slices later is its own affair", Test: func(s *Stage) {
		cs := s.Links("a/0", "a/1")
		s.Add(cs)
		cs[1].URL, cs[1].Tag = s.URL("z/0"), "changed"
		robots, memory, body := []byte("robots"), []byte("memory"), []byte("a body")
		counts := map[string]int64{"octets": 1}
		t := s.Turn(1)
		r := Fetched(t)
		r.Host = &frontier.HostUpdate{Robots: robots, Memory: memory}
		r.Blobs, r.Counts, r.Found = [][]byte{body}, counts, s.Links("b/0")
		s.Finish(r)
		robots[0], memory[0], body[0], counts["octets"] = 'X', 'X', 'X', 99
		r.Found[0].URL = s.URL("z/0")
		s.Host("a").Robots[0] = 'Y'
		blob, err := s.Frontier.Blob(s.Context(), digest("a body"))
		if err != nil || string(blob) != "a body" {
			s.Fatalf("Blob: %q, error %v", blob, err)
		}
		blob[0] = 'Y'
		for range 2 {
			h := s.Host("a")
			Want(s, "robots state and memory", string(h.Robots)+" "+string(h.Memory), "robots memory")
			blob, err := s.Frontier.Blob(s.Context(), digest("a body"))
			if err != nil || string(blob) != "a body" {
				s.Fatalf("Blob: %q, error %v", blob, err)
			}
			Want(s, "the count", s.Stats().Counts["octets"], 1)
			s.Reopen()
		}
		us := s.Drain(0)
		slices.Sort(us)
		Want(s, "tasks", strings.Join(us, " "), "a/1 b/0")
	}},
	{Name: "host: robots state and memory over their bounds are the caller's error, not poison", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0"))
		c := s.Claim(2, 1)
		for _, u := range []frontier.HostUpdate{
			{Robots: make([]byte, frontier.MaxRobots+1)}, {Memory: make([]byte, frontier.MaxMemory+1)},
		} {
			good, bad := FullResult(s, c.Turns[0]), FullResult(s, c.Turns[1])
			bad.Host = &u
			unchanged(s, func() {
				_, err := s.Frontier.Finish(s.Context(), []frontier.Result{good, bad})
				if err == nil || errors.Is(err, frontier.ErrStale) || !strings.Contains(err.Error(), bad.Authority.String()) {
					s.Fatalf("Finish with too much host state: %v; want an error that names the authority", err)
				}
			})
		}
		s.Finish(FullResult(s, c.Turns[0]))
		s.Finish(Fetched(c.Turns[1]))
	}},
	{Name: "condition: a parked host is claimed when due", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		condition(s, s.Turn(1), frontier.Parked, time.Hour)
		Want(s, "Parked", s.Stats().Parked, 1)
		Want(s, "due", s.Claim(1, 1).Due, time.Hour)
		s.Sleep(time.Hour)
		t := s.Turn(1)
		Want(s, "condition", t.Host.Condition, frontier.Parked)
		Want(s, "reason", t.Host.Reason, "because")
		condition(s, t, frontier.Open, 0)
		Want(s, "Parked", s.Stats().Parked, 0)
		s.Turn(1)
	}},
	{Name: "condition: retired is open at the next run, refused and parked stay", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0", "c/0"))
		for _, t := range s.Claim(3, 1).Turns {
			switch t.Authority {
			case s.Authority("a"):
				condition(s, t, frontier.Retired, 0)
			case s.Authority("b"):
				condition(s, t, frontier.Refused, 0)
			default:
				condition(s, t, frontier.Parked, time.Hour)
			}
		}
		s.Reopen()
		Want(s, "a", s.Host("a").Condition, frontier.Open)
		Want(s, "b", s.Host("b").Condition, frontier.Refused)
		Want(s, "why b", s.Host("b").Reason, "because")
		Want(s, "c", s.Host("c").Condition, frontier.Parked)
		Want(s, "tasks", Names(s.Turn(5).Tasks), "a/0")
		Want(s, "InFlight", s.Stats().InFlight, 1)
	}},
	{Name: "stats: outcomes, reasons and counts add up", Test: func(s *Stage) {
		s.Add(s.Links(Pages("a", 9)...), s.Refused("trap", "a/90"))
		t := s.Turn(9)
		r := resultOf(t)
		reasons := []string{"", "status 200", "status 200", "", "gone for good", "status 500"}
		for i, o := range []frontier.Outcome{
			frontier.Fetched, frontier.Fetched, frontier.Fetched, frontier.Redirected, frontier.Gone, frontier.Failed,
		} {
			r.Done = append(r.Done, frontier.Done{Print: t.Tasks[i].Print, Outcome: o, Reason: reasons[i]})
		}
		r.Done = append(r.Done, frontier.Done{Print: t.Tasks[6].Print, Outcome: frontier.Disallowed, Reason: "line 3"},
			frontier.Done{Print: t.Tasks[7].Print, Outcome: frontier.Dropped, Reason: "trap"})
		r.Counts = map[string]int64{"octets": 100, "exchanges": 1}
		r.Keep = true
		s.Finish(r)
		s.end(t, frontier.Result{Counts: map[string]int64{"octets": 1 << 40}})
		for range 2 {
			st := s.Stats()
			Want(s, "Outcomes", st.Outcomes, frontier.Outcomes{0, 3, 1, 1, 1, 1, 2})
			Want(s, "Reasons", fmt.Sprint(st.Reasons), fmt.Sprint(map[frontier.Outcome]map[string]int64{
				frontier.Fetched: {"status 200": 2}, frontier.Gone: {"gone for good": 1}, frontier.Failed: {"status 500": 1},
				frontier.Disallowed: {"line 3": 1}, frontier.Dropped: {"trap": 2},
			}))
			Want(s, "Counts", fmt.Sprint(st.Counts), fmt.Sprint(map[string]int64{"octets": 1<<40 + 100, "exchanges": 1}))
			Want(s, "Discovered", st.Discovered, 10)
			Want(s, "Queued", st.Queued, 1)
			s.Reopen()
		}
		Want(s, "Restarts", s.Stats().Restarts, 2)
		Want(s, "Unclean", s.Stats().Unclean, false)
	}},
	{Name: "blob: kept under its digest, once, across a close", Test: func(s *Stage) {
		bodies := []string{"", "User-agent: *\nDisallow:\n", strings.Repeat("0123456789abcdef", 40<<10), "three"}
		s.Add(s.Links("a/0", "b/0"))
		for i, t := range s.Claim(2, 1).Turns {
			r := Fetched(t)
			for _, b := range bodies[i : i+3] { // two of them by both
				r.Blobs = append(r.Blobs, []byte(b), []byte(b))
			}
			s.Finish(r)
		}
		for range 2 {
			for _, b := range bodies {
				got, err := s.Frontier.Blob(s.Context(), digest(b))
				if err != nil || string(got) != b {
					s.Fatalf("Blob of %d octets: %d octets, error %v", len(b), len(got), err)
				}
			}
			if _, err := s.Frontier.Blob(s.Context(), digest("another")); !errors.Is(err, frontier.ErrNoBlob) {
				s.Fatalf("Blob that was never given: %v, want ErrNoBlob", err)
			}
			s.Reopen()
		}
	}},
}

// condition ends a turn with its task unsettled and its host in the given condition.
func condition(s *Stage, t frontier.Turn, c frontier.Condition, wait time.Duration) {
	s.Helper()
	s.end(t, frontier.Result{Host: &frontier.HostUpdate{Condition: c, Reason: "because"}, Wait: wait})
}

// surveyRules are about what stands out among hosts.
var surveyRules = []rule{
	{Name: "survey: the longest queues first, leased and deferred counted, at most so many", Test: func(s *Stage) {
		Want(s, "of a new frontier", fmt.Sprint(s.Survey(5)), fmt.Sprint(frontier.Survey{}))
		for i, h := range []string{"a", "b", "c", "d"} {
			s.Add(s.Links(Pages(h, []int{3, 9, 1, 6}[i])...))
		}
		t := s.Turn(2)
		s.Postpone(t, frontier.Deferral{After: time.Hour})
		s.Claim(2, 3)
		Want(s, "all", lengths(s.Survey(9).Longest), " b.test:9 d.test:6 a.test:3 c.test:1")
		Want(s, "two", lengths(s.Survey(2).Longest), " b.test:9 d.test:6")
		Want(s, "none", len(s.Survey(0).Longest), 0)
		Want(s, "shut", lengths(s.Survey(9).Shut), "")
		s.Reopen()
		Want(s, "after a reopen", lengths(s.Survey(3).Longest), " b.test:9 d.test:6 a.test:3")
	}},
	{Name: "survey: shut are those with something pending that cannot have a turn now", Test: func(s *Stage) {
		for i, h := range []string{"a", "b", "c", "d", "e", "f"} {
			s.Add(s.Links(Pages(h, i+1)...))
		}
		rest(s, frontier.Retired, frontier.Refused, frontier.Parked, frontier.Open, frontier.Open, frontier.Open, frontier.Refused)
		s.Steer(frontier.Park, "d")
		s.Steer(frontier.Drop, "e")
		Want(s, "shut", lengths(s.Survey(9).Shut), " d.test:4 c.test:3 b.test:2 a.test:1")
		Want(s, "the first", lengths(s.Survey(1).Shut), " d.test:4")
		s.Steer(frontier.Resume, "d")
		s.Steer(frontier.Resume, "b")
		Want(s, "shut", lengths(s.Survey(9).Shut), " c.test:3 a.test:1")
	}},
	{Name: "survey: hosts come as Host has them, without robots state and memory", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1"))
		t := s.Turn(1)
		r := Fetched(t)
		r.Host = &frontier.HostUpdate{
			Condition: frontier.Parked, Reason: "busy", Pace: time.Second, Width: 2, Robots: []byte("robots"), Memory: []byte("memory"),
		}
		r.Wait = time.Minute
		s.Finish(r)
		s.Command(frontier.Steering{Act: frontier.Park, Authority: s.Authority("a"), For: time.Hour, Reason: "r"})
		h := s.Host("a")
		h.Robots, h.Memory = nil, nil
		v := s.Survey(1)
		Want(s, "lists", fmt.Sprint(len(v.Longest), len(v.Shut)), "1 1")
		for _, got := range []frontier.Host{v.Longest[0], v.Shut[0]} {
			Want(s, "robots state and memory", len(got.Robots)+len(got.Memory), 0)
			got.Robots, got.Memory = nil, nil
			Want(s, "the host", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", h))
		}
	}},
	{Name: "survey: all hosts are counted by condition and reason, and by what an operator commanded", Test: func(s *Stage) {
		rest(s, frontier.Retired, frontier.Refused, frontier.Parked, frontier.Open, frontier.Refused)
		for _, h := range []string{"a", "d", "x"} {
			s.Steer(frontier.Park, h)
		}
		s.Steer(frontier.Drop, "e")
		v := s.Survey(0)
		why := map[frontier.Condition]map[string]int64{
			frontier.Parked: {"a reason": 1}, frontier.Retired: {"a reason": 1}, frontier.Refused: {"a reason": 2},
		}
		Want(s, "Why", fmt.Sprint(v.Why), fmt.Sprint(why))
		Want(s, "Holds", fmt.Sprint(v.Holds), fmt.Sprint(map[frontier.Act]int64{frontier.Park: 3, frontier.Drop: 1}))
	}},
	{Name: "entry: a URL that became a task is told with its state, and no other is", Test: func(s *Stage) {
		c := s.Links("a/0")[0]
		told := func(e frontier.Entry) {
			s.Helper()
			got, ok := entry(s, "a/0")
			Want(s, "known", ok, true)
			e.Candidate, got.Print = c, 0 // keyed by the engine's own secret
			Want(s, "the entry", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", e))
		}
		s.Add(s.Links("a/0"), s.Refused("trap", "a/1"))
		told(frontier.Entry{})
		t := s.Turn(1)
		told(frontier.Entry{})
		s.Postpone(t, frontier.Deferral{After: time.Hour, Reason: "status 503"})
		told(frontier.Entry{Attempts: 1, Deferred: true, Reason: "status 503", Wait: time.Hour})
		s.Sleep(time.Hour)
		s.end(s.Turn(1), frontier.Result{Done: []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Failed, Reason: "status 500"}}})
		told(frontier.Entry{Outcome: frontier.Failed, Reason: "status 500"})
		for _, u := range []string{"a/1", "a/2", "b/0"} {
			_, ok := entry(s, u)
			Want(s, u+" became a task", ok, false)
		}
	}},
}

// entry asks about one URL.
func entry(s *Stage, u string) (frontier.Entry, bool) {
	s.Helper()
	e, ok, err := s.Frontier.Entry(s.Context(), s.URL(u))
	if err != nil {
		s.Fatalf("Entry %s: %v", u, err)
	}
	return e, ok
}
