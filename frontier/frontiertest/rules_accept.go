package frontiertest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// acceptRules are about candidates, seeds and the bound of what an engine keeps.
var acceptRules = []rule{
	{Name: "accept: a task carries what was accepted", Test: func(s *Stage) {
		c := frontier.Candidate{
			URL: s.URL("a/1"), Kind: frontier.KindEmbed, Via: "http://b.test/page", Depth: 7, Hops: 3, Embeds: 2, Away: 1,
			Seed: "http://c.test/", Tag: "a tag \x00 of any octets é",
		}
		s.Add([]frontier.Candidate{c}, s.Links("a/2"))
		for range 2 {
			t := s.Turn(2)
			require.Len(s, t.Tasks, 2)
			Want(s, "the candidate of the task", t.Tasks[0].Candidate, c)
			Want(s, "attempts, replaced, reason", t.Tasks[0], frontier.Task{Candidate: c, Print: t.Tasks[0].Print})
			require.NotZero(s, t.Tasks[0].Print)
			require.NotEqual(s, t.Tasks[0].Print, t.Tasks[1].Print)
			s.Finish(resultOf(t))
			s.Reopen()
		}
	}},
	{Name: "seeds: kept in order, new or not, with the extensions of scope", Test: func(s *Stage) {
		cs := s.Seeds("z/1", "a/1", "m/1")
		cs[1].Tag = "another"
		s.Add(cs[:1], s.Links("m/1"))
		s.Add(cs[1:])
		t := s.Turn(1)
		x := frontier.Seed{URL: s.URL("b/1"), Tag: "tag", From: t.Tasks[0].URL.String()}
		s.end(t, frontier.Result{Done: done(t.Tasks...), Extend: []frontier.Seed{x}})
		s.Add(s.Seeds("c/1"))
		wanted := []frontier.Seed{
			{URL: s.URL("z/1"), Tag: "tag"}, {URL: s.URL("a/1"), Tag: "another"}, {URL: s.URL("m/1"), Tag: "tag"}, x,
			{URL: s.URL("c/1"), Tag: "tag"},
		}
		for range 2 {
			got, err := frontier.SeedsOf(s.Context(), s.Frontier)
			require.NoError(s, err)
			require.Equal(s, wanted, got)
			s.Reopen()
		}
	}},
	{Name: "seeds: the frontier can be used between two of them, and each of before comes once", Test: func(s *Stage) {
		s.Add(manySeeds(s))
		before := eachSeed(s, func(int) {})
		all := eachSeed(s, func(n int) {
			if n%2000 != 1 {
				return
			}
			r := Fetched(s.Turn(1))
			r.Extend = []frontier.Seed{{URL: s.URL("b/1"), From: fmt.Sprint(n)}}
			s.Finish(r)
			s.Add(s.Seeds(fmt.Sprintf("c/%d", n)))
		})
		require.True(s, len(all) >= len(before) && slices.Equal(all[:len(before)], before), "the seeds of before come first")
		met := map[frontier.Seed]bool{}
		for _, x := range all {
			require.Falsef(s, met[x], "%v twice", x)
			met[x] = true
		}
	}},
	{Name: "seeds: whoever has enough of them gets no more", Test: func(s *Stage) {
		s.Add(s.Seeds("a/1", "b/1", "c/1"))
		n := 0
		for _, err := range s.Frontier.AllSeeds(s.Context()) {
			if n++; err != nil || n == 2 {
				break
			}
		}
		Want(s, "seeds", n, 2)
		s.Add(s.Seeds("d/1"))
	}},
	{Name: "size: it grows with what is kept, and stays over a restart", Test: func(s *Stage) {
		last := s.Stats().Size
		for n := range 3 {
			s.Add(bulk(s, 1000*n, 1000))
			size := s.Stats().Size
			require.Greater(s, size, last, "Size with a thousand URLs more")
			last = size
		}
		s.Reopen()
		require.GreaterOrEqual(s, s.Stats().Size, last/2, "Size after a reopen")
		Want(s, "state without a bound", s.Stats().State, frontier.Busy)
	}},
	{Name: "size: links beyond MaxSize are capped for that reason first, and not marked seen", Options: frontier.Options{MaxSize: limit, MaxURLsPerAuthority: 1 << 40}, Test: func(s *Stage) {
		n := fill(s)
		total := frontier.Added{New: n}
		for total.Capped == 0 {
			require.LessOrEqualf(s, total.New, 4*limit/1000, "links of 1,150 octets with MaxSize %d", int64(limit))
			added := s.Add(bulk(s, total.New, 100))
			Want(s, "New and Capped", added.New+added.Capped, 100)
			total.New, total.Capped = total.New+added.New, total.Capped+added.Capped
		}
		added := s.Add(bulk(s, 1<<30, 100))
		Want(s, "more", added, frontier.Added{Capped: 100})
		st := s.Stats()
		Want(s, "Capped", st.Capped[frontier.ReasonCapSize], int64(total.Capped+100))
		Want(s, "Capped for other reasons", st.Capped[frontier.ReasonCapHost], 0)
		Want(s, "Discovered", st.Discovered, int64(total.New))
		seen, err := s.Frontier.Seen(s.Context(), []canon.URL{bulk(s, 1<<30, 1)[0].URL})
		require.NoError(s, err)
		require.False(s, seen[0], "Seen of a capped link")
		require.LessOrEqual(s, st.Size, int64(limit))
		s.Reopen()
		Want(s, "Capped after a reopen", s.Stats().Capped[frontier.ReasonCapSize], int64(total.Capped+100))
	}},
	{Name: "size: with a larger MaxSize the next opening goes on, and nothing is lost", Options: frontier.Options{MaxSize: limit}, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		n := fill(s)
		s.Reopen(frontier.Options{MaxSize: 3 * limit})
		st := s.Stats()
		Want(s, "state", st.State, frontier.Busy)
		Want(s, "Queued", st.Queued, int64(n+1))
		t := s.Turn(1)
		Want(s, "links", s.end(t, frontier.Result{Done: done(t.Tasks...), Found: bulk(s, n, 50)}).Added, frontier.Added{New: 50})
		s.Reopen(frontier.Options{})
		Want(s, "Queued without a bound", s.Stats().Queued, int64(n+50))
		Want(s, "turns", len(s.Claim(9, 9).Turns) > 0, true)
	}},
}

