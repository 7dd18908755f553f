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
)

// commitRules are about the barrier, poison and the end of an engine.
func commitRules() []rule {
	return []rule{
		{name: "barrier: before each commit, for the results applied before it", crash: true, test: barrierBefore},
		{name: "barrier: its error poisons, and what it did not vouch for is not durable", test: barrierFails},
		{name: "barrier: a Sync that is cancelled meanwhile ends at once, and is no poison", test: barrierCancelled},
		{name: "close: every later call is ErrClosed, and a claim that waits ends", test: closeEnds},
		{name: "close: a commit that fails is its error, and the stop is unclean", test: closeFails},
		{name: "close: leases still out are forgotten, their tasks pending", test: closeLeases},
		{name: "crash: a claim that waits ends", crash: true, test: crashEnds},
		{name: "crash: during the barrier nothing is committed", crash: true, test: crashInBarrier},
	}
}

// barrierBefore keeps an archive of its own, in which written records count for nothing until the barrier has synced
// them: after the crash there must be no Done without its record.
func barrierBefore(s *stage) {
	var written, synced, calls atomic.Int64
	s.close()
	o := s.o
	o.Barrier = func(context.Context) error {
		n := written.Load()
		time.Sleep(30 * time.Millisecond) // records written from here on are not synced
		synced.Store(n)
		calls.Add(1)
		return nil
	}
	s.open(o)
	s.add(s.links(pages("a", 200)...))
	calls.Store(0)
	for range 100 {
		t := s.turn(1)
		written.Add(1)
		begin := time.Now()
		s.finish(fetched(t))
		want(s, "time that Finish waits", time.Since(begin), 0)
		s.sleep(7 * time.Millisecond)
	}
	s.kill()
	n := synced.Load()
	s.open(frontier.Options{})
	done := s.stats().Outcomes[frontier.Fetched]
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
func (s *stage) failing() *atomic.Bool {
	s.Helper()
	var failing atomic.Bool
	s.close()
	o := s.o
	o.Barrier = func(context.Context) error {
		if failing.Load() {
			return errFull
		}
		return nil
	}
	s.open(o)
	return &failing
}

func barrierFails(s *stage) {
	failing := s.failing()
	s.add(s.links("a/0", "a/1"))
	t := s.turn(1)
	answer := s.waiting(frontier.Want{MaxWait: time.Hour}) // the host is leased
	failing.Store(true)
	r := fetched(t)
	r.Found, r.Keep = s.links("a/9"), true
	s.finish(r)
	if err := s.f.Sync(s.Context()); !errors.Is(err, errFull) {
		s.Fatalf("Sync: %v, want the error of the barrier", err)
	}
	failing.Store(false) // too late: what followed may rely on what was lost
	if _, err := answer(); !errors.Is(err, errFull) {
		s.Fatalf("Claim that waits: %v, want the error of the barrier", err)
	}
	for name, err := range s.calls(t) {
		if !errors.Is(err, errFull) {
			s.Errorf("%s: %v, want the error of the barrier", name, err)
		}
	}
	f := s.f
	s.f = nil
	if err := f.Close(); !errors.Is(err, errFull) {
		s.Errorf("Close: %v, want the error of the barrier", err)
	}
	s.check()
	s.open(frontier.Options{})
	want(s, "Unclean", s.stats().Unclean, true)
	want(s, "Fetched", s.stats().Outcomes[frontier.Fetched], 0)
	want(s, "the link", s.add(s.links("a/9")), frontier.Added{New: 1})
	us := s.drain(0)
	slices.Sort(us) // an engine may put off what was in flight
	want(s, "tasks", strings.Join(us, " "), "a/0 a/1 a/9")
}

func barrierCancelled(s *stage) {
	s.close()
	o := s.o
	o.Barrier = func(context.Context) error { time.Sleep(time.Second); return nil }
	s.open(o)
	s.add(s.links("a/0"))
	s.finish(fetched(s.turn(1)))
	ctx, cancel := context.WithTimeout(s.Context(), 10*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if err := s.f.Sync(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 10*time.Millisecond {
		s.Fatalf("Sync for 10 ms: %v after %v", err, time.Since(begin))
	}
	s.sync()
	want(s, "Fetched", s.stats().Outcomes[frontier.Fetched], 1)
}

// calls makes one call of every method but Close and returns the errors.
func (s *stage) calls(t frontier.Turn) map[string]error {
	ctx, f := s.Context(), s.f
	errs := map[string]error{}
	_, errs["Add"] = f.Add(ctx, s.links("x/0"))
	_, errs["Claim"] = f.Claim(ctx, frontier.Want{})
	_, errs["ClaimAuthority"] = f.ClaimAuthority(ctx, s.auth("x"))
	_, errs["Finish"] = f.Finish(ctx, []frontier.Result{fetched(t)})
	errs["Sync"] = f.Sync(ctx)
	_, errs["Seen"] = f.Seen(ctx, []canon.URL{s.url("x/0")})
	errs["AllSeeds"] = nil
	for _, err := range f.AllSeeds(ctx) {
		errs["AllSeeds"] = err
	}
	_, _, errs["Entry"] = f.Entry(ctx, s.url("x/0"))
	_, errs["Quarantined"] = f.Quarantined(ctx)
	_, errs["Blob"] = f.Blob(ctx, digest("x"))
	_, _, errs["Host"] = f.Host(ctx, s.auth("x"))
	_, errs["Hosts"] = f.Hosts(ctx, canon.Authority{}, 1)
	_, errs["Stats"] = f.Stats(ctx)
	return errs
}

func closeEnds(s *stage) {
	s.add(s.links("a/0"))
	t := s.turn(1)
	answer := s.waiting(frontier.Want{MaxWait: time.Hour})
	f := s.f
	s.close()
	if c, err := answer(); !errors.Is(err, frontier.ErrClosed) || len(c.Turns) > 0 {
		s.Fatalf("Claim that waits: %+v, error %v; want ErrClosed", c, err)
	}
	s.f = f
	for name, err := range s.calls(t) {
		if !errors.Is(err, frontier.ErrClosed) {
			s.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
	s.f = nil
	s.open(s.o)
	want(s, "Add of what was added after Close", s.add(s.links("x/0")), frontier.Added{New: 1})
}

func closeFails(s *stage) {
	failing := s.failing()
	s.add(s.links("a/0"))
	s.finish(fetched(s.turn(1)))
	failing.Store(true)
	f := s.f
	s.f = nil
	if err := f.Close(); !errors.Is(err, errFull) {
		s.Fatalf("Close: %v, want the error of the barrier", err)
	}
	s.check()
	s.open(frontier.Options{})
	want(s, "Unclean", s.stats().Unclean, true)
	want(s, "task", names(s.turn(1).Tasks), "a/0")
}

func closeLeases(s *stage) {
	s.add(s.links("a/0", "a/1", "b/0"))
	for _, t := range s.claim(2, 5).Turns {
		r := result(t)
		r.Keep = true
		s.finish(r)
	}
	s.reopen()
	st := s.stats()
	want(s, "Leases, InFlight, Queued", [3]int64{st.Leases, st.InFlight, st.Queued}, [3]int64{0, 0, 3})
	c := s.claim(2, 5)
	want(s, "turns", len(c.Turns), 2)
	for _, t := range c.Turns {
		if t.Authority == s.auth("a") {
			want(s, "tasks", names(t.Tasks), "a/0 a/1")
		}
	}
}

func crashEnds(s *stage) {
	s.add(s.links("a/0"))
	s.turn(1)
	answer := s.waiting(frontier.Want{MaxWait: time.Hour})
	s.kill()
	if c, err := answer(); err == nil {
		s.Fatalf("Claim that waits: %+v, want an error", c)
	}
	s.open(s.o)
	want(s, "Leases", s.stats().Leases, 0)
	want(s, "task", names(s.turn(1).Tasks), "a/0")
}

func crashInBarrier(s *stage) {
	var slow atomic.Bool
	s.close()
	o := s.o
	o.Barrier = func(ctx context.Context) error {
		if slow.Load() {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
		return nil
	}
	s.open(o)
	s.add(s.links("a/0"))
	s.finish(fetched(s.turn(1)))
	slow.Store(true)
	ctx, f := s.Context(), s.f
	synced := make(chan error, 1)
	go func() { synced <- f.Sync(ctx) }()
	s.sleep(100 * time.Millisecond)
	s.kill()
	if err := <-synced; err == nil {
		s.Fatal("Sync: nil, though the barrier had not returned at the crash")
	}
	slow.Store(false)
	s.open(o)
	want(s, "Fetched", s.stats().Outcomes[frontier.Fetched], 0)
	want(s, "tasks", names(s.turn(1).Tasks), "a/0")
}
