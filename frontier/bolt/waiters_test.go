package bolt

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// claimers starts n waiting claims, and returns the channel of their answers.
func (e *engine) claimers(ctx context.Context, n int, maxWait time.Duration) chan error {
	answers := make(chan error, n)
	for range n {
		go func() {
			c, err := e.Claim(ctx, frontier.Want{MaxWait: maxWait})
			if err == nil && len(c.Turns) == 0 {
				err = errEnded
			}
			answers <- err
		}()
	}
	synctest.Wait()
	return answers
}

func (e *engine) waiting() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.Frontier.waiting.list)
}

func (e *engine) token(a canon.Authority) frontier.Token {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.Frontier.hosts.byName[a].lease.token
}

var errEnded = errors.New("the claim ended without a turn")

// One timer serves all waiting claims, and a host that becomes due wakes one of them.
func TestClaim_OneTimerForAllWaiters(t *testing.T) {
	bubble(t, frontier.Options{}, func(t *testing.T, e *engine) {
		e.add(append(e.links("a", 0, 100), e.links("b", 0, 100)...))
		held := e.turn(1) // keeps the frontier busy
		other := e.turn(1)
		const n = 64
		answers := e.claimers(t.Context(), n, time.Hour)
		for round := range 20 {
			r := fetched(other)
			r.Wait = time.Second
			e.finish(r)
			synctest.Wait()
			waiting := e.waiting()
			require.Truef(t, waiting == n-round && len(answers) == 0, "round %d: %d wait, %d answers", round, waiting, len(answers))
			time.Sleep(time.Second)
			synctest.Wait()
			err := <-answers
			require.Truef(t, err == nil && len(answers) == 0, "round %d: error %v, %d more answers", round, err, len(answers))
			other.Token, other.Tasks = e.token(other.Authority), nil
		}
		r := fetched(held)
		r.Host = &frontier.HostUpdate{Condition: frontier.Retired}
		e.finish(r)
		r = fetched(other)
		r.Wait = 2 * time.Hour
		e.finish(r)
		synctest.Wait()
		if waiting := e.waiting(); len(answers) != n-20 || waiting != 0 {
			t.Fatalf("%d answers, %d still wait, when nothing is due for two hours", len(answers), waiting)
		}
		for range n - 20 {
			err := <-answers
			require.True(t, err == errEnded, err)
		}
	})
}

// A claim that leaves the head of the line passes the alarm on.
func TestClaim_HeadMayLeave(t *testing.T) {
	bubble(t, frontier.Options{}, func(t *testing.T, e *engine) {
		e.add(e.links("a", 0, 2))
		r := fetched(e.turn(1))
		r.Wait = time.Minute
		e.finish(r)
		ctx, cancel := context.WithCancel(t.Context())
		first := e.claimers(ctx, 1, time.Hour)
		second := e.claimers(t.Context(), 1, time.Hour)
		cancel()
		require.ErrorIs(t, <-first, context.Canceled)
		begin := time.Now()
		err := <-second
		require.Truef(t, err == nil && time.Since(begin) == time.Minute, "after %v: %v", time.Since(begin), err)
	})
}

// Claims with less patience neither delay nor end those with more.
func TestClaim_EachItsOwnPatience(t *testing.T) {
	bubble(t, frontier.Options{}, func(t *testing.T, e *engine) {
		e.add(e.links("a", 0, 2))
		turn := e.turn(1)
		patient := e.claimers(t.Context(), 1, time.Hour)
		hasty := e.claimers(t.Context(), 3, time.Second)
		r := fetched(turn)
		r.Wait = time.Minute
		e.finish(r)
		synctest.Wait()
		require.Truef(t, len(hasty) == 3 && len(patient) == 0, "%d of 3 have ended, %d of the patient", len(hasty), len(patient))
		require.NoError(t, <-patient)
	})
}

// A token never comes twice: claims end before.
func TestToken_DoesNotOverflow(t *testing.T) {
	bubble(t, frontier.Options{}, func(t *testing.T, e *engine) {
		e.add(e.links("a", 0, 2))
		e.leases.claims = ^uint32(0) - 1<<20
		turn := e.turn(1)
		_, err := e.Claim(t.Context(), frontier.Want{})
		require.Error(t, err, "a claim beyond the last token")
		_, err = e.ClaimAuthority(t.Context(), mustURL(t, "http://b.test/").Authority())
		require.Error(t, err, "a claim beyond the last token")
		e.finish(fetched(turn))
	})
}
