package frontiertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/frontiertest/stage"
)

// commitRules are about the barrier, poison and the end of an engine.
func commitRules() []stage.Rule {
	return []stage.Rule{
		{Name: "barrier: before each commit, for the results applied before it", Crash: true, Test: barrierBefore},
		{Name: "barrier: its error poisons, and what it did not vouch for is not durable", Test: barrierFails},
		{Name: "barrier: a Sync that is cancelled meanwhile ends at once, and is no poison", Test: barrierCancelled},
		{Name: "close: every later call is ErrClosed, and a claim that waits ends", Test: closeEnds},
		{Name: "close: a commit that fails is its error, and the stop is unclean", Test: closeFails},
		{Name: "close: leases still out are forgotten, their tasks pending", Test: closeLeases},
		{Name: "crash: a claim that waits ends", Crash: true, Test: crashEnds},
		{Name: "crash: during the barrier nothing is committed", Crash: true, Test: crashInBarrier},
	}
}

// barrierBefore keeps an archive of its own, in which written records count for nothing until the barrier has synced
// them: after the crash there must be no Done without its record.
func barrierBefore(s *stage.Stage) {
	var written, synced, calls atomic.Int64
	s.Close()
	o := s.Options
	o.Barrier = func(context.Context) error {
		n := written.Load()
		time.Sleep(30 * time.Millisecond) // records written from here on are not synced
		synced.Store(n)
		calls.Add(1)
		return nil
	}
	s.Open(o)
	s.Add(s.Links(stage.Pages("a", 200)...))
	calls.Store(0)
	for range 100 {
		t := s.Turn(1)
		written.Add(1)
		begin := time.Now()
		s.Finish(stage.Fetched(t))
		stage.Want(s, "time that Finish waits", time.Since(begin), 0)
		s.Sleep(7 * time.Millisecond)
	}
	s.Kill()
	n := synced.Load()
	s.Open(frontier.Options{})
	done := s.Stats().Outcomes[frontier.Fetched]
	if done > n {
		s.Fatalf("%d URLs are done, but only %d records were synced", done, n)
	}
	// 700 ms are at least two groups, of 200 ms and a barrier of 30 ms each.
	if c := calls.Load(); c < 2 || done < 40 {
		s.Fatalf("%d calls of the barrier and %d URLs done in 700 ms: want at least 2 and 40", c, done)
	}
}

// errFull is the error of a barrier that fails.
var errFull = errors.New("the archive is full")

// failing opens the frontier again with a barrier that fails while the switch it returns is on.
func failing(s *stage.Stage) *atomic.Bool {
	s.Helper()
	var failing atomic.Bool
	s.Close()
	o := s.Options
	o.Barrier = func(context.Context) error {
		if failing.Load() {
			return errFull
		}
		return nil
	}
	s.Open(o)
	return &failing
}

func barrierFails(s *stage.Stage) {
	failing := failing(s)
	s.Add(s.Links("a/0", "a/1"))
	t := s.Turn(1)
	answer := s.Waiting(frontier.Want{MaxWait: time.Hour}) // the host is leased
	failing.Store(true)
	r := stage.Fetched(t)
	r.Found, r.Keep = s.Links("a/9"), true
	s.Finish(r)
	if err := s.Frontier.Sync(s.Context()); !errors.Is(err, errFull) {
		s.Fatalf("Sync: %v, want the error of the barrier", err)
	}
	failing.Store(false) // too late: what followed may rely on what was lost
	if _, err := answer(); !errors.Is(err, errFull) {
		s.Fatalf("Claim that waits: %v, want the error of the barrier", err)
	}
	for name, err := range calls(s, t) {
		if !errors.Is(err, errFull) {
			s.Errorf("%s: %v, want the error of the barrier", name, err)
		}
	}
	f := s.Frontier
	s.Frontier = nil
	if err := f.Close(); !errors.Is(err, errFull) {
		s.Errorf("Close: %v, want the error of the barrier", err)
	}
	s.Check()
	s.Open(frontier.Options{})
	stage.Want(s, "Unclean", s.Stats().Unclean, true)
	stage.Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], 0)
	stage.Want(s, "the link", s.Add(s.Links("a/9")), frontier.Added{New: 1})
	us := s.Drain(0)
	slices.Sort(us) // an engine may put off what was in flight
	stage.Want(s, "tasks", strings.Join(us, " "), "a/0 a/1 a/9")
}

func barrierCancelled(s *stage.Stage) {
	s.Close()
	o := s.Options
	o.Barrier = func(context.Context) error { time.Sleep(time.Second); return nil }
	s.Open(o)
	s.Add(s.Links("a/0"))
	s.Finish(stage.Fetched(s.Turn(1)))
	ctx, cancel := context.WithTimeout(s.Context(), 10*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if err := s.Frontier.Sync(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 10*time.Millisecond {
		s.Fatalf("Sync for 10 ms: %v after %v", err, time.Since(begin))
	}
	s.Sync()
	stage.Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], 1)
}

