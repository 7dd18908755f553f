package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// stopRules are about the barrier, poison, stops and what is due after them.
var stopRules = []rule{
	// Keeps an archive of its own, in which written records count for nothing until the barrier has synced them: after the crash there must be no Done without its record.
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
	{Name: "barrier: its error poisons, and what it did not vouch for is not durable", Test: func(s *Stage) {
		failing := failing(s)
		s.Add(s.Links("a/0", "a/1"))
		t := s.Turn(1)
		answer := s.Waiting(frontier.Want{MaxWait: time.Hour}) // the host is leased
		failing.Store(true)
		s.end(t, frontier.Result{Done: done(t.Tasks...), Found: s.Links("a/9"), Keep: true})
		require.ErrorIs(s, s.Frontier.Sync(s.Context()), errFull, "Sync")
		failing.Store(false) // too late: what followed may rely on what was lost
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
		slices.Sort(us) // an engine may put off what was in flight
		Want(s, "tasks", strings.Join(us, " "), "a/0 a/1 a/9")
	}},
	{Name: "barrier: a Sync that is cancelled meanwhile ends at once, and is no poison", Test: func(s *Stage) {
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
		Want(s, "Add of what was added after Close", s.Add(s.Links("x/0")), frontier.Added{New: 1})
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

// errFull is the error of a barrier that fails.
var errFull = errors.New("the archive is full")

// failing opens the frontier again with a barrier that fails while the switch it returns is on.
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

// calls makes one call of every method but Close and returns the errors.
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

// durableWhole crashes some time after a Finish that carries everything.
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

// paced opens the frontier with a PaceOf: that of b is short, that of c longer than Pace, and that of d less than zero.
func paced(s *Stage) {
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

// suspectRules are about URLs that may bring the process down each time they are fetched.
var suspectRules = []rule{
	{Name: "suspect: of two stops only while no other lease is out, and then no other turn", Crash: true, Test: func(s *Stage) {
		guilty := twice(s)
		e := s.Alone(s.Authority("e"))
		s.Add(s.Links("d/0"))
		for range 3 {
			t := s.Turn(9)
			require.NotEqual(s, guilty, Names(t.Tasks), "given while a lease is out")
			s.Finish(Fetched(t))
		}
		nothing(s, "a suspect of two stops, while a lease is out")
		s.Finish(resultOf(e))
		t := s.Turn(9)
		Want(s, "at last", taskNames(t.Tasks), guilty+":2")
		s.Add(s.Links("d/1"))
		nothing(s, "other hosts, while a suspect of two stops is out")
		s.NotDue("a suspect of two stops is out", "e")
		s.Finish(Fetched(t))
		Want(s, "the rest", s.Pending(), "d/1")
	}},
	{Name: "suspect: one that is deferred is one no more", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "b/0"))
		accuse(s, 2)
		t := s.Turn(1)
		for t.Tasks[0].Stops == 0 {
			s.Finish(Fetched(t))
			t = s.Turn(1)
		}
		Want(s, "Suspects", s.Stats().Suspects, 2)
		s.end(t, frontier.Result{Deferred: []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Minute, Reason: "status 500"}}})
		Want(s, "Suspects", s.Stats().Suspects, 1)
		for range 2 {
			s.Sleep(time.Minute)
			other := s.Turn(1)
			if other.Tasks[0].Stops > 0 {
				s.Finish(Fetched(other))
				other = s.Turn(1)
			}
			Want(s, "the deferred one", taskNames(other.Tasks), Names(t.Tasks))
			Want(s, "attempts", other.Tasks[0].Attempts, 1)
			s.Finish(resultOf(other))
			s.Reopen()
		}
	}},
	// First has so many results applied that other turns are given without a record.
	{Name: "suspect: the record of a turn with one is durable when it is given, however late", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.Turn(1)
		fall(s)
		s.Add(s.Links("b/0"))
		for range frontier.GroupPages + 10 {
			t := s.Turn(9)
			if Names(t.Tasks) == "b/0" || len(t.Tasks) == 0 {
				s.Finish(resultOf(t))
				continue
			}
			Want(s, "the suspect", taskNames(t.Tasks), "a/0:1")
			s.Finish(resultOf(t))
		}
		s.Add(s.Links("c/0")) // a commit whose record is empty
		Want(s, "the suspect", taskNames(s.Only("a/0").Tasks), "a/0:1")
		s.Crash()
		Want(s, "the suspect", taskNames(s.Only("a/0").Tasks), "a/0:2")
	}},
	{Name: "quarantine: not for stops at which another was in flight", Crash: true, Test: func(s *Stage) {
		guilty := twice(s) // two stops, never alone
		for range frontier.QuarantineStops - 1 {
			for {
				t := s.Turn(1)
				if Names(t.Tasks) == guilty {
					break
				}
				s.Finish(Fetched(t))
			}
			fall(s)
			quarantined(s, 0)
		}
		Want(s, "the task", taskNames(s.Only(guilty).Tasks), guilty+":4")
		fall(s)
		quarantined(s, 1)
	}},
	{Name: "quarantine: a URL that kills at each claim ends there soon, and all others get done", Crash: true, Test: quarantineKiller(1, false)},
	{Name: "quarantine: also in turns of many tasks, on several hosts at once", Crash: true, Test: quarantineKiller(3, false)},
	{Name: "quarantine: also when it kills at the instant of its claim", Crash: true, Test: quarantineKiller(3, true)},
	// Kills a crawl each time when four turns have been out for long enough to be recorded.
	{Name: "quarantine: twenty kills of an innocent crawl quarantine nothing", Crash: true, Test: func(s *Stage) {
		const kills, hosts, each = 20, 6, 30
		for h := range hosts {
			s.Add(s.Links(Pages(fmt.Sprintf("h%d", h), each)...))
		}
		for range kills {
			c := s.Claim(4, 3)
			Want(s, "turns", len(c.Turns), 4)
			s.Finish(Fetched(c.Turns[0], c.Turns[0].Tasks[0]))
			s.Finish(Fetched(c.Turns[1], c.Turns[1].Tasks[:min(2, len(c.Turns[1].Tasks))]...))
			s.Claim(2, 1)
			fall(s)
			quarantined(s, 0)
		}
		s.Drain(0)
		quarantined(s, 0)
		st := s.Stats()
		Want(s, "Fetched", st.Outcomes[frontier.Fetched], hosts*each)
		Want(s, "Suspects", st.Suspects, 0)
	}},
	// Kills a crawl of few hosts after a number of steps that goes up and down. Only a task may be in quarantine that was alone out at three of the kills, or within GroupDelay before.
	{Name: "quarantine: twenty kills at any instant quarantine only what was alone at three", Crash: true, Test: func(s *Stage) {
		for h := range 3 {
			s.Add(s.Links(Pages(fmt.Sprintf("h%d", h), 12)...))
		}
		alone := map[string]int{}
		for kill := range 20 {
			c := s.Claim(1+kill%2, 1+kill%3)
			for range kill * 7 % 4 {
				for _, t := range c.Turns {
					s.Finish(Fetched(t, t.Tasks[0]))
				}
				c = s.Claim(1+kill%3, 2)
			}
			s.Sleep(frontier.GroupDelay + 1)
			if len(c.Turns) == 1 {
				alone[Names(c.Turns[0].Tasks[:1])]++
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
		Want(s, "Suspects", st.Suspects, 0)
		Want(s, "Fetched and Failed", st.Outcomes[frontier.Fetched]+st.Outcomes[frontier.Failed], 36)
		if n := st.Reasons[frontier.Failed][frontier.ReasonQuarantined]; n > may || n != st.Outcomes[frontier.Failed] {
			s.Fatalf("%d in quarantine, and %d were alone at %d kills; the rest: %s", n, may, frontier.QuarantineStops, strings.Join(us, " "))
		}
	}},
}

// fall lets a turn's lease be recorded, and crashes.
func fall(s *Stage) {
	s.Sleep(frontier.GroupDelay + time.Millisecond)
	s.Crash()
}

// accuse makes the first task of every host that is due a suspect: all are in flight at once.
func accuse(s *Stage, hosts int) {
	Want(s, "turns", len(s.Claim(hosts, 1).Turns), hosts)
	fall(s)
}

// nothing fails if a turn is given. A lease is out, so that Claim has to wait.
func nothing(s *Stage, what string) {
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	defer cancel()
	c, err := s.Frontier.Claim(ctx, frontier.Want{Hosts: 9, Tasks: 9, MaxWait: frontier.Never})
	require.ErrorIsf(s, err, context.DeadlineExceeded, "Claim gives %d turns, state %d; want it to wait: %s", len(c.Turns), c.State, what)
}

// twice leaves a suspect of two stops, which was never alone, one of one stop, and x/0, one of one stop too. It returns
// the first.
func twice(s *Stage) string {
	s.Helper()
	s.Add(s.Links("a/0", "b/0"))
	accuse(s, 2)
	s.Add(s.Links("x/0"))
	c := s.Claim(9, 9)
	Want(s, "turns", len(c.Turns), 2)
	fall(s)
	Want(s, "Suspects", s.Stats().Suspects, 3)
	for _, t := range c.Turns {
		if t.Tasks[0].Stops > 0 {
			return Names(t.Tasks)
		}
	}
	s.Fatal("no turn has a suspect, though nothing else of its host is due")
	return ""
}

// quarantined fails unless so many URLs are in quarantine, and no other Failed.
func quarantined(s *Stage, n int64) {
	st := s.Stats()
	Want(s, "Failed", st.Outcomes[frontier.Failed], n)
	Want(s, "Failed as quarantined", st.Reasons[frontier.Failed][frontier.ReasonQuarantined], n)
}

// quarantineKiller crawls three hosts, a turn of so many tasks at each at one time. A worker that begins with the
// second page of the first host brings the process down: at once, or when the lease has been recorded.
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
		quarantined(s, 1)
		Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], 29)
		s.Retry(frontier.Retrial{Outcome: frontier.Failed})
		Want(s, "what is tried again", s.Pending(), killer)
	}
}
