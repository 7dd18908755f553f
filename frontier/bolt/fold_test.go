package bolt

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// A crawl that closes enough URLs folds automatically, and nothing is different after it.
func TestFold_InACrawl(t *testing.T) {
	if testing.Short() {
		t.Skip("closes 70,000 URLs")
	}
	bubble(t, frontier.Options{}, func(t *testing.T, e *engine) {
		const n = 70_000
		e.add(e.links("a", 0, n))
		turn := e.turn(1000)
		tasks := turn.Tasks
		for closed := 0; closed < n-500; {
			r := frontier.Result{Authority: turn.Authority, Token: turn.Token, Keep: true, Want: 1000}
			for i, x := range tasks {
				if i == 7 && closed%2000 == 0 {
					continue // stays pending
				}
				r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: frontier.Gone, Reason: "status 404"})
			}
			tasks = e.finish(r)[0].Tasks
			closed += len(r.Done)
		}
		e.sync()
		before := e.stats()
		w := e.writer
		require.Truef(t, w.folded >= 1<<16 && w.unfolded < 1<<16, "%d folded, %d not: there was no fold", w.folded, w.unfolded)
		e.shut()
		e.start()
		after := e.stats()
		if after.Outcomes != before.Outcomes || after.Discovered != n || after.Queued != n-before.Outcomes[frontier.Gone] {
			t.Fatalf("%+v, before the reopen %+v", after, before)
		}
	})
}

// The cell journal stays in proportion to its current records, and every state survives the moves.
func TestSweep_KeepsJournalSmall(t *testing.T) {
	bubble(t, frontier.Options{}, func(t *testing.T, e *engine) {
		const hosts = 40
		var all []frontier.Candidate
		for i := range hosts {
			all = append(all, e.links(fmt.Sprintf("h%02d", i), 0, 1)...)
		}
		e.add(all)
		rnd := rand.New(rand.NewPCG(6, 6))
		robots, memory := map[string]string{}, map[string]string{}
		text := func(n int) []byte { return bytes.Repeat([]byte{byte('a' + rnd.IntN(26))}, n) }
		written := 0
		for round := range 600 {
			c, err := e.Claim(t.Context(), frontier.Want{Hosts: 1 + rnd.IntN(6), MaxWait: time.Hour})
			require.NoError(t, err)
			for _, turn := range c.Turns {
				a := turn.Authority.String()
				if string(turn.Host.Robots) != robots[a] || string(turn.Host.Memory) != memory[a] {
					t.Fatalf("round %d: %s: robots %.9q, memory %.9q; want %.9q, %.9q",
						round, a, turn.Host.Robots, turn.Host.Memory, robots[a], memory[a])
				}
				u := frontier.HostUpdate{Robots: turn.Host.Robots, Memory: text(rnd.IntN(frontier.MaxMemory))}
				if robots[a] == "" || rnd.IntN(9) == 0 {
					u.Robots = text(1 + rnd.IntN(frontier.MaxRobots))
				}
				robots[a], memory[a] = string(u.Robots), string(u.Memory)
				written += len(u.Memory)
				e.finish(frontier.Result{Authority: turn.Authority, Token: turn.Token, Host: &u, Wait: time.Millisecond})
			}
			switch rnd.IntN(12) {
			case 0:
				e.sync()
			case 1:
				time.Sleep(time.Second)
			case 2:
				e.shut()
				e.start()
				time.Sleep(time.Second)
			}
		}
		e.sync()
		live := 0
		for a := range robots {
			live += len(robots[a]) + len(memory[a]) + 60
		}
		if s := e.writer.sweeper; int(s.Bytes) > 3*live+2<<20 || written < 2*int(s.Bytes) {
			t.Fatalf("%d octets in the journal, %d count, %d were written", s.Bytes, live, written)
		}
		held := int64(0)
		err := e.db.View(func(tx *bbolt.Tx) error {
			return layout.StateJournal.Each(tx, func(_ uint64, body []byte) error { held += int64(len(body)); return nil })
		})
		require.NoError(t, err)
		require.Equalf(t, e.writer.sweeper.Bytes, held, "%d octets in the journal, and the sweeper counts %d; error %v", held, e.writer.sweeper.Bytes, err)
		e.crash()
		for a := range robots {
			h := e.Frontier.hosts.byName[mustURL(t, a).Authority()]
			v, ok, err := e.Host(context.Background(), h.authority)
			require.Truef(t, err == nil && ok && string(v.Robots) == robots[a] && string(v.Memory) == memory[a], "%s after a crash: %v, error %v", a, ok, err)
		}
	})
}

func TestSweep_UnderReaders(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	const hosts = 20
	for i := range hosts {
		e.add(e.links(fmt.Sprintf("h%02d", i), 0, 1))
	}
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			hs, err := e.Hosts(context.Background(), frontier.Host{}.Authority, hosts)
			for _, h := range hs {
				if m := h.Memory; len(m) > 0 && (len(m) != 3000 || bytes.Count(m, m[:1]) != 3000) {
					err = fmt.Errorf("%s: a memory of %d octets that was never written", h.Authority, len(m))
				}
			}
			if err != nil || len(hs) != hosts {
				ended <- fmt.Errorf("%d hosts: %w", len(hs), err)
				return
			}
		}
	}()
	for round := range 150 {
		c, err := e.Claim(context.Background(), frontier.Want{Hosts: hosts})
		require.NoError(t, err)
		var rs []frontier.Result
		for _, turn := range c.Turns {
			rs = append(rs, frontier.Result{
				Authority: turn.Authority, Token: turn.Token,
				Host: &frontier.HostUpdate{Memory: bytes.Repeat([]byte{byte(round)}, 3000)},
			})
		}
		e.finish(rs...)
		e.sync()
	}
	close(stop)
	require.NoError(t, <-ended)
	require.True(t, e.writer.sweeper.Base != 0, "no cycle of the sweeper has ended: the test does not test it")
}
