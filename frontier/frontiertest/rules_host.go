package frontiertest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

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
			_, ok, err := s.Frontier.Host(s.Context(), a)
			require.NoError(s, err)
			require.False(s, ok)
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
			require.NoError(s, err)
			require.Len(s, page, 1)
			require.Greater(s, page[0].Authority.String(), s.Authority("h1x").String())
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
		s.blob("a body")[0] = 'Y'
		for range 2 {
			h := s.Host("a")
			Want(s, "robots state and memory", string(h.Robots)+" "+string(h.Memory), "robots memory")
			s.blob("a body")
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
				require.ErrorContains(s, err, bad.Authority.String())
				require.NotErrorIs(s, err, frontier.ErrStale)
			})
		}
		s.Finish(FullResult(s, c.Turns[0]))
		s.Finish(Fetched(c.Turns[1]))
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
				s.blob(b)
			}
			_, err := s.Frontier.Blob(s.Context(), digest("another"))
			require.ErrorIs(s, err, frontier.ErrNoBlob)
			s.Reopen()
		}
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
}
