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
	"curtsy/frontier/frontiertest/stage"
)

// hostRules are about what is kept of hosts, totals and blobs.
func hostRules() []stage.Rule {
	return []stage.Rule{
		{Name: "host: an update is kept, none keeps what is stored", Test: hostUpdate},
		{Name: "host: an unknown one is not ok", Test: hostUnknown},
		{Name: "host: Hosts pages in the order of authorities", Test: hostPages},
		{Name: "host: what the caller does to its slices later is its own affair", Test: hostCopies},
		{Name: "host: robots state and memory over their bounds are the caller's error, not poison", Test: hostBounds},
		{Name: "condition: a parked host is claimed when due", Test: conditionParked},
		{Name: "condition: retired and refused hosts are not claimed, their tasks stay pending", Test: conditionClosed},
		{Name: "condition: retired is open at the next run, refused and parked stay", Test: conditionReopen},
		{Name: "stats: outcomes, reasons and counts add up", Test: statsSums},
		{Name: "stats: a task moves from queued to in flight to closed", Test: statsMoves},
		{Name: "blob: kept under its digest, once, across a close", Test: blobs},
	}
}

func hostUpdate(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	u := frontier.HostUpdate{
		Condition: frontier.Parked, Reason: "status 503", Pace: 1500 * time.Millisecond, Width: 2,
		Robots: bytes.Repeat([]byte{0, 1, 2, 255}, frontier.MaxRobots/4), Memory: bytes.Repeat([]byte{7}, frontier.MaxMemory),
	}
	t := s.Turn(1)
	r := stage.Result(t)
	r.Host = &u
	s.Finish(r)
	s.Finish(stage.Result(s.Turn(1))) // carries no update
	same := func(what string, h frontier.Host) {
		s.Helper()
		stage.Want(s, what, fmt.Sprintf("%+v", h.HostUpdate), fmt.Sprintf("%+v", u))
	}
	same("Host", s.Host("a"))
	same("Hosts", s.Hosts(1)[0])
	s.Reopen()
	same("Host after a reopen", s.Host("a"))
	s.Sleep(2 * time.Second) // the pace is obeyed anew
	t = s.Turn(1)
	same("Turn.Host", t.Host)
	r = stage.Result(t)
	r.Host = &frontier.HostUpdate{}
	s.Finish(r)
	u = frontier.HostUpdate{}
	h := s.Host("a")
	stage.Want(s, "octets of robots state and memory", len(h.Robots)+len(h.Memory), 0)
	stage.Want(s, "condition", h.Condition, frontier.Open)
	stage.Want(s, "pace", h.Pace, 0)
}

func hostUnknown(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	for _, a := range []canon.Authority{s.Authority("b"), {}} {
		if h, ok, err := s.Frontier.Host(s.Context(), a); ok || err != nil {
			s.Fatalf("Host: %+v, ok %v, error %v; want it unknown", h, ok, err)
		}
	}
}

func hostPages(s *stage.Stage) {
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
			stage.Want(s, fmt.Sprintf("hosts, %d a page", limit), strings.Join(got, " "), strings.Join(wanted, " "))
		}
		page, err := s.Frontier.Hosts(s.Context(), s.Authority("h1x"), 1) // after one that is not known
		if err != nil || len(page) != 1 || page[0].Authority.String() <= s.Authority("h1x").String() {
			s.Fatalf("Hosts after h1x: %+v, error %v", page, err)
		}
		s.Reopen()
	}
}

