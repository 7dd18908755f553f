package frontiertest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

var acceptRules = []rule{
	{Name: "accept: a task carries its candidate", Test: func(s *Stage) {
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
	{Name: "seeds: the frontier can be used between two of them, and each earlier one comes once", Test: func(s *Stage) {
		s.Add(s.Seeds(Pages("a", 9000)...)) // more than an engine would read at once
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
		require.True(s, len(all) >= len(before) && slices.Equal(all[:len(before)], before), "the earlier seeds come first")
		seen := map[frontier.Seed]bool{}
		for _, x := range all {
			require.Falsef(s, seen[x], "%v twice", x)
			seen[x] = true
		}
	}},
	{Name: "seeds: an iteration can end early", Test: func(s *Stage) {
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
	{Name: "size: it grows with the contents, and survives a restart", Test: func(s *Stage) {
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
	{Name: "size: with a larger MaxSize the next opening continues, and nothing is lost", Options: frontier.Options{MaxSize: limit}, Test: func(s *Stage) {
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

func eachSeed(s *Stage, f func(n int)) (all []frontier.Seed) {
	for x, err := range s.Frontier.AllSeeds(s.Context()) {
		require.NoErrorf(s, err, "AllSeeds after %d", len(all))
		all = append(all, x)
		f(len(all))
	}
	return all
}

// limit is the MaxSize of the rules that set one: small, but more than an empty engine needs.
const limit = 8 << 20

// bulk returns links to one host with long paths that do not compress, from number n on.
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

var hostRules = []rule{
	{Name: "host: an update is kept until the next one", Test: func(s *Stage) {
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
		s.Sleep(2 * time.Second) // the pace applies again
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
	{Name: "host: later changes of the caller's slices have no effect", Test: func(s *Stage) {
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
}

var stopRules = []rule{
	// Written records count only when the barrier has synced them: after the crash there must be no Done without its
	// record.
	{Name: "barrier: before each commit, for the results applied before it", Crash: true, Test: func(s *Stage) {
		var written, synced, calls atomic.Int64
		s.Reopen(frontier.Options{Barrier: func(context.Context) error {
			n := written.Load()
			time.Sleep(30 * time.Millisecond) // records written from here on are not synced
			synced.Store(n)
			calls.Add(1)
			return nil
		}})
		s.Add(s.Links(Pages("a", 200)...))
		calls.Store(0)
		for range 100 {
			t := s.Turn(1)
			written.Add(1)
			begin := time.Now()
			s.Finish(Fetched(t))
			Want(s, "time that Finish waits", time.Since(begin), 0)
			s.Sleep(7 * time.Millisecond)
		}
		s.Kill()
		n := synced.Load()
		s.Open(frontier.Options{})
		done := s.Stats().Outcomes[frontier.Fetched]
		require.LessOrEqual(s, done, n, "URLs done and records synced")
		// 700 ms are at least two groups, of 200 ms and a barrier of 30 ms each.
		require.GreaterOrEqual(s, calls.Load(), int64(2))
		require.GreaterOrEqual(s, done, int64(40))
	}},
	{Name: "barrier: its error poisons, and its commit is not durable", Test: func(s *Stage) {
		failing := failing(s)
		s.Add(s.Links("a/0", "a/1"))
		t := s.Turn(1)
		answer := s.Waiting(frontier.Want{MaxWait: time.Hour}) // the host is leased
		failing.Store(true)
		s.end(t, frontier.Result{Done: done(t.Tasks...), Found: s.Links("a/9"), Keep: true})
		require.ErrorIs(s, s.Frontier.Sync(s.Context()), errFull, "Sync")
		failing.Store(false) // too late: later calls may rely on lost ones
		_, err := answer()
		require.ErrorIs(s, err, errFull, "Claim that waits")
		for name, err := range calls(s, t) {
			assert.ErrorIs(s, err, errFull, name)
		}
		f := s.Frontier
		s.Frontier = nil
		assert.ErrorIs(s, f.Close(), errFull)
		s.Check()
		s.Open(frontier.Options{})
		Want(s, "Unclean", s.Stats().Unclean, true)
		Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], 0)
		Want(s, "the link", s.Add(s.Links("a/9")), frontier.Added{New: 1})
		us := s.Drain(0)
		slices.Sort(us) // an engine may put off tasks that were in flight
		Want(s, "tasks", strings.Join(us, " "), "a/0 a/1 a/9")
	}},
	{Name: "barrier: a Sync that is cancelled meanwhile ends at once, and does not poison", Test: func(s *Stage) {
		s.Reopen(frontier.Options{Barrier: func(context.Context) error { time.Sleep(time.Second); return nil }})
		s.Add(s.Links("a/0"))
		s.Finish(Fetched(s.Turn(1)))
		ctx, cancel := context.WithTimeout(s.Context(), 10*time.Millisecond)
		defer cancel()
		begin := time.Now()
		require.ErrorIs(s, s.Frontier.Sync(ctx), context.DeadlineExceeded)
		require.Equal(s, 10*time.Millisecond, time.Since(begin))
		s.Sync()
		Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], 1)
	}},
	{Name: "close: every later call is ErrClosed, and a claim that waits ends", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		t := s.Turn(1)
		answer := s.Waiting(frontier.Want{MaxWait: time.Hour})
		f := s.Frontier
		s.Close()
		c, err := answer()
		require.ErrorIs(s, err, frontier.ErrClosed, "Claim that waits")
		require.Empty(s, c.Turns)
		s.Frontier = f
		for name, err := range calls(s, t) {
			assert.ErrorIs(s, err, frontier.ErrClosed, name)
		}
		s.Frontier = nil
		s.Open(s.Options)
		Want(s, "Add of the link added after Close", s.Add(s.Links("x/0")), frontier.Added{New: 1})
	}},
	{Name: "close: a commit that fails is its error, and the stop is unclean", Test: func(s *Stage) {
		failing := failing(s)
		s.Add(s.Links("a/0"))
		s.Finish(Fetched(s.Turn(1)))
		failing.Store(true)
		f := s.Frontier
		s.Frontier = nil
		require.ErrorIs(s, f.Close(), errFull, "Close")
		s.Check()
		s.Open(frontier.Options{})
		Want(s, "Unclean", s.Stats().Unclean, true)
		Want(s, "task", Names(s.Turn(1).Tasks), "a/0")
	}},
	{Name: "crash: a claim that waits ends", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.Turn(1)
		answer := s.Waiting(frontier.Want{MaxWait: time.Hour})
		s.Kill()
		_, err := answer()
		require.Error(s, err, "Claim that waits")
		s.Open(s.Options)
		Want(s, "Leases", s.Stats().Leases, 0)
		Want(s, "task", Names(s.Turn(1).Tasks), "a/0")
	}},
	{Name: "crash: during the barrier nothing is committed", Crash: true, Test: func(s *Stage) {
		var slow atomic.Bool
		s.Reopen(frontier.Options{Barrier: func(ctx context.Context) error {
			if slow.Load() {
				select {
				case <-ctx.Done():
				case <-time.After(time.Second):
				}
			}
			return nil
		}})
		s.Add(s.Links("a/0"))
		s.Finish(Fetched(s.Turn(1)))
		slow.Store(true)
		ctx, f := s.Context(), s.Frontier
		synced := make(chan error, 1)
		go func() { synced <- f.Sync(ctx) }()
		s.Sleep(100 * time.Millisecond)
		s.Kill()
		require.Error(s, <-synced, "Sync, whose barrier had not returned at the crash")
		slow.Store(false)
		s.Open(s.Options)
		Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], 0)
		Want(s, "tasks", Names(s.Turn(1).Tasks), "a/0")
	}},
	{Name: "durable: GroupPages results, without a wait", Crash: true, Test: func(s *Stage) {
		var us []string
		for i := range frontier.GroupPages {
			us = append(us, fmt.Sprintf("h%d/0", i))
		}
		s.Add(s.Links(us...))
		c := s.Claim(frontier.GroupPages, 1)
		Want(s, "turns", len(c.Turns), frontier.GroupPages)
		var rs []frontier.Result
		for _, t := range c.Turns {
			rs = append(rs, Fetched(t))
		}
		_, err := s.Frontier.Finish(s.Context(), rs)
		require.NoError(s, err)
		synctest.Wait() // no time passes
		s.Crash()
		Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], frontier.GroupPages)
	}},
	{Name: "durable: all of a result or nothing, crash at once", Crash: true, Test: durableWhole(0)},
	{Name: "durable: all of a result or nothing, crash within the group", Crash: true, Test: durableWhole(frontier.GroupDelay / 2)},
	{Name: "durable: all of a result or nothing, crash after the group", Crash: true, Test: durableWhole(2 * frontier.GroupDelay)},
}

var errFull = errors.New("the archive is full") // of a barrier that fails

// failing reopens the frontier with a barrier that fails while the returned switch is on.
func failing(s *Stage) *atomic.Bool {
	var failing atomic.Bool
	s.Reopen(frontier.Options{Barrier: func(context.Context) error {
		if failing.Load() {
			return errFull
		}
		return nil
	}})
	return &failing
}

func calls(s *Stage, t frontier.Turn) map[string]error {
	ctx, f := s.Context(), s.Frontier
	errs := map[string]error{}
	_, errs["Add"] = f.Add(ctx, s.Links("x/0"))
	_, errs["Claim"] = f.Claim(ctx, frontier.Want{})
	_, errs["ClaimAuthority"] = f.ClaimAuthority(ctx, s.Authority("x"))
	_, errs["Finish"] = f.Finish(ctx, []frontier.Result{Fetched(t)})
	errs["Sync"] = f.Sync(ctx)
	_, errs["Seen"] = f.Seen(ctx, []canon.URL{s.URL("x/0")})
	errs["AllSeeds"] = nil
	for _, err := range f.AllSeeds(ctx) {
		errs["AllSeeds"] = err
	}
	_, _, errs["Entry"] = f.Entry(ctx, s.URL("x/0"))
	_, errs["Quarantined"] = f.Quarantined(ctx)
	_, errs["Blob"] = f.Blob(ctx, digest("x"))
	_, _, errs["Host"] = f.Host(ctx, s.Authority("x"))
	_, errs["Hosts"] = f.Hosts(ctx, canon.Authority{}, 1)
	_, errs["Stats"] = f.Stats(ctx)
	return errs
}

// durableWhole crashes some time after a Finish with everything that a result can have.
func durableWhole(after time.Duration) func(s *Stage) {
	return func(s *Stage) {
		s.Add(s.Links("a/0", "a/1"))
		s.Finish(FullResult(s, s.Turn(2)))
		s.Sleep(after)
		s.Crash()
		h, st := s.Host("a"), s.Stats()
		there := h.Outcomes[frontier.Fetched] == 1
		if after > frontier.GroupDelay {
			Want(s, "the outcome is there", there, true)
		}
		Want(s, "the deferral is there", h.Deferred == 1, there)
		Want(s, "the update is there", string(h.Robots) == "r", there)
		Want(s, "the wait is there", h.Wait > 0, there)
		Want(s, "the count is there", st.Counts["octets"] == 1000, there)
		_, err := s.Frontier.Blob(s.Context(), digest("a body"))
		Want(s, "the blob is there", err == nil, there)
		seeds, err := frontier.SeedsOf(s.Context(), s.Frontier)
		Want(s, "the extension of scope is there", err == nil && len(seeds) == 1, there)
		Want(s, "the refusal is there", st.Reasons[frontier.Dropped]["trap"] == 1, there)
		Want(s, "the links are there", s.Add(s.Links("a/90", "z/0")).Known == 2, there)
	}
}

// due fails unless the first host is due after d.
func due(s *Stage, d time.Duration) {
	Want(s, "Host.Wait", s.Host("a").Wait, d)
	if d > 0 {
		c := s.Claim(1, 1)
		Want(s, "state", c.State, frontier.Waiting)
		Want(s, "due", c.Due, d)
		s.Blocked(d - time.Millisecond)
		s.Sleep(time.Millisecond)
	}
	s.Finish(resultOf(s.Turn(1)))
}

// openPaced opens the frontier with a PaceOf: short for b, longer than Pace for c, and negative for d.
func openPaced(s *Stage) {
	o := s.Options
	o.PaceOf = func(a canon.Authority) time.Duration {
		switch a.Host() {
		case "b.test":
			return 300 * time.Millisecond
		case "c.test":
			return time.Hour
		case "d.test":
			return -1
		}
		return o.Pace
	}
	s.Open(o)
}

// suspectRules are about URLs that crash the process each time they are fetched.
var suspectRules = []rule{
	{Name: "quarantine: a URL that kills at each claim ends there soon, and all others get done", Crash: true, Test: quarantineKiller(1, false)},
	{Name: "quarantine: also in turns of many tasks, on several hosts at once", Crash: true, Test: quarantineKiller(3, false)},
	{Name: "quarantine: also when it kills at the instant of its claim", Crash: true, Test: quarantineKiller(3, true)},
}

func fall(s *Stage) {
	s.Sleep(frontier.GroupDelay + time.Millisecond)
	s.Crash()
}

// quarantineKiller crawls three hosts, with one turn of so many tasks at each at a time. A worker that begins with the
// second page of the first host crashes the process: at once, or when the lease has been recorded.
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
		st := s.Stats()
		Want(s, "Failed", st.Outcomes[frontier.Failed], 1)
		Want(s, "Failed as quarantined", st.Reasons[frontier.Failed][frontier.ReasonQuarantined], 1)
		Want(s, "Fetched", st.Outcomes[frontier.Fetched], 29)
		s.Retry(frontier.Retrial{Outcome: frontier.Failed})
		Want(s, "pending after Retry", s.Pending(), killer)
	}
}

var orderRules = []rule{
	{Name: "order: hosts that are due take turns, however long their queues", Test: func(s *Stage) {
		hosts := []string{"big", "a", "b", "c", "d"}
		s.Add(s.Links(Pages("big", 100)...))
		for _, h := range hosts[1:] {
			s.Add(s.Links(Pages(h, 4)...))
		}
		var last []string
		for range 4 * len(hosts) {
			t := s.Turn(1)
			h := t.Authority.Host()
			n := min(len(last), len(hosts)-1)
			require.NotContains(s, last[len(last)-n:], h, "another host was due for longer")
			last = append(last, h)
			s.Sleep(10 * time.Millisecond)
			s.Finish(Fetched(t))
		}
		Want(s, "queued of big", s.Host("big").Queued, 96)
		Want(s, "queued in total", s.Stats().Queued, 96)
	}},
	{Name: "order: one owner per authority under many claimers, every task once", Test: func(s *Stage) {
		const hosts, each, workers = 7, 30, 16
		for i := range hosts {
			s.Add(s.Links(Pages(string(rune('a'+i)), each)...))
		}
		type answer struct {
			t   frontier.Turn
			err error
		}
		begun, ended := make(chan answer), make(chan frontier.Turn)
		for w := range workers {
			go func() {
				for n := 0; ; n++ {
					c, err := s.Frontier.Claim(s.Context(), frontier.Want{Tasks: 3, MaxWait: time.Hour})
					if err != nil || len(c.Turns) != 1 {
						begun <- answer{err: err}
						return
					}
					begun <- answer{t: c.Turns[0]}
					time.Sleep(time.Duration((w*7+n*3)%11) * time.Millisecond)
					ended <- c.Turns[0] // before Finish: from then on another may own it
					r := Fetched(c.Turns[0])
					r.Wait = time.Duration(n%3) * 5 * time.Millisecond
					fs, err := s.Frontier.Finish(s.Context(), []frontier.Result{r})
					assert.Truef(s, err == nil && fs[0].Err == nil, "Finish: %v, %v", fs, err)
				}
			}()
		}
		owned, tokens, tasks := map[string]bool{}, map[frontier.Token]bool{}, map[string]int{}
		for working := workers; working > 0; {
			select {
			case a := <-begun:
				if len(a.t.Tasks) == 0 {
					working--
					assert.Truef(s, a.err == nil, "Claim: %v", a.err)
					continue
				}
				if h := a.t.Authority.String(); owned[h] || tokens[a.t.Token] || a.t.Token == 0 {
					s.Errorf("%s, token %x: owned already %v, token used already %v", h, a.t.Token, owned[h], tokens[a.t.Token])
				}
				owned[a.t.Authority.String()], tokens[a.t.Token] = true, true
				for _, x := range a.t.Tasks {
					tasks[Short(x.URL)]++
				}
			case t := <-ended:
				owned[t.Authority.String()] = false
			}
		}
		synctest.Wait()
		Want(s, "tasks", len(tasks), hosts*each)
		for u, n := range tasks {
			Want(s, "times that "+u+" was claimed", n, 1)
		}
		Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], hosts*each)
	}},
}