// manySeeds are more than an engine would read at once.
func manySeeds(s *Stage) []frontier.Candidate {
	var names []string
	for i := range 9000 {
		names = append(names, fmt.Sprintf("a/%d", i))
	}
	return s.Seeds(names...)
}

// eachSeed calls f for the seeds as AllSeeds yields them, and returns them.
func eachSeed(s *Stage, f func(n int)) (all []frontier.Seed) {
	for x, err := range s.Frontier.AllSeeds(s.Context()) {
		require.NoErrorf(s, err, "AllSeeds after %d", len(all))
		all = append(all, x)
		f(len(all))
	}
	return all
}

// limit is the MaxSize of the rules that set one: small, but more than an engine needs for itself.
const limit = 8 << 20

// bulk returns links to one host with long paths that do not compress, those from number n on.
func bulk(s *Stage, n, count int) []frontier.Candidate {
	var us []string
	for i := n; i < n+count; i++ {
		u := "bulk/"
		for part := range 18 {
			u += fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, i, part)))
		}
		us = append(us, u)
	}
	return s.Links(us...)
}

// fill adds links until the frontier is Full, and returns their number.
func fill(s *Stage) int {
	s.Helper()
	const step = 50
	for n := 0; n < 4*limit/1000; n += step {
		if s.Stats().State == frontier.Full {
			return n
		}
		added, err := s.Frontier.Add(s.Context(), bulk(s, n, step))
		require.NoError(s, err, "Add")
		Want(s, "links added before it is Full", added, frontier.Added{New: step})
	}
	s.Fatalf("a frontier with MaxSize %d has taken 4 times that, says it has %d, and is not Full", int64(limit), s.Stats().Size)
	return 0
}

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
