package bolt

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
)

// smallLoad is a load on a small frontier, in virtual time: no group is cut short by a slow machine.
func smallLoad(t *testing.T, seen, hosts int) *load {
	f := opened(t, filepath.Join(t.TempDir(), "frontier.db"))
	t.Cleanup(func() {
		assert.NoError(t, f.Close())
	})
	l := &load{TB: t, f: f, web: &web{hosts: hosts}, seen: seen, turns: 20, tasks: 1}
	l.fill()
	l.closeHalf()
	return l
}

// Turns that are out all the time are in a record that is written with them.
func TestCounts_OctetsWrittenPerPage(t *testing.T) {
	for _, c := range []struct {
		name  string
		group int
		most  float64
	}{{"groups of 1,000", 0, 500}, {"groups of 100", 100, 1500}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := smallLoad(t, 10_000, 300)
				l.group = c.group
				if got, err := l.f.Claim(t.Context(), frontier.Want{Hosts: 100, Tasks: 8}); err != nil || len(got.Turns) != 100 {
					t.Fatalf("Claim: %d turns, error %v", len(got.Turns), err)
				}
				if got := l.run(chunk).written(); got > c.most {
					t.Errorf("%.0f octets, want %.0f at most", got, c.most)
				}
			})
		})
	}
}

func TestCounts_OctetsOfDiskPerURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := smallLoad(t, 40_000, 400)
		if got := diskSize(t, l.f) / float64(l.seen); got > 65 { // 50 when the file is large
			t.Errorf("%.1f octets, want 65 at most", got)
		}
	})
}

func bigHost(t *testing.T, urls int) *Frontier {
	f := opened(t, filepath.Join(t.TempDir(), "frontier.db"))
	t.Cleanup(func() {
		assert.NoError(t, f.Close())
	})
	e := &engine{TB: t, Frontier: f}
	for n := 0; n < urls; n += 1 << 14 {
		e.add(e.links("big", n, min(1<<14, urls-n)))
	}
	return f
}

func TestBigHost_TakesTwoOctetsPerPendingURL(t *testing.T) {
	const urls = 100_000
	f := bigHost(t, urls)
	n := f.hosts.all[0].queue.Runs() * 8
	assert.Truef(t, n <= urls*2, "%d octets of queue for %d URLs", n, urls)
}

func TestBigHost_TurnCostsLikeSmallHost(t *testing.T) {
	turn := func(urls int) float64 {
		f := bigHost(t, urls)
		e := &engine{TB: t, Frontier: f}
		e.finish(fetched(e.turn(1)))
		return testing.AllocsPerRun(200, func() { e.finish(fetched(e.turn(1))) })
	}
	small, big := turn(1_000), turn(50_000)
	assert.LessOrEqualf(t, big, small+8, "%.0f allocations a turn with 50,000 URLs, %.0f with 1,000", big, small)
}

// All deferred tasks of a host come due at once: the turn gives them in order, and their retries are gone afterwards.
func TestBigHost_ManyDeferredTasksComeDueAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tasks := 100_000
		if testing.Short() {
			tasks = 20_000
		}
		f := bigHost(t, tasks)
		e := &engine{TB: t, Frontier: f}
		first := e.turn(tasks)
		r := frontier.Result{Authority: first.Authority, Token: first.Token}
		for _, x := range first.Tasks {
			r.Deferred = append(r.Deferred, frontier.Deferral{Print: x.Print, After: time.Hour, Reason: "timeout"})
		}
		e.finish(r)
		time.Sleep(time.Hour)
		for i := 0; i < tasks; {
			turn := e.turn(1000)
			for _, x := range turn.Tasks {
				require.Truef(t, x.Print == first.Tasks[i].Print && x.Attempts == 1, "task %d is %s, attempts %d, want %s", i, x.URL, x.Attempts, first.Tasks[i].URL)
				i++
			}
			e.finish(fetched(turn))
		}
		e.sync()
		assert.Truef(t, f.hosts.all[0].queue.Plain() && len(f.retries.of) == 0, "plain %v, %d retries are left", f.hosts.all[0].queue.Plain(), len(f.retries.of))
		if c, err := f.Claim(context.Background(), frontier.Want{}); err != nil || c.State != frontier.Drained {
			t.Errorf("state %d, error %v, want Drained", c.State, err)
		}
	})
}