var leaseRules = []rule{
	{Name: "claim: ends when its context does", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.Turn(1)
		ctx, cancel := context.WithTimeoutCause(s.Context(), time.Second, errors.New("not this one"))
		defer cancel()
		begin := time.Now()
		c, err := s.Frontier.Claim(ctx, frontier.Want{MaxWait: time.Hour})
		require.ErrorIs(s, err, context.DeadlineExceeded)
		require.Empty(s, c.Turns)
		require.Equal(s, time.Second, time.Since(begin))
		Want(s, "Leases", s.Stats().Leases, 1)
		s.Add(s.Links("b/0")) // a cancelled call does not poison
		s.Turn(1)
	}},
	// Crawls a binary tree of pages, each on another host than its parent: page n links to 2n+1, 2n+2 and its parent.
	{Name: "end: many workers follow links to the end, each page once, and all see Drained", Test: func(s *Stage) {
		const size, workers = 300, 8
		page := func(n int) string { return fmt.Sprintf("h%d/%d", n%7, n) }
		s.Add(s.Seeds(page(0)))
		var mu sync.Mutex
		visits := map[string]int{}
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for {
					c, err := s.Frontier.Claim(s.Context(), frontier.Want{MaxWait: time.Second})
					if err != nil || len(c.Turns) == 0 {
						assert.Truef(s, err == nil && c.State == frontier.Drained, "Claim ends with state %d, error %v; want Drained", c.State, err)
						return
					}
					u := Short(c.Turns[0].Tasks[0].URL)
					mu.Lock()
					visits[u]++
					mu.Unlock()
					_, path, _ := strings.Cut(u, "/")
					n, err := strconv.Atoi(path)
					assert.Truef(s, err == nil, "task %s was never added", u)
					time.Sleep(time.Duration(n%5) * time.Millisecond)
					r := Fetched(c.Turns[0])
					r.Wait = time.Duration(n%3) * time.Millisecond
					for _, link := range []int{2*n + 1, 2*n + 2, (n - 1) / 2} {
						if link < size {
							r.Found = append(r.Found, s.Links(page(link))...)
						}
					}
					fs, err := s.Frontier.Finish(s.Context(), []frontier.Result{r})
					assert.Truef(s, err == nil && fs[0].Err == nil, "Finish: %v, %v", fs, err)
				}
			})
		}
		wg.Wait()
		s.CheckSums()
		Want(s, "pages visited", len(visits), size)
		Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], size)
	}},
	{Name: "wake: every claim that waits is woken at the end", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		t := s.Turn(1)
		var answers []func() (frontier.Claimed, error)
		for range 5 {
			answers = append(answers, s.Waiting(frontier.Want{MaxWait: time.Hour}))
		}
		s.Finish(Fetched(t))
		for _, answer := range answers {
			c, err := answer()
			require.NoError(s, err)
			require.Equal(s, frontier.Claimed{State: frontier.Drained}, c)
		}
	}},
}