func hostCopies(s *stage.Stage) {
	cs := s.Links("a/0", "a/1")
	s.Add(cs)
	cs[1].URL, cs[1].Tag = s.URL("z/0"), "changed"
	robots, memory, body := []byte("robots"), []byte("memory"), []byte("a body")
	counts := map[string]int64{"octets": 1}
	t := s.Turn(1)
	r := stage.Fetched(t)
	r.Host = &frontier.HostUpdate{Robots: robots, Memory: memory}
	r.Blobs, r.Counts, r.Found = [][]byte{body}, counts, s.Links("b/0")
	s.Finish(r)
	robots[0], memory[0], body[0], counts["octets"] = 'X', 'X', 'X', 99
	r.Found[0].URL = s.URL("z/0")
	s.Host("a").Robots[0] = 'Y'
	blob, err := s.Frontier.Blob(s.Context(), stage.Digest("a body"))
	if err != nil || string(blob) != "a body" {
		s.Fatalf("Blob: %q, error %v", blob, err)
	}
	blob[0] = 'Y'
	for range 2 {
		h := s.Host("a")
		stage.Want(s, "robots state and memory", string(h.Robots)+" "+string(h.Memory), "robots memory")
		blob, err := s.Frontier.Blob(s.Context(), stage.Digest("a body"))
		if err != nil || string(blob) != "a body" {
			s.Fatalf("Blob: %q, error %v", blob, err)
		}
		stage.Want(s, "the count", s.Stats().Counts["octets"], 1)
		s.Reopen()
	}
	us := s.Drain(0)
	slices.Sort(us)
	stage.Want(s, "tasks", strings.Join(us, " "), "a/1 b/0")
}

func hostBounds(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0"))
	c := s.Claim(2, 1)
	for _, u := range []frontier.HostUpdate{
		{Robots: make([]byte, frontier.MaxRobots+1)}, {Memory: make([]byte, frontier.MaxMemory+1)},
	} {
		good, bad := stage.FullResult(s, c.Turns[0]), stage.FullResult(s, c.Turns[1])
		bad.Host = &u
		unchanged(s, func() {
			_, err := s.Frontier.Finish(s.Context(), []frontier.Result{good, bad})
			if err == nil || errors.Is(err, frontier.ErrStale) || !strings.Contains(err.Error(), bad.Authority.String()) {
				s.Fatalf("Finish with too much host state: %v; want an error that names the authority", err)
			}
		})
	}
	s.Finish(stage.FullResult(s, c.Turns[0]))
	s.Finish(stage.Fetched(c.Turns[1]))
}

// condition ends a turn with its task unsettled and its host in the given condition.
func condition(s *stage.Stage, t frontier.Turn, c frontier.Condition, wait time.Duration) {
	s.Helper()
	r := stage.Result(t)
	r.Host, r.Wait = &frontier.HostUpdate{Condition: c, Reason: "because"}, wait
	s.Finish(r)
}

func conditionParked(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	condition(s, s.Turn(1), frontier.Parked, time.Hour)
	stage.Want(s, "Parked", s.Stats().Parked, 1)
	stage.Want(s, "due", s.Claim(1, 1).Due, time.Hour)
	s.Sleep(time.Hour)
	t := s.Turn(1)
	stage.Want(s, "condition", t.Host.Condition, frontier.Parked)
	stage.Want(s, "reason", t.Host.Reason, "because")
	condition(s, t, frontier.Open, 0)
	stage.Want(s, "Parked", s.Stats().Parked, 0)
	s.Turn(1)
}

func conditionClosed(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0"))
	c := s.Claim(2, 1)
	condition(s, c.Turns[0], frontier.Retired, 0)
	condition(s, c.Turns[1], frontier.Refused, 0)
	s.Sleep(1000 * time.Hour)
	stage.Want(s, "links to both", s.Add(s.Links("a/1", "b/1")), frontier.Added{New: 2})
	stage.Want(s, "state", s.Claim(2, 2).State, frontier.Waiting)
	st := s.Stats()
	stage.Want(s, "Retired, Refused", [2]int64{st.Retired, st.Refused}, [2]int64{1, 1})
	stage.Want(s, "Pending", st.Pending, 2)
	stage.Want(s, "Queued", st.Queued, 4)
}

