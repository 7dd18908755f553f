package frontiertest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"curtsy/frontier"
)

// hostRules are about what is kept of hosts, totals and blobs.
func hostRules() []rule {
	return []rule{
		{name: "host: an update is kept, none keeps what is stored", test: hostUpdate},
		{name: "host: an unknown one is not ok", test: hostUnknown},
		{name: "host: Hosts pages in the order of authorities", test: hostPages},
		{name: "host: what the caller does to its slices later is its own affair", test: hostCopies},
		{name: "host: robots state and memory over their bounds are the caller's error, not poison", test: hostBounds},
		{name: "condition: a parked host is claimed when due", test: conditionParked},
		{name: "condition: retired and refused hosts are not claimed, their tasks stay pending", test: conditionClosed},
		{name: "condition: retired is open at the next run, refused and parked stay", test: conditionReopen},
		{name: "stats: outcomes, reasons and counts add up", test: statsSums},
		{name: "stats: a task moves from queued to in flight to closed", test: statsMoves},
		{name: "blob: kept under its digest, once, across a close", test: blobs},
	}
}

func hostUpdate(s *stage) {
	s.add(s.links("a/0"))
	u := frontier.HostUpdate{
		Condition: frontier.Parked, Reason: "status 503", Pace: 1500 * time.Millisecond, Width: 2,
		Robots: bytes.Repeat([]byte{0, 1, 2, 255}, frontier.MaxRobots/4), Memory: bytes.Repeat([]byte{7}, frontier.MaxMemory),
	}
	t := s.turn(1)
	r := result(t)
	r.Host = &u
	s.finish(r)
	s.finish(result(s.turn(1))) // carries no update
	same := func(what string, h frontier.Host) {
		s.Helper()
		want(s, what, fmt.Sprintf("%+v", h.HostUpdate), fmt.Sprintf("%+v", u))
	}
	same("Host", s.host("a"))
	same("Hosts", s.hosts(1)[0])
	s.reopen()
	same("Host after a reopen", s.host("a"))
	s.sleep(2 * time.Second) // the pace is obeyed anew
	t = s.turn(1)
	same("Turn.Host", t.Host)
	r = result(t)
	r.Host = &frontier.HostUpdate{}
	s.finish(r)
	u = frontier.HostUpdate{}
	h := s.host("a")
	want(s, "octets of robots state and memory", len(h.Robots)+len(h.Memory), 0)
	want(s, "condition", h.Condition, frontier.Open)
	want(s, "pace", h.Pace, 0)
}

func hostUnknown(s *stage) {
	s.add(s.links("a/0"))
	if h, ok, err := s.f.Host(s.Context(), s.auth("b")); ok || err != nil {
		s.Fatalf("Host: %+v, ok %v, error %v; want it unknown", h, ok, err)
	}
}

func hostPages(s *stage) {
	var wanted []string
	for i := range 23 {
		name := fmt.Sprintf("h%d", (i*7)%23)
		s.add(s.links(name + "/0"))
		wanted = append(wanted, s.auth(name).String())
	}
	slices.Sort(wanted)
	for range 2 {
		for _, limit := range []int{1, 5, 23, 100} {
			var got []string
			for _, h := range s.hosts(limit) {
				got = append(got, h.Authority.String())
			}
			want(s, fmt.Sprintf("hosts, %d a page", limit), strings.Join(got, " "), strings.Join(wanted, " "))
		}
		page, err := s.f.Hosts(s.Context(), s.auth("h1x"), 1) // after one that is not known
		if err != nil || len(page) != 1 || page[0].Authority.String() <= s.auth("h1x").String() {
			s.Fatalf("Hosts after h1x: %+v, error %v", page, err)
		}
		s.reopen()
	}
}