func unchanged(s *Stage, f func()) {
	before := s.Picture()
	f()
	require.Empty(s, before.Diff(s.Picture()), "something has changed")
	_, err := s.Frontier.Blob(s.Context(), digest("a body"))
	require.ErrorIs(s, err, frontier.ErrNoBlob)
	Want(s, "Seen", s.Seen("a/90") || s.Seen("a/91") || s.Seen("z/0"), false)
}

var operatorRules = []rule{
	{Name: "retry: Fetched, Redirected, and nothing at all are refused, without poison", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.CloseAll()
		for _, r := range []frontier.Retrial{
			{}, {Robots: true}, {Outcome: frontier.Fetched}, {Outcome: frontier.Redirected, Hosts: true}, {Outcome: frontier.Held + 1},
		} {
			_, err := s.Frontier.Retry(s.Context(), r)
			require.Errorf(s, err, "Retry %+v", r)
		}
		Want(s, "Add afterwards", s.Add(s.Links("a/1")), frontier.Added{New: 1})
		Want(s, "tasks", s.Pending(), "a/1")
	}},
	{Name: "steer: an invalid command is refused, without poison", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		for why, c := range map[string]frontier.Steering{
			"no act":           {Authority: s.Authority("a")},
			"an unknown act":   {Act: 9, Authority: s.Authority("a")},
			"no host":          {Act: frontier.Park},
			"a negative time":  {Act: frontier.Park, Authority: s.Authority("a"), For: -1},
			"a time with Drop": {Act: frontier.Drop, Authority: s.Authority("a"), For: time.Hour},
			"URLs with Park":   {Act: frontier.Park, Authority: s.Authority("a"), URLs: []canon.URL{s.URL("a/0")}},
			"a URL of another": {Act: frontier.Drop, Authority: s.Authority("a"), URLs: []canon.URL{s.URL("b/0")}},
			"a zero URL":       {Act: frontier.Drop, Authority: s.Authority("a"), URLs: []canon.URL{{}}},
		} {
			_, err := s.Frontier.Steer(s.Context(), c)
			require.Error(s, err, why)
		}
		Want(s, "still pending", s.Pending(), "a/0")
	}},
	{Name: "tell: a Drop that cannot be reported is an error, and drops nothing unreported", Crash: true, Test: func(s *Stage) {
		d := tellCalls{fail: errDeaf}
		s.Reopen(d.options())
		s.Add(s.Links("a/0"))
		_, err := s.Frontier.Steer(s.Context(), frontier.Steering{Act: frontier.Drop, Authority: s.Authority("a")})
		require.ErrorIs(s, err, d.fail)
		d.hears(nil)
		s.Crash()
		// The crash may come after a commit that has the command. The opening then finishes it, and reports first.
		if s.Pending() == "a/0" {
			Want(s, "the calls of Tell and Barrier after the crash", d.since(), "")
		} else {
			s.Sleep(2 * frontier.GroupDelay)
			Want(s, "the calls of Tell and Barrier after the crash", d.since(), "a/0 of tag, barrier")
			st := s.Stats()
			Want(s, "Dropped", st.Outcomes[frontier.Dropped], 1)
			Want(s, "Dropped by the operator", st.Reasons[frontier.Dropped][frontier.ReasonOperator], 1)
		}
	}},
}

// tellCalls collects the calls of Options.Tell and Options.Barrier, in order.
type tellCalls struct {
	mu   sync.Mutex
	all  []string
	fail error
}

func (d *tellCalls) options() frontier.Options {
	return frontier.Options{
		LeaseLength: turnLength,
		Tell: func(_ context.Context, l frontier.Closings) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			for _, c := range l.URLs {
				d.all = append(d.all, Short(c.URL)+" of "+c.Tag)
			}
			for a, n := range l.Hosts {
				d.all = append(d.all, fmt.Sprint(n, " of ", a))
			}
			return d.fail
		},
		Barrier: func(context.Context) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			if n := len(d.all); n > 0 && d.all[n-1] != "barrier" {
				d.all = append(d.all, "barrier")
			}
			return nil
		},
	}
}

var errDeaf = errors.New("no room") // of a Tell that fails

// hears has later calls of Tell fail with that error, and forgets earlier ones.
func (d *tellCalls) hears(fail error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail, d.all = fail, nil
}

// since returns the calls since the last time.
func (d *tellCalls) since() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := strings.Join(d.all, ", ")
	d.all = nil
	return all
}