func conditionReopen(s *stage.Stage) {
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
	stage.Want(s, "a", s.Host("a").Condition, frontier.Open)
	stage.Want(s, "b", s.Host("b").Condition, frontier.Refused)
	stage.Want(s, "why b", s.Host("b").Reason, "because")
	stage.Want(s, "c", s.Host("c").Condition, frontier.Parked)
	stage.Want(s, "tasks", stage.Names(s.Turn(5).Tasks), "a/0")
	stage.Want(s, "InFlight", s.Stats().InFlight, 1)
}

func statsSums(s *stage.Stage) {
	s.Add(s.Links(stage.Pages("a", 9)...), s.Refused("trap", "a/90"))
	t := s.Turn(9)
	r := stage.Result(t)
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
	r = stage.Result(t)
	r.Counts = map[string]int64{"octets": 1 << 40}
	s.Finish(r)
	for range 2 {
		st := s.Stats()
		stage.Want(s, "Outcomes", st.Outcomes, frontier.Outcomes{0, 3, 1, 1, 1, 1, 2})
		stage.Want(s, "Reasons", fmt.Sprint(st.Reasons), fmt.Sprint(map[frontier.Outcome]map[string]int64{
			frontier.Fetched: {"status 200": 2}, frontier.Gone: {"gone for good": 1}, frontier.Failed: {"status 500": 1},
			frontier.Disallowed: {"line 3": 1}, frontier.Dropped: {"trap": 2},
		}))
		stage.Want(s, "Counts", fmt.Sprint(st.Counts), fmt.Sprint(map[string]int64{"octets": 1<<40 + 100, "exchanges": 1}))
		stage.Want(s, "Discovered", st.Discovered, 10)
		stage.Want(s, "Queued", st.Queued, 1)
		s.Reopen()
	}
	stage.Want(s, "Restarts", s.Stats().Restarts, 2)
	stage.Want(s, "Unclean", s.Stats().Unclean, false)
}

func statsMoves(s *stage.Stage) {
	steps := func(what string, queued, inFlight, closed int64) {
		s.Helper()
		st := s.Stats()
		stage.Want(s, what, [3]int64{st.Queued, st.InFlight, st.Outcomes[frontier.Fetched]}, [3]int64{queued, inFlight, closed})
		stage.Want(s, what+": Pending", st.Pending, min(queued+inFlight, 1))
	}
	steps("at first", 0, 0, 0)
	s.Add(s.Links("a/0", "a/1"))
	steps("after Add", 2, 0, 0)
	t := s.Turn(2)
	steps("after Claim", 0, 2, 0)
	s.Finish(stage.Fetched(t, t.Tasks[0]))
	steps("after Finish of one", 1, 0, 1)
	s.Finish(stage.Fetched(s.Turn(2)))
	steps("after Finish of both", 0, 0, 2)
	stage.Want(s, "Hosts", s.Stats().Hosts, 1)
}

func blobs(s *stage.Stage) {
	bodies := []string{"", "User-agent: *\nDisallow:\n", strings.Repeat("0123456789abcdef", 40<<10), "three"}
	s.Add(s.Links("a/0", "b/0"))
	for i, t := range s.Claim(2, 1).Turns {
		r := stage.Fetched(t)
		for _, b := range bodies[i : i+3] { // two of them by both
			r.Blobs = append(r.Blobs, []byte(b), []byte(b))
		}
		s.Finish(r)
	}
	for range 2 {
		for _, b := range bodies {
			got, err := s.Frontier.Blob(s.Context(), stage.Digest(b))
			if err != nil || string(got) != b {
				s.Fatalf("Blob of %d octets: %d octets, error %v", len(b), len(got), err)
			}
		}
		if _, err := s.Frontier.Blob(s.Context(), stage.Digest("another")); !errors.Is(err, frontier.ErrNoBlob) {
			s.Fatalf("Blob that was never given: %v, want ErrNoBlob", err)
		}
		s.Reopen()
	}
}