func hostCopies(s *stage) {
	cs := s.links("a/0", "a/1")
	s.add(cs)
	cs[1].URL, cs[1].Tag = s.url("z/0"), "changed"
	robots, memory, body := []byte("robots"), []byte("memory"), []byte("a body")
	counts := map[string]int64{"octets": 1}
	t := s.turn(1)
	r := fetched(t)
	r.Host = &frontier.HostUpdate{Robots: robots, Memory: memory}
	r.Blobs, r.Counts, r.Found = [][]byte{body}, counts, s.links("b/0")
	s.finish(r)
	robots[0], memory[0], body[0], counts["octets"] = 'X', 'X', 'X', 99
	r.Found[0].URL = s.url("z/0")
	s.host("a").Robots[0] = 'Y'
	blob, err := s.f.Blob(s.Context(), digest("a body"))
	if err != nil || string(blob) != "a body" {
		s.Fatalf("Blob: %q, error %v", blob, err)
	}
	blob[0] = 'Y'
	for range 2 {
		h := s.host("a")
		want(s, "robots state and memory", string(h.Robots)+" "+string(h.Memory), "robots memory")
		blob, err := s.f.Blob(s.Context(), digest("a body"))
		if err != nil || string(blob) != "a body" {
			s.Fatalf("Blob: %q, error %v", blob, err)
		}
		want(s, "the count", s.stats().Counts["octets"], 1)
		s.reopen()
	}
	us := s.drain(0)
	slices.Sort(us)
	want(s, "tasks", strings.Join(us, " "), "a/1 b/0")
}

func hostBounds(s *stage) {
	s.add(s.links("a/0", "b/0"))
	c := s.claim(2, 1)
	for _, u := range []frontier.HostUpdate{
		{Robots: make([]byte, frontier.MaxRobots+1)}, {Memory: make([]byte, frontier.MaxMemory+1)},
	} {
		good, bad := s.full(c.Turns[0]), s.full(c.Turns[1])
		bad.Host = &u
		s.unchanged(func() {
			_, err := s.f.Finish(s.Context(), []frontier.Result{good, bad})
			if err == nil || errors.Is(err, frontier.ErrStale) || !strings.Contains(err.Error(), bad.Authority.String()) {
				s.Fatalf("Finish with too much host state: %v; want an error that names the authority", err)
			}
		})
	}
	s.finish(s.full(c.Turns[0]))
	s.finish(fetched(c.Turns[1]))
}

// condition ends a turn with its task unsettled and its host in the given condition.
func (s *stage) condition(t frontier.Turn, c frontier.Condition, wait time.Duration) {
	s.Helper()
	r := result(t)
	r.Host, r.Wait = &frontier.HostUpdate{Condition: c, Reason: "because"}, wait
	s.finish(r)
}

func conditionParked(s *stage) {
	s.add(s.links("a/0"))
	s.condition(s.turn(1), frontier.Parked, time.Hour)
	want(s, "Parked", s.stats().Parked, 1)
	want(s, "due", s.claim(1, 1).Due, time.Hour)
	s.sleep(time.Hour)
	t := s.turn(1)
	want(s, "condition", t.Host.Condition, frontier.Parked)
	want(s, "reason", t.Host.Reason, "because")
	s.condition(t, frontier.Open, 0)
	want(s, "Parked", s.stats().Parked, 0)
	s.turn(1)
}

func conditionClosed(s *stage) {
	s.add(s.links("a/0", "b/0"))
	c := s.claim(2, 1)
	s.condition(c.Turns[0], frontier.Retired, 0)
	s.condition(c.Turns[1], frontier.Refused, 0)
	s.sleep(1000 * time.Hour)
	want(s, "links to both", s.add(s.links("a/1", "b/1")), frontier.Added{New: 2})
	want(s, "state", s.claim(2, 2).State, frontier.Waiting)
	st := s.stats()
	want(s, "Retired, Refused", [2]int64{st.Retired, st.Refused}, [2]int64{1, 1})
	want(s, "Pending", st.Pending, 2)
	want(s, "Queued", st.Queued, 4)
}

