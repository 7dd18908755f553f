package frontiertest

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"testing/synctest"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/model"
)

// add adds candidates.
func (s *stage) add(cs ...[]frontier.Candidate) frontier.Added {
	s.Helper()
	added, err := s.f.Add(s.Context(), slices.Concat(cs...))
	if err != nil {
		s.Fatalf("Add: %v", err)
	}
	s.sums()
	return added
}

// claim claims what is due now.
func (s *stage) claim(hosts, tasks int) frontier.Claimed {
	s.Helper()
	return s.claimWithin(hosts, tasks, 0)
}

func (s *stage) claimWithin(hosts, tasks int, wait time.Duration) frontier.Claimed {
	s.Helper()
	c, err := s.f.Claim(s.Context(), frontier.Want{Hosts: hosts, Tasks: tasks, MaxWait: wait})
	if err != nil {
		s.Fatalf("Claim: %v", err)
	}
	s.sums()
	return c
}

// turn claims the one host that is due first, and fails when none is.
func (s *stage) turn(tasks int) frontier.Turn {
	s.Helper()
	c := s.claim(1, tasks)
	if len(c.Turns) != 1 {
		s.Fatalf("Claim of one host: %d turns, state %d, due %v", len(c.Turns), c.State, c.Due)
	}
	return c.Turns[0]
}

// blocked claims, and fails unless the call blocks for d.
func (s *stage) blocked(d time.Duration) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), d)
	defer cancel()
	c, err := s.f.Claim(ctx, frontier.Want{Hosts: 10, Tasks: 10, MaxWait: frontier.Never})
	if !errors.Is(err, context.DeadlineExceeded) {
		s.Fatalf("Claim for %v: %d turns, state %d, due %v, error %v; want it to block", d, len(c.Turns), c.State, c.Due, err)
	}
}

// waiting starts a Claim that has to wait. The function it returns gives the answer, and fails when there is none yet
// although every goroutine waits.
func (s *stage) waiting(w frontier.Want) func() (frontier.Claimed, error) {
	s.Helper()
	var c frontier.Claimed
	var err error
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(s.Context())
	s.Cleanup(cancel)
	go func() {
		defer close(done)
		c, err = s.f.Claim(ctx, w)
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

// finish finishes one turn and fails unless the result is applied.
func (s *stage) finish(r frontier.Result) frontier.Finished {
	s.Helper()
	f := s.tryFinish(r)
	if f.Err != nil {
		s.Fatalf("Finish %s: %v", r.Authority, f.Err)
	}
	return f
}

func (s *stage) tryFinish(r frontier.Result) frontier.Finished {
	s.Helper()
	fs, err := s.f.Finish(s.Context(), []frontier.Result{r})
	if err != nil || len(fs) != 1 {
		s.Fatalf("Finish %s: %d answers, error %v", r.Authority, len(fs), err)
	}
	s.sums()
	return fs[0]
}

// stale finishes one turn and fails unless the lease is stale.
func (s *stage) stale(r frontier.Result) {
	s.Helper()
	if f := s.tryFinish(r); !errors.Is(f.Err, frontier.ErrStale) {
		s.Fatalf("Finish %s with a stale token: %v, want ErrStale", r.Authority, f.Err)
	}
}

func (s *stage) sync() {
	s.Helper()
	if err := s.f.Sync(s.Context()); err != nil {
		s.Fatalf("Sync: %v", err)
	}
}

// sleep lets virtual time pass.
func (s *stage) sleep(d time.Duration) { time.Sleep(d) }

func (s *stage) stats() frontier.Stats {
	s.Helper()
	st, err := s.f.Stats(s.Context())
	if err != nil {
		s.Fatalf("Stats: %v", err)
	}
	return st
}

// host returns what is kept of a host, which must be known.
func (s *stage) host(name string) frontier.Host {
	s.Helper()
	h, ok, err := s.f.Host(s.Context(), s.auth(name))
	if err != nil || !ok {
		s.Fatalf("Host %s: known %v, error %v", name, ok, err)
	}
	return h
}

// seen asks about one URL.
func (s *stage) seen(u string) bool {
	s.Helper()
	seen, err := s.f.Seen(s.Context(), []canon.URL{s.url(u)})
	if err != nil || len(seen) != 1 {
		s.Fatalf("Seen: %v, error %v", seen, err)
	}
	return seen[0]
}

// hosts returns all hosts, read in pages of the given size.
func (s *stage) hosts(limit int) []frontier.Host {
	s.Helper()
	var all []frontier.Host
	var after canon.Authority
	for {
		page, err := s.f.Hosts(s.Context(), after, limit)
		if err != nil || len(page) > limit {
			s.Fatalf("Hosts after %q: %d of %d, error %v", after, len(page), limit, err)
		}
		if len(page) == 0 {
			return all
		}
		all, after = append(all, page...), page[len(page)-1].Authority
	}
}

// drain fetches what is due, a task at a time, and returns the short URLs in the order in which they came. It waits
// for what is due within d.
func (s *stage) drain(d time.Duration) []string {
	s.Helper()
	var us []string
	for {
		c := s.claimWithin(1, 1, d)
		if len(c.Turns) == 0 {
			return us
		}
		us = append(us, names(c.Turns[0].Tasks))
		s.finish(fetched(c.Turns[0]))
	}
}

// picture takes a picture of the frontier of s.
func (s *stage) picture() model.Picture {
	s.Helper()
	seeds, err := frontier.SeedsOf(s.Context(), s.f)
	if err != nil {
		s.Fatalf("AllSeeds: %v", err)
	}
	return model.Take(s.stats(), s.hosts(100), seeds)
}

// digest returns the name of a blob.
func digest(body string) [sha256.Size]byte { return sha256.Sum256([]byte(body)) }