// calls makes one call of every method but Close and returns the errors.
func calls(s *stage.Stage, t frontier.Turn) map[string]error {
	ctx, f := s.Context(), s.Frontier
	errs := map[string]error{}
	_, errs["Add"] = f.Add(ctx, s.Links("x/0"))
	_, errs["Claim"] = f.Claim(ctx, frontier.Want{})
	_, errs["ClaimAuthority"] = f.ClaimAuthority(ctx, s.Authority("x"))
	_, errs["Finish"] = f.Finish(ctx, []frontier.Result{stage.Fetched(t)})
	errs["Sync"] = f.Sync(ctx)
	_, errs["Seen"] = f.Seen(ctx, []canon.URL{s.URL("x/0")})
	errs["AllSeeds"] = nil
	for _, err := range f.AllSeeds(ctx) {
		errs["AllSeeds"] = err
	}
	_, _, errs["Entry"] = f.Entry(ctx, s.URL("x/0"))
	_, errs["Quarantined"] = f.Quarantined(ctx)
	_, errs["Blob"] = f.Blob(ctx, stage.Digest("x"))
	_, _, errs["Host"] = f.Host(ctx, s.Authority("x"))
	_, errs["Hosts"] = f.Hosts(ctx, canon.Authority{}, 1)
	_, errs["Stats"] = f.Stats(ctx)
	return errs
}

func closeEnds(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	t := s.Turn(1)
	answer := s.Waiting(frontier.Want{MaxWait: time.Hour})
	f := s.Frontier
	s.Close()
	if c, err := answer(); !errors.Is(err, frontier.ErrClosed) || len(c.Turns) > 0 {
		s.Fatalf("Claim that waits: %+v, error %v; want ErrClosed", c, err)
	}
	s.Frontier = f
	for name, err := range calls(s, t) {
		if !errors.Is(err, frontier.ErrClosed) {
			s.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
	s.Frontier = nil
	s.Open(s.Options)
	stage.Want(s, "Add of what was added after Close", s.Add(s.Links("x/0")), frontier.Added{New: 1})
}

func closeFails(s *stage.Stage) {
	failing := failing(s)
	s.Add(s.Links("a/0"))
	s.Finish(stage.Fetched(s.Turn(1)))
	failing.Store(true)
	f := s.Frontier
	s.Frontier = nil
	if err := f.Close(); !errors.Is(err, errFull) {
		s.Fatalf("Close: %v, want the error of the barrier", err)
	}
	s.Check()
	s.Open(frontier.Options{})
	stage.Want(s, "Unclean", s.Stats().Unclean, true)
	stage.Want(s, "task", stage.Names(s.Turn(1).Tasks), "a/0")
}

func closeLeases(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "b/0"))
	for _, t := range s.Claim(2, 5).Turns {
		r := stage.Result(t)
		r.Keep = true
		s.Finish(r)
	}
	s.Reopen()
	st := s.Stats()
	stage.Want(s, "Leases, InFlight, Queued", [3]int64{st.Leases, st.InFlight, st.Queued}, [3]int64{0, 0, 3})
	c := s.Claim(2, 5)
	stage.Want(s, "turns", len(c.Turns), 2)
	for _, t := range c.Turns {
		if t.Authority == s.Authority("a") {
			stage.Want(s, "tasks", stage.Names(t.Tasks), "a/0 a/1")
		}
	}
}

func crashEnds(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	s.Turn(1)
	answer := s.Waiting(frontier.Want{MaxWait: time.Hour})
	s.Kill()
	if c, err := answer(); err == nil {
		s.Fatalf("Claim that waits: %+v, want an error", c)
	}
	s.Open(s.Options)
	stage.Want(s, "Leases", s.Stats().Leases, 0)
	stage.Want(s, "task", stage.Names(s.Turn(1).Tasks), "a/0")
}

func crashInBarrier(s *stage.Stage) {
	var slow atomic.Bool
	s.Close()
	o := s.Options
	o.Barrier = func(ctx context.Context) error {
		if slow.Load() {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
		return nil
	}
	s.Open(o)
	s.Add(s.Links("a/0"))
	s.Finish(stage.Fetched(s.Turn(1)))
	slow.Store(true)
	ctx, f := s.Context(), s.Frontier
	synced := make(chan error, 1)
	go func() { synced <- f.Sync(ctx) }()
	s.Sleep(100 * time.Millisecond)
	s.Kill()
	if err := <-synced; err == nil {
		s.Fatal("Sync: nil, though the barrier had not returned at the crash")
	}
	slow.Store(false)
	s.Open(o)
	stage.Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], 0)
	stage.Want(s, "tasks", stage.Names(s.Turn(1).Tasks), "a/0")
}
