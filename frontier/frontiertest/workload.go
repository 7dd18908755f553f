package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/model"
)

// Workload drives an engine for a number of random steps, the same for the same seed: Add, Claim, ClaimAuthority,
// Finish with outcomes, deferrals, links, host states and Keep, stale and repeated results, time, Sync, close and
// crash. After every step what can be seen of it must be what the model says. One seed in five crashes often, so that
// URLs are suspects for long.
//
// The engine leads and the model follows, because the contract leaves some choices to the engine: which of the hosts
// that are due comes first, where a task comes again whose deferral is over, and what of the results since the last
// commit a crash loses. The follower checks that each choice is a lawful one, and then makes it too.
func Workload(t *testing.T, seed uint64, steps int, h Harness) {
	t.Logf("workload of seed %d, %d steps", seed, steps) // shown when it fails
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		// Lease lengths end between milliseconds and all else on them, so that nothing falls on the same instant.
		o := frontier.Options{
			LeaseLength: 20*time.Second + 500*time.Microsecond, Pace: 700 * time.Millisecond,
			MaxURLs: 400, MaxURLsPerDomain: 170, MaxURLsPerAuthority: 90,
		}
		if seed%3 == 2 {
			o.Order = frontier.DepthFirst
		}
		if seed%2 == 1 {
			o.PaceOf = paceOf
		}
		w := &workload{Stage: NewStage(t, h, dir, o), rand: rand.New(rand.NewPCG(seed, 0)), crashes: 1}
		if seed%5 == 4 {
			w.crashes = 10
		}
		w.follow = model.NewFollower(w.Stage, o)
		w.start()
		for n := range steps {
			name := w.step()
			w.compare(fmt.Sprintf("step %d (%s)", n, name))
		}
		w.finale()
		w.coda()
	})
}

// workload is a run of random steps.
type workload struct {
	*Stage
	rand   *rand.Rand
	follow *model.Follower
	turns  []frontier.Turn   // held; some of them have expired
	past   []frontier.Result // finished or expired; for repeats
	urls   int               // made so far

	crashes int // their weight among the steps
}

// paceOf is a PaceOf for the hosts of the world: none, half of Pace, or all of it.
func paceOf(a canon.Authority) time.Duration {
	return time.Duration(a.Host()[1]%3) * 350 * time.Millisecond
}

// worldHosts is the number of authorities, of two to a domain; all are known from the start.
const worldHosts = 6

func worldHost(n int) string { return fmt.Sprintf("h%d.d%d", n%worldHosts, n%worldHosts/2) }

func (w *workload) start() {
	var cs []frontier.Candidate
	for i := range worldHosts {
		cs = append(cs, w.Seeds(worldHost(i)+"/seed")...)
	}
	w.offer(cs)
}

// step takes one random step and names it.
func (w *workload) step() string {
	actions := []struct {
		weight int
		name   string
		do     func()
	}{
		{12, "claim", w.claimSome},
		{12, "finish", w.finishSome},
		{6, "time", func() { w.pass(w.rand.IntN(1500)) }},
		{1, "much time", func() { w.pass(25_000) }},
		{4, "add", func() { w.offer(w.candidates(1 + w.rand.IntN(20))) }},
		{2, "claim authority", w.claimOne},
		{2, "repeat", w.repeatSome},
		{1, "retry", w.retrySome},
		{1, "steer", w.steerSome},
		{1, "resume", w.resumeSome},
		{1, "sync", func() { w.Sync(); w.follow.Synced() }},
		{1, "close", w.restartClean},
		{w.crashes, "crash", w.restartCrash},
	}
	sum := 0
	for _, a := range actions {
		sum += a.weight
	}
	n := w.rand.IntN(sum)
	for _, a := range actions {
		if n -= a.weight; n < 0 {
			a.do()
			return a.name
		}
	}
	panic("unreachable: the weights sum to sum")
}

// pass lets some milliseconds of virtual time pass.
func (w *workload) pass(ms int) { time.Sleep(time.Duration(ms) * time.Millisecond) }

// offer adds candidates.
func (w *workload) offer(cs []frontier.Candidate) {
	added, err := w.Frontier.Add(w.Context(), cs)
	require.NoError(w, err, "Add")
	Want(w.Stage, "Added", added, w.follow.Add(cs))
}

