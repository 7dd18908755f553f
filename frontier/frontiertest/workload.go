package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Workload drives an engine for a number of random steps, the same for the same seed: Add, Claim, ClaimAuthority,
// Finish with outcomes, deferrals, links, host states and Keep, stale and repeated results, time, Sync, close and
// crash. After every step it compares the engine with a follower. One seed in five crashes often, so that URLs are
// suspects for long.
func Workload(t *testing.T, seed uint64, steps int, h Harness) {
	t.Logf("workload of seed %d, %d steps", seed, steps) // shown when it fails
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		// Leases end between milliseconds and all else on them, so that nothing coincides.
		o := frontier.Options{
			LeaseLength: 20*time.Second + 500*time.Microsecond, Pace: 700 * time.Millisecond,
			MaxURLs: 400, MaxURLsPerDomain: 170, MaxURLsPerAuthority: 90,
		}
		if seed%3 == 2 {
			o.Order = frontier.DepthFirst
		}
		if seed%2 == 1 {
			o.PaceOf = func(a canon.Authority) time.Duration { // none, half of Pace, or all of it
				return time.Duration(a.Host()[1]%3) * 350 * time.Millisecond
			}
		}
		w := &workload{Stage: NewStage(t, h, dir, o), rand: rand.New(rand.NewPCG(seed, 0)), crashes: 1}
		if seed%5 == 4 {
			w.crashes = 10
		}
		w.follow = newFollower(w.Stage, o)
		var cs []frontier.Candidate
		for i := range worldHosts {
			cs = append(cs, w.Seeds(worldHost(i)+"/seed")...)
		}
		w.offer(cs)
		for n := range steps {
			name := w.step()
			w.compare(fmt.Sprintf("step %d (%s)", n, name))
		}
		w.finale()
		w.coda()
	})
}

type workload struct {
	*Stage
	rand   *rand.Rand
	follow *follower
	turns  []frontier.Turn   // held; some have expired
	past   []frontier.Result // finished or expired; for repeats
	urls   int               // made so far

	crashes int // their weight among the steps
}

const worldHosts = 6 // authorities, of two to a domain; all are known from the start

func worldHost(n int) string { return fmt.Sprintf("h%d.d%d", n%worldHosts, n%worldHosts/2) }

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

func (w *workload) pass(ms int) { time.Sleep(time.Duration(ms) * time.Millisecond) }

func (w *workload) offer(cs []frontier.Candidate) {
	added, err := w.Frontier.Add(w.Context(), cs)
	require.NoError(w, err, "Add")
	Want(w.Stage, "Added", added, w.follow.Add(cs))
}

// claimSome claims for just under three milliseconds: everything else happens at whole ones, so that nothing becomes
// due at the instant when the claim is cancelled.
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

// finishSome finishes some of the turns that are held, expired or not.
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

// repeatSome sends an old result again.
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

func (w *workload) restartClean() {
	w.Close()
	w.pass(w.rand.IntN(3000))
	w.Open(w.Options)
	w.turns, w.past = nil, nil
	w.follow.open(time.Now(), w.follow.options, false, nil)
}

// restartCrash crashes the frontier, waits, and opens it again. Every other time it syncs first.
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

func (w *workload) compare(when string) {
	w.CheckSums()
	w.compareSurvey()
	require.Empty(w, w.follow.picture().Diff(w.Picture()), "%s: the model, then the engine", when)
}

// finale fetches all remaining tasks, except of hosts that stay shut.
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

// candidates makes n candidates: new and known ones, of all kinds, some of them refused.
func (w *workload) candidates(n int) []frontier.Candidate {
	var cs []frontier.Candidate
	for range n {
		number := w.urls
		if w.rand.IntN(3) == 0 {
			number = w.rand.IntN(w.urls + 1)
		} else {
			w.urls++
		}
		c := w.Links(fmt.Sprintf("%s/%d", worldHost(number*number), number))[0]
		c.Kind = []frontier.Kind{frontier.KindLink, frontier.KindRedirect, frontier.KindEmbed, frontier.KindSitemap, frontier.KindMap, frontier.KindScript}[w.rand.IntN(6)]
		c.Depth, c.Hops, c.Embeds, c.Away = w.rand.IntN(9), w.rand.IntN(3), w.rand.IntN(3), w.rand.IntN(3)
		if w.rand.IntN(8) == 0 {
			c.Refused = fmt.Sprintf("trap %d", w.rand.IntN(3))
		}
		cs = append(cs, c)
	}
	return cs
}