func conditionReopen(s *stage) {
	s.add(s.links("a/0", "b/0", "c/0"))
	for _, t := range s.claim(3, 1).Turns {
		switch t.Authority {
		case s.auth("a"):
			s.condition(t, frontier.Retired, 0)
		case s.auth("b"):
			s.condition(t, frontier.Refused, 0)
		default:
			s.condition(t, frontier.Parked, time.Hour)
		}
	}
	s.reopen()
	want(s, "a", s.host("a").Condition, frontier.Open)
	want(s, "b", s.host("b").Condition, frontier.Refused)
	want(s, "why b", s.host("b").Reason, "because")
	want(s, "c", s.host("c").Condition, frontier.Parked)
	want(s, "tasks", names(s.turn(5).Tasks), "a/0")
	want(s, "InFlight", s.stats().InFlight, 1)
}

func statsSums(s *stage) {
	s.add(s.links(pages("a", 9)...), s.refused("trap", "a/90"))
	t := s.turn(9)
	r := result(t)
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
	s.finish(r)
	r = result(t)
	r.Counts = map[string]int64{"octets": 1 << 40}
	s.finish(r)
	for range 2 {
		st := s.stats()
		want(s, "Outcomes", st.Outcomes, frontier.Outcomes{0, 3, 1, 1, 1, 1, 2})
		want(s, "Reasons", fmt.Sprint(st.Reasons), fmt.Sprint(map[frontier.Outcome]map[string]int64{
			frontier.Fetched: {"status 200": 2}, frontier.Gone: {"gone for good": 1}, frontier.Failed: {"status 500": 1},
			frontier.Disallowed: {"line 3": 1}, frontier.Dropped: {"trap": 2},
		}))
		want(s, "Counts", fmt.Sprint(st.Counts), fmt.Sprint(map[string]int64{"octets": 1<<40 + 100, "exchanges": 1}))
		want(s, "Discovered", st.Discovered, 10)
		want(s, "Queued", st.Queued, 1)
		s.reopen()
	}
	want(s, "Restarts", s.stats().Restarts, 2)
	want(s, "Unclean", s.stats().Unclean, false)
}

func statsMoves(s *stage) {
	steps := func(what string, queued, inFlight, closed int64) {
		s.Helper()
		st := s.stats()
		want(s, what, [3]int64{st.Queued, st.InFlight, st.Outcomes[frontier.Fetched]}, [3]int64{queued, inFlight, closed})
		want(s, what+": Pending", st.Pending, min(queued+inFlight, 1))
	}
	steps("at first", 0, 0, 0)
	s.add(s.links("a/0", "a/1"))
	steps("after Add", 2, 0, 0)
	t := s.turn(2)
	steps("after Claim", 0, 2, 0)
	s.finish(fetched(t, t.Tasks[0]))
	steps("after Finish of one", 1, 0, 1)
	s.finish(fetched(s.turn(2)))
	steps("after Finish of both", 0, 0, 2)
	want(s, "Hosts", s.stats().Hosts, 1)
}

func blobs(s *stage) {
	bodies := []string{"", "User-agent: *\nDisallow:\n", strings.Repeat("0123456789abcdef", 40<<10), "three"}
	s.add(s.links("a/0", "b/0"))
	for i, t := range s.claim(2, 1).Turns {
		r := fetched(t)
		for _, b := range bodies[i : i+3] { // two of them by both
			r.Blobs = append(r.Blobs, []byte(b), []byte(b))
		}
		s.finish(r)
	}
	for range 2 {
		for _, b := range bodies {
			got, err := s.f.Blob(s.Context(), digest(b))
			if err != nil || string(got) != b {
				s.Fatalf("Blob of %d octets: %d octets, error %v", len(b), len(got), err)
			}
		}
		if _, err := s.f.Blob(s.Context(), digest("another")); !errors.Is(err, frontier.ErrNoBlob) {
			s.Fatalf("Blob that was never given: %v, want ErrNoBlob", err)
		}
		s.reopen()
	}
}