// claimSome claims for just under three milliseconds: everything else happens at whole ones, so that nothing becomes due
// at the instant at which the claim is cancelled.
func (w *workload) claimSome() {
	w.pass(2)
	ctx, cancel := context.WithTimeout(w.Context(), 3*time.Millisecond-time.Nanosecond)
	defer cancel()
	wanted := frontier.Want{Hosts: w.rand.IntN(4), Tasks: w.rand.IntN(6), MaxWait: time.Duration(w.rand.IntN(3)) * time.Minute}
	begin := time.Now()
	c, err := w.Frontier.Claim(ctx, wanted)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		w.follow.Nothing(begin, wanted)
	case len(c.Turns) == 0:
		require.NoError(w, err, "Claim")
		w.follow.Ended(wanted, c)
	default:
		require.NoError(w, err, "Claim")
		for _, t := range c.Turns {
			w.follow.Lease(t, max(wanted.Tasks, 1))
		}
		w.follow.Fair(c, max(wanted.Hosts, 1))
		w.turns = append(w.turns, c.Turns...)
	}
}

// claimOne claims an authority for itself.
func (w *workload) claimOne() {
	a := w.Authority(worldHost(w.rand.Int()))
	t, err := w.Frontier.ClaimAuthority(w.Context(), a)
	if err != nil {
		require.ErrorIs(w, err, frontier.ErrNotDue)
	}
	w.follow.Authority(a, t, err)
	if err == nil {
		w.turns = append(w.turns, t)
	}
}

// finishSome finishes some of the turns that are held, be they expired or not.
func (w *workload) finishSome() {
	var rs []frontier.Result
	var kept []frontier.Turn
	w.rand.Shuffle(len(w.turns), func(i, j int) { w.turns[i], w.turns[j] = w.turns[j], w.turns[i] })
	for range min(len(w.turns), w.rand.IntN(4)) {
		t := w.turns[0]
		w.turns = w.turns[1:]
		r, rest := w.result(t)
		rs = append(rs, r)
		t.Tasks = rest
		kept = append(kept, t)
	}
	fs, err := w.Frontier.Finish(w.Context(), rs)
	require.NoError(w, err, "Finish")
	require.Len(w, fs, len(rs))
	for i, f := range fs {
		w.follow.Finish(rs[i], f)
		if rs[i].Keep && f.Err == nil {
			kept[i].Tasks = append(kept[i].Tasks, f.Tasks...)
			w.turns = append(w.turns, kept[i])
		} else {
			w.past = append(w.past, rs[i])
		}
	}
}

// repeatSome sends a result again that was finished, or whose turn had expired.
func (w *workload) repeatSome() {
	if len(w.past) == 0 {
		return
	}
	r := w.past[len(w.past)-1-w.rand.IntN(min(len(w.past), 10))]
	r.Keep = false
	fs, err := w.Frontier.Finish(w.Context(), []frontier.Result{r})
	require.NoError(w, err, "Finish")
	require.Len(w, fs, 1)
	w.follow.Repeat(r, fs[0])
}

// restartClean closes the frontier, waits, and opens it again.
func (w *workload) restartClean() {
	w.Close()
	w.pass(w.rand.IntN(3000))
	w.Open(w.Options)
	w.turns, w.past = nil, nil
	w.follow.Closed()
}

// restartCrash crashes the frontier, waits, and opens it again. Every other time it is synced first.
func (w *workload) restartCrash() {
	if w.Harness.Crash == nil {
		return
	}
	if w.rand.IntN(2) == 0 {
		w.Sync()
		w.follow.Synced()
	}
	at := time.Now()
	w.Kill()
	w.pass(w.rand.IntN(3000))
	w.Open(w.Options)
	w.turns, w.past = nil, nil
	w.follow.Crashed(at, w.Picture(), func(u canon.URL) frontier.Entry {
		e, _, err := w.Frontier.Entry(w.Context(), u)
		require.NoErrorf(w, err, "Entry %s", u)
		return e
	})
}

// compare fails unless what can be seen of the engine is what the follower says.
func (w *workload) compare(when string) {
	w.CheckSums()
	w.surveyed()
	require.Empty(w, w.follow.Picture().Diff(w.Picture()), "%s: the model, then the engine", when)
}

// finale fetches all that is left, so that every URL is seen to end, but for those of hosts that are shut for good.
func (w *workload) finale() {
	for {
		c := w.ClaimWithin(worldHosts, 7, time.Hour)
		if len(c.Turns) == 0 {
			w.compare("at the end")
			return
		}
		for _, t := range c.Turns {
			w.follow.Lease(t, 7)
		}
		for _, t := range c.Turns {
			r := Fetched(t)
			w.follow.Finish(r, w.Finish(r))
		}
		w.compare("towards the end")
	}
}