// result makes a result for a turn, and returns the tasks that it does not settle.
func (w *workload) result(t frontier.Turn) (frontier.Result, []frontier.Task) {
	r := resultOf(t)
	var rest []frontier.Task
	for _, x := range t.Tasks {
		switch n := w.rand.IntN(10); {
		case n < 5:
			o := frontier.Outcome(1 + w.rand.IntN(7))
			r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: o, Reason: []string{"", "one", "two"}[w.rand.IntN(3)]})
		case n < 7:
			d := frontier.Deferral{Print: x.Print, After: w.duration(8000), Reason: fmt.Sprintf("reason %d", n)}
			if w.rand.IntN(3) == 0 {
				d.URL = x.URL
			}
			r.Deferred = append(r.Deferred, d)
		default:
			rest = append(rest, x)
		}
	}
	if w.rand.IntN(2) == 0 {
		r.Found = w.candidates(w.rand.IntN(12))
	}
	if w.rand.IntN(3) == 0 {
		r.Host = w.update()
	}
	if w.rand.IntN(2) == 0 {
		r.Wait = w.duration(3000)
	}
	if w.rand.IntN(4) == 0 {
		r.Extend = []frontier.Seed{{URL: w.URL("h0/extended"), Tag: fmt.Sprint(w.urls), From: "http://h0.test/seed"}}
		r.Blobs = [][]byte{fmt.Append(nil, "body ", w.rand.IntN(9))}
	}
	r.Counts = map[string]int64{"results": 1, "octets": w.rand.Int64N(1000)}
	r.Keep, r.Want = w.rand.IntN(5) == 0, w.rand.IntN(4)
	return r, rest
}

// duration returns up to most milliseconds, often zero.
func (w *workload) duration(most int) time.Duration {
	return time.Duration(max(0, w.rand.IntN(most)-most/3)) * time.Millisecond
}

// update makes the state of a host. Few are refused, which is permanent.
func (w *workload) update() *frontier.HostUpdate {
	u := &frontier.HostUpdate{Pace: w.duration(2000), Width: w.rand.IntN(3), Robots: fmt.Append(nil, w.rand.IntN(99))}
	switch n := w.rand.IntN(40); {
	case n == 0:
		u.Condition = frontier.Refused
	case n < 4:
		u.Condition = frontier.Retired
	case n < 10:
		u.Condition = frontier.Parked
	}
	if u.Condition != frontier.Open {
		u.Reason = fmt.Sprintf("reason %d", u.Condition)
	}
	return u
}

// retrySome calls Retry for all authorities or one.
func (w *workload) retrySome() {
	r := frontier.Retrial{
		Outcome: frontier.Outcome(w.rand.IntN(int(frontier.Held) + 1)), Hosts: w.rand.IntN(2) == 0, Robots: w.rand.IntN(2) == 0,
	}
	if w.rand.IntN(3) == 0 && !r.Hosts {
		r.Reason = []string{"one", "two", frontier.ReasonOperator, frontier.ReasonQuarantined}[w.rand.IntN(4)]
	}
	if w.rand.IntN(3) > 0 {
		r.Authority = w.Authority(worldHost(w.rand.Int()))
	}
	got, err := w.Frontier.Retry(w.Context(), r)
	require.Equalf(w, r.Check() != nil, err != nil, "Retry %+v: %v", r, err)
	if err == nil {
		want := follow(w.follow, func(s *state, _ time.Time) frontier.Retried { return s.retry(r) })
		Want(w.Stage, "Retried", got, want)
	}
}

