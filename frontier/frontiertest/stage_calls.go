package frontiertest

import (
	"context"
	"crypto/sha256"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/model"
)

// Add adds candidates.
func (s *Stage) Add(cs ...[]frontier.Candidate) frontier.Added {
	added, err := s.Frontier.Add(s.Context(), slices.Concat(cs...))
	require.NoError(s, err, "Add")
	s.CheckSums()
	return added
}

// Claim claims what is due now.
func (s *Stage) Claim(hosts, tasks int) frontier.Claimed {
	return s.ClaimWithin(hosts, tasks, 0)
}

// ClaimWithin claims what is due within wait.
func (s *Stage) ClaimWithin(hosts, tasks int, wait time.Duration) frontier.Claimed {
	c, err := s.Frontier.Claim(s.Context(), frontier.Want{Hosts: hosts, Tasks: tasks, MaxWait: wait})
	require.NoError(s, err, "Claim")
	s.CheckSums()
	return c
}

// Turn claims the one host that is due first, and fails when none is.
func (s *Stage) Turn(tasks int) frontier.Turn {
	c := s.Claim(1, tasks)
	require.Lenf(s, c.Turns, 1, "Claim of one host: state %d, due %v", c.State, c.Due)
	return c.Turns[0]
}

// Blocked claims, and fails unless the call blocks for d.
func (s *Stage) Blocked(d time.Duration) {
	ctx, cancel := context.WithTimeout(s.Context(), d)
	defer cancel()
	c, err := s.Frontier.Claim(ctx, frontier.Want{Hosts: 10, Tasks: 10, MaxWait: frontier.Never})
	require.ErrorIsf(s, err, context.DeadlineExceeded, "Claim for %v does not block: %d turns, state %d, due %v", d, len(c.Turns), c.State, c.Due)
}

// Waiting starts a Claim that has to wait. The function it returns gives the answer, and fails when there is none yet
// although every goroutine waits.
func (s *Stage) Waiting(w frontier.Want) func() (frontier.Claimed, error) {
	s.Helper()
	var c frontier.Claimed
	var err error
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(s.Context())
	s.Cleanup(cancel)
	go func() {
		defer close(done)
		c, err = s.Frontier.Claim(ctx, w)
	}()
	synctest.Wait()
	select {
	case <-done:
		s.Fatalf("Claim does not wait: %d turns, state %d, due %v, error %v", len(c.Turns), c.State, c.Due, err)
	default:
	}
	return func() (frontier.Claimed, error) {
		s.Helper()
		synctest.Wait()
		select {
		case <-done:
		default:
			s.Fatal("Claim still waits")
		}
		return c, err
	}
}

// Finish finishes one turn and fails unless the result is applied.
func (s *Stage) Finish(r frontier.Result) frontier.Finished {
	f := s.tryFinish(r)
	require.NoErrorf(s, f.Err, "Finish %s", r.Authority)
	return f
}

func (s *Stage) tryFinish(r frontier.Result) frontier.Finished {
	return s.finishAll([]frontier.Result{r})[0]
}

func (s *Stage) finishAll(rs []frontier.Result) []frontier.Finished {
	fs, err := s.Frontier.Finish(s.Context(), rs)
	require.NoError(s, err, "Finish")
	require.Len(s, fs, len(rs))
	s.CheckSums()
	return fs
}

// Sync waits until all is durable.
func (s *Stage) Sync() {
	require.NoError(s, s.Frontier.Sync(s.Context()), "Sync")
}

// Sleep lets virtual time pass.
func (s *Stage) Sleep(d time.Duration) { time.Sleep(d) }

// Stats returns the totals.
func (s *Stage) Stats() frontier.Stats {
	st, err := s.Frontier.Stats(s.Context())
	require.NoError(s, err, "Stats")
	return st
}

// Host returns what is kept of a host, which must be known.
func (s *Stage) Host(name string) frontier.Host {
	h, ok, err := s.Frontier.Host(s.Context(), s.Authority(name))
	require.NoErrorf(s, err, "Host %s", name)
	require.Truef(s, ok, "Host %s is known", name)
	return h
}

// Seen asks about one URL.
func (s *Stage) Seen(u string) bool {
	seen, err := s.Frontier.Seen(s.Context(), []canon.URL{s.URL(u)})
	require.NoError(s, err, "Seen")
	require.Len(s, seen, 1)
	return seen[0]
}

// Hosts returns all hosts, read in pages of the given size.
func (s *Stage) Hosts(limit int) []frontier.Host {
	var all []frontier.Host
	var after canon.Authority
	for {
		page, err := s.Frontier.Hosts(s.Context(), after, limit)
		require.NoErrorf(s, err, "Hosts after %q", after)
		require.LessOrEqual(s, len(page), limit)
		if len(page) == 0 {
			return all
		}
		all, after = append(all, page...), page[len(page)-1].Authority
	}
}

// Drain fetches what is due, a task at a time, and returns the short URLs in the order in which they came. It waits
// for what is due within d.
func (s *Stage) Drain(d time.Duration) []string {
	var us []string
	for {
		c := s.ClaimWithin(1, 1, d)
		if len(c.Turns) == 0 {
			return us
		}
		us = append(us, Names(c.Turns[0].Tasks))
		s.Finish(Fetched(c.Turns[0]))
	}
}

// blob returns the blob of a body, which must be there.
func (s *Stage) blob(body string) []byte {
	b, err := s.Frontier.Blob(s.Context(), digest(body))
	require.NoError(s, err, "Blob")
	require.Equal(s, body, string(b))
	return b
}

// Picture takes a picture of the frontier of s.
func (s *Stage) Picture() model.Picture {
	seeds, err := frontier.SeedsOf(s.Context(), s.Frontier)
	require.NoError(s, err, "AllSeeds")
	return model.Take(s.Stats(), s.Hosts(100), seeds)
}

// digest returns the name of a blob.
func digest(body string) [sha256.Size]byte { return sha256.Sum256([]byte(body)) }

// fails runs a test that is expected to fail, and reports whether it does.
func fails(t testing.TB, test func(t testing.TB)) bool {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := &apart{TB: t, ctx: ctx}
	for _, f := range []func(){func() { test(a) }, a.cleanup} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
		cancel()
	}
	return a.failed.Load()
}

// apart is a test whose failure is no failure of another.
type apart struct {
	testing.TB
	ctx      context.Context
	failed   atomic.Bool
	cleanups []func()
}

func (a *apart) Context() context.Context { return a.ctx }
func (a *apart) Cleanup(f func())         { a.cleanups = append(a.cleanups, f) }
func (a *apart) Fail()                    { a.failed.Store(true) }
func (a *apart) Failed() bool             { return a.failed.Load() }
func (a *apart) FailNow()                 { a.Fail(); runtime.Goexit() }
func (a *apart) Error(...any)             { a.Fail() }
func (a *apart) Errorf(string, ...any)    { a.Fail() }
func (a *apart) Fatal(...any)             { a.FailNow() }
func (a *apart) Fatalf(string, ...any)    { a.FailNow() }

func (a *apart) cleanup() {
	for _, f := range slices.Backward(a.cleanups) {
		f()
	}
}
