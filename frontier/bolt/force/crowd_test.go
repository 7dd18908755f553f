package force_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/bolt"
)

// ledger has the facts that calls have acknowledged: known URLs, and the deferrals of each.
type ledger struct {
	attempts map[string]int
	closed   map[string]bool
}

// crowd is several workers on one frontier, and images of its file at each commit, with the acknowledged calls.
type crowd struct {
	*bolt.Frontier
	mu     sync.Mutex
	so     ledger
	file   string
	images []struct {
		file []byte
		so   ledger
	}
}

func (c *crowd) shoot(t *testing.T) {
	c.mu.Lock()
	so := ledger{maps.Clone(c.so.attempts), maps.Clone(c.so.closed)}
	c.mu.Unlock()
	c.images = append(c.images, struct {
		file []byte
		so   ledger
	}{[]byte(mustRead(t, c.file)), so})
}

func (c *crowd) work(ctx context.Context, rnd *rand.Rand) error {
	urls := func(n int) (us []string) {
		for range n {
			us = append(us, fmt.Sprintf("http://h%d.test/%d", rnd.IntN(6), rnd.IntN(2000)))
		}
		return us
	}
	after := ledger{map[string]int{}, map[string]bool{}} // the next Sync
	for range 60 {
		some := urls(8)
		if _, err := c.Add(ctx, candidates(some)); err != nil {
			return err
		}
		c.mu.Lock()
		for _, u := range some {
			c.so.attempts[u] += 0
		}
		c.mu.Unlock()
		got, err := c.Claim(ctx, frontier.Want{Hosts: 2, Tasks: 6, MaxWait: time.Second})
		if err != nil {
			return err
		}
		for _, turn := range got.Turns {
			r := frontier.Result{Authority: turn.Authority, Token: turn.Token, Wait: pace}
			for _, x := range turn.Tasks {
				u := x.URL.String()
				switch n := rnd.IntN(4); {
				case n == 0, n == 1 && x.Attempts > 0:
					r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: frontier.Fetched})
					after.closed[u] = true
				case n == 1: // to be opened again, which forgets no attempt
					r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: frontier.Failed})
				case n == 2:
					r.Deferred = append(r.Deferred, frontier.Deferral{Print: x.Print, After: time.Duration(rnd.IntN(200)) * time.Millisecond, Reason: "status 500"})
					after.attempts[u] = x.Attempts + 1
				}
			}
			found := urls(rnd.IntN(5))
			r.Found = candidates(found)
			for _, u := range found {
				after.attempts[u] += 0
			}
			fs, err := c.Finish(ctx, []frontier.Result{r})
			if err != nil {
				return err
			}
			if fs[0].Err != nil {
				return fs[0].Err
			}
		}
		a := parse(urls(1)[0]).Authority()
		switch rnd.IntN(6) {
		case 0:
			if _, err := c.Retry(ctx, frontier.Retrial{Outcome: frontier.Failed, Authority: a}); err != nil {
				return err
			}
			continue
		case 1:
			s := frontier.Steering{Act: frontier.Park, Authority: a, For: pace, Reason: "repairs"}
			if _, err := c.Steer(ctx, s); err != nil {
				return err
			}
			continue
		case 2, 3:
			continue
		}
		if err := c.Sync(ctx); err != nil {
			return err
		}
		c.mu.Lock()
		for u, n := range after.attempts {
			c.so.attempts[u] = max(c.so.attempts[u], n)
		}
		maps.Copy(c.so.closed, after.closed)
		c.mu.Unlock()
		after = ledger{map[string]int{}, map[string]bool{}}
	}
	return nil
}

// All calls acknowledged before a commit are in the file as the commit finds it: a kill at any instant leaves no less.
func TestCrowd_CommitsHoldAcknowledgedCalls(t *testing.T) {
	c := &crowd{so: ledger{map[string]int{}, map[string]bool{}}, file: filepath.Join(t.TempDir(), "frontier.db")}
	seed := rand.Uint64()
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.Barrier = func(context.Context) error { c.shoot(t); return nil }
		f, err := bolt.Open(c.file, o)
		require.NoError(t, err)
		c.Frontier = f
		var all sync.WaitGroup
		for i := range uint64(3) {
			all.Go(func() {
				assert.NoError(t, c.work(t.Context(), rand.New(rand.NewPCG(seed, i))))
			})
		}
		all.Wait()
		mustClose(t, f)
		c.shoot(t)
	})
	closed := 0
	for i := len(c.images) - 1; i >= 0; i -= 1 + rand.IntN(sizes(20, 1)) {
		so := c.images[i].so
		urls := slices.Sorted(maps.Keys(so.attempts))
		s := lookAt(t, c.images[i].file, urls)
		for _, u := range urls {
			attempts, pending := s.pending[u]
			switch {
			case !s.seen[u]:
				t.Errorf("seed %d, image %d: %s is lost", seed, i, u)
			case pending && so.closed[u]:
				t.Errorf("seed %d, image %d: %s was closed, and is given again", seed, i, u)
			case pending && attempts < so.attempts[u]:
				t.Errorf("seed %d, image %d: %s has %d attempts, of %d", seed, i, u, attempts, so.attempts[u])
			}
		}
		closed += len(so.closed)
	}
	t.Logf("crowd: %d commits, %d URLs, %d closed", len(c.images), len(c.so.attempts), len(c.so.closed))
	assert.Truef(t, closed != 0 && len(c.images) >= 100, "%d images with %d closed URLs prove nothing", len(c.images), closed)
}