// steerSome sends a random command. A host whose turn was out at a Drop is not steered again while it is: the end of
// its tasks is then open.
func (w *workload) steerSome() {
	c := frontier.Steering{Authority: w.Authority(worldHost(w.rand.Int()))}
	switch w.rand.IntN(9) {
	case 0, 1, 2:
		c.Act, c.Reason = frontier.Park, fmt.Sprint("park ", w.rand.IntN(3))
	case 3, 4:
		c.Act, c.For = frontier.Park, time.Duration(1+w.rand.IntN(20_000))*time.Millisecond
	case 5:
		c.Act, c.Reason = frontier.Drop, "drop"
	case 6:
		c.Act, c.For = frontier.Rest, time.Duration(w.rand.IntN(3)*w.rand.IntN(3000))*time.Millisecond
	default:
		c.Act = frontier.Drop
		for n := range w.urls + 1 {
			if u := w.URL(fmt.Sprintf("%s/%d", worldHost(n*n), n)); u.Authority() == c.Authority && w.rand.IntN(4) == 0 {
				c.URLs = append(c.URLs, u)
			}
		}
		if c.URLs == nil {
			c.URLs = []canon.URL{w.URL(worldHost(0) + "/seed")}
			c.Authority = c.URLs[0].Authority()
		}
	}
	w.command(c)
}

// resumeSome opens one of the hosts that are held, retired or refused.
func (w *workload) resumeSome() {
	hosts := w.Hosts(worldHosts)
	for i := range hosts {
		h := hosts[(i+w.rand.IntN(len(hosts)))%len(hosts)]
		if h.Hold.Act != 0 || h.Condition == frontier.Retired || h.Condition == frontier.Refused {
			w.command(frontier.Steering{Act: frontier.Resume, Authority: h.Authority})
			return
		}
	}
}

func (w *workload) command(c frontier.Steering) {
	h := w.Host(strings.TrimSuffix(c.Authority.Host(), ".test"))
	if h.Leased && (c.Act == frontier.Resume || h.Hold.Act == frontier.Drop) {
		return
	}
	got, err := w.Frontier.Steer(w.Context(), c)
	require.NoErrorf(w, err, "Steer %+v", c)
	wanted := follow(w.follow, func(s *state, now time.Time) frontier.Steered { return s.steer(now, c) })
	if h.Hold.Act == frontier.Park && h.Hold.Wait != frontier.Never && c.Act == frontier.Park {
		wanted.Changed = got.Changed // a park that replaces an earlier one
	}
	Want(w.Stage, fmt.Sprintf("Steer %+v", c), got, wanted)
}

// coda adds two seeds and kills the process repeatedly with one of them in flight, until both are quarantined,
// except on a host that is shut.
func (w *workload) coda() {
	if w.Harness.Crash == nil {
		return
	}
	w.offer(w.Seeds(worldHost(1)+"/coda", worldHost(4)+"/coda"))
	for n := range 2*frontier.QuarantineStops + 1 {
		c := w.ClaimWithin(1, 3, time.Hour)
		for _, t := range c.Turns {
			w.follow.Lease(t, 3)
		}
		w.pass(201)
		w.restartCrash()
		w.compare(fmt.Sprintf("kill %d of the coda", n))
	}
}

// compareSurvey fails unless the engine's survey is that of the model, except for the order of hosts with equal queues.
func (w *workload) compareSurvey() {
	n := w.rand.IntN(worldHosts + 1)
	got, all := w.Survey(n), w.follow.survey(w.follow.now(), worldHosts)
	for name, lists := range map[string][2][]frontier.Host{"Longest": {got.Longest, all.Longest}, "Shut": {got.Shut, all.Shut}} {
		list := 0
		for i, h := range lists[0] {
			if h.Pending() == 0 {
				continue // hosts with nothing pending may be at the end
			}
			list++
			require.Truef(w, i < len(lists[1]) && h.Pending() == lists[1][i].Pending(), "Survey.%s is%s, want%s", name, lengths(lists[0]), lengths(lists[1]))
		}
		Want(w.Stage, "hosts in Survey."+name, list, min(n, len(lists[1])))
	}
	require.Equal(w, fmt.Sprint(all.Why, all.Holds), fmt.Sprint(got.Why, got.Holds), "Survey: Why and Holds")
}
