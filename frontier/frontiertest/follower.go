package frontiertest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// follower is a model that follows an engine call by call: it makes the engine's choices, if they are lawful, and fails
// the test otherwise. So both always look the same.
type follower struct {
	testing.TB
	*state
	steps   []step // that led to the state
	durable int    // steps that must not be lost
}

// newFollower returns the follower of an engine that was opened for the first time with o.
func newFollower(t testing.TB, o frontier.Options) *follower {
	f := &follower{TB: t, state: fold(nil)}
	f.open(time.Now(), o, false, nil)
	return f
}

func (f *follower) open(now time.Time, o frontier.Options, unclean bool, flight []suspicion) {
	do(f, always, func(s *state, _ time.Time) bool { s.open(now, o, unclean, flight); return true })
	f.Synced()
}

func (f *follower) want(what string, got, want any) {
	f.Helper()
	require.Equal(f, want, got, what)
}

func (f *follower) Synced() { f.durable = len(f.steps) }

// now returns the time, after ending the leases that have expired.
func (f *follower) now() time.Time {
	now := time.Now()
	over := func(h *host) bool { return h.lease != nil && !h.lease.expires.After(now) }
	if slices.ContainsFunc(f.order, over) {
		do(f, perhaps, func(s *state, _ time.Time) bool {
			for _, h := range s.order {
				if over(h) {
					s.counts[frontier.ReasonExpired]++
					s.takeBack(h)
				}
			}
			return true
		})
	}
	return now
}

// picture returns the expected picture of the engine.
func (f *follower) picture() Picture {
	now := f.now()
	return takePicture(f.stats(now), f.views(now), f.seeds)
}

// follow applies a call that is durable when it returns: everything applied before is then also durable.
func follow[T any](f *follower, take func(s *state, now time.Time) T) T {
	f.now()
	did := do(f, perhaps, take)
	f.Synced()
	return did
}

func (f *follower) Add(cs []frontier.Candidate) frontier.Added {
	cs = slices.Clone(cs)
	return follow(f, func(s *state, now time.Time) frontier.Added {
		for _, c := range cs {
			if c.Kind == frontier.KindSeed {
				s.seeds = append(s.seeds, frontier.Seed{URL: c.URL, Tag: c.Tag})
			}
		}
		return s.accept(now, cs)
	})
}

// Lease follows a turn of Claim: the authority must be due, and the tasks those at its head. A suspect comes after all
// others, in its own turn.
func (f *follower) Lease(t frontier.Turn, most int) {
	f.Helper()
	now := f.now()
	h := f.hosts[t.Authority]
	require.Truef(f, h != nil && h.lease == nil, "%s is leased, but it is leased already, or unknown: %v", t.Authority, h == nil)
	at, ok := h.due()
	require.Truef(f, ok && !at.After(now), "%s is leased, %v before it is due (at all: %v)", t.Authority, at.Sub(now), ok)
	innocent, suspects := f.ready(h, now)
	offered := min(most, len(innocent))
	if len(innocent) == 0 {
		offered = min(1, len(suspects))
	}
	f.want("number of tasks", len(t.Tasks), offered)
	require.Truef(f, f.room(t.Tasks[0].Stops), "%s, a suspect of %d stops, is given beside other leases, or beside one of a suspect", t.Tasks[0].URL, t.Tasks[0].Stops)
	r := soon
	// Soon after an unclean stop, turns must be recorded before they are given.
	if f.unclean && f.results < f.known+frontier.GroupPages || t.Tasks[0].Stops > 0 {
		r = always
	}
	f.grant(h, t, now, r)
}

// grant follows a turn that is lawful.
func (f *follower) grant(h *host, t frontier.Turn, now time.Time, r recordTime) {
	f.Helper()
	f.want("Width", t.Width, max(h.update.Width, 1))
	f.want("Length", t.Length, f.length())
	u := h.update
	if t.Host.Condition != u.Condition || t.Host.Pace != u.Pace || !bytes.Equal(t.Host.Robots, u.Robots) || t.Host.Wait != 0 {
		f.Fatalf("Turn.Host is %+v, want %+v", t.Host, h.view(now))
	}
	ps := f.takenPrints(h, t.Tasks, now)
	do(f, r, func(s *state, now time.Time) bool {
		h := s.host(now, t.Authority)
		h.lease = &lease{token: t.Token, expires: now.Add(s.length()), width: max(h.update.Width, 1)}
		h.give(ps)
		if len(ps) == 1 {
			h.lease.stops = h.lease.tasks[0].Stops
		}
		return true
	})
}

// takenPrints returns the prints of the tasks that the engine has given. They must be the head of the ready ones: those
// never deferred in their order, and any of those whose deferral is over, but those tried before only after all others.
func (f *follower) takenPrints(h *host, given []frontier.Task, now time.Time) (ps []frontier.Fingerprint) {
	f.Helper()
	ready, suspects := f.ready(h, now)
	if len(ready) == 0 {
		ready = suspects
	}
	for _, x := range given {
		t := first(ready, func(t *task) bool { return t.URL.Key() == x.URL.Key() })
		require.Truef(f, t != nil, "%s: task %s is not ready, or was given twice, or is a suspect that comes too early", h.authority, x.URL)
		same := t.Task
		same.Print = x.Print // keyed by the engine's own secret
		f.want("the task", fmt.Sprintf("%+v", x), fmt.Sprintf("%+v", same))
		before := first(ready, func(o *task) bool { return t.Attempts > 0 && o.Attempts == 0 || !t.deferred && !o.deferred })
		if t.Stops == 0 && before != nil {
			require.Equalf(f, t.URL, before.URL, "%s: task tried %d times comes before another", h.authority, t.Attempts)
		}
		ready = slices.DeleteFunc(slices.Clone(ready), func(o *task) bool { return o == t })
		do(f, perhaps, func(s *state, _ time.Time) bool { s.hosts[h.authority].taskOf(x.URL).Print = x.Print; return true })
		ps = append(ps, x.Print)
	}
	return ps
}

func (f *follower) Fair(c frontier.Claimed, wanted int) {
	f.Helper()
	if left := len(f.candidates(f.now())); len(c.Turns) > wanted || len(c.Turns) < wanted && left > 0 {
		f.Fatalf("%d turns of %d, and %d hosts are still due", len(c.Turns), wanted, left)
	}
}

// Nothing follows a Claim that was cancelled while it waited: it must have had reason to wait.
func (f *follower) Nothing(begin time.Time, w frontier.Want) {
	f.Helper()
	if due := f.candidates(begin); len(due) > 0 {
		f.Fatalf("Claim waits, although %s is due", due[0].authority)
	}
	state, due := f.summary(f.now())
	require.Truef(f, state != frontier.Drained && (state != frontier.Waiting || due <= w.MaxWait), "Claim waits, although the frontier is in state %d, due %v", state, due)
}

func (f *follower) Ended(w frontier.Want, c frontier.Claimed) {
	f.Helper()
	state, due := f.summary(f.now())
	if c.State != state || c.Due != due || state == frontier.Busy || state == frontier.Waiting && due <= w.MaxWait {
		f.Fatalf("Claim within %v ends with state %d, due %v; want state %d, due %v", w.MaxWait, c.State, c.Due, state, due)
	}
}

func (f *follower) Authority(a canon.Authority, t frontier.Turn, err error) {
	f.Helper()
	now := f.now()
	h := f.hosts[a]
	from, ok := h.from()
	due := ok && !from.After(now) && h.lease == nil && f.room(0)
	require.Truef(f, due == (err == nil), "ClaimAuthority %s: error %v, want it to be leased: %v", a, err, due)
	if due {
		f.want("tasks of ClaimAuthority", len(t.Tasks), 0)
		f.grant(h, t, now, perhaps) // nothing is in flight under it
	}
}

func (f *follower) Finish(r frontier.Result, got frontier.Finished) {
	f.Helper()
	now := f.now()
	h := f.hosts[r.Authority]
	held := h != nil && h.lease != nil && h.lease.token == r.Token
	require.Truef(f, held == (got.Err == nil) && (held || errors.Is(got.Err, frontier.ErrStale)), "Finish %s: %v, want it to be applied: %v", r.Authority, got.Err, held)
	if !held {
		return
	}
	want := do(f, always, func(s *state, now time.Time) frontier.Finished { return s.settle(now, r) })
	slices.Sort(got.Dropped)
	slices.Sort(want.Dropped)
	f.want("Dropped of Finish", fmt.Sprint(got.Dropped), fmt.Sprint(want.Dropped))
	f.want("Added of Finish", got.Added, want.Added)
	if !r.Keep {
		return
	}
	h, more := f.hosts[r.Authority], 0
	if h.lease.stops == 0 && h.hold.at(now).act == 0 {
		innocent, _ := f.ready(h, now)
		more = min(max(r.Want, 0), len(innocent))
	}
	f.want("number of further tasks", len(got.Tasks), more)
	ps := f.takenPrints(h, got.Tasks, now)
	do(f, soon, func(s *state, _ time.Time) bool { s.hosts[r.Authority].give(ps); return true })
}

// Repeat follows a Finish that was sent before and changes nothing.
func (f *follower) Repeat(r frontier.Result, got frontier.Finished) {
	f.Helper()
	f.now()
	h := f.hosts[r.Authority]
	last := h != nil && r.Token != 0 && h.finished == r.Token
	if last && got.Err != nil || !last && !errors.Is(got.Err, frontier.ErrStale) {
		f.Fatalf("the repeat of a Finish of %s: %v; is it the last that was applied: %v", r.Authority, got.Err, last)
	}
}

// Crashed follows a crash and the opening after it. The engine must be in its state at some instant between the last
// commit that it owed and the crash; seen shows which. Entry of the engine shows which tasks counted as in flight:
// those at that instant, or since the last step that had the engine record it.
func (f *follower) Crashed(at time.Time, seen Picture, entry func(canon.URL) frontier.Entry) {
	f.Helper()
	now, all, o := time.Now(), f.steps, f.options
	owed := func(x step) bool { return x.at.Before(at.Add(-frontier.GroupDelay)) }
	kept := f.durable
	for kept < len(all) && owed(all[kept]) {
		kept++
	}
	for n := len(all); n >= kept; n-- {
		for m := n; ; m-- {
			f.state, f.steps = fold(all[:n]), slices.Clone(all[:n])
			if flight, lawful := f.judge(fold(all[:m]), entry); lawful {
				f.open(now, o, true, flight)
				if f.picture().Diff(seen) == "" {
					return
				}
			}
			if last := all[m-1]; last.recorded == always || last.recorded == soon && owed(last) {
				break
			}
		}
	}
	f.Fatalf("after a crash the engine is in none of the states it was in from its last commit on; that of the commit, %d "+
		"steps before the crash, then the engine:%s", len(all)-kept, f.picture().Diff(seen))
}

// judge returns the tasks that the engine counts as in flight of the leases of out, and whether it may. A lease
// without tasks beside one with a task may count, or not.
func (f *follower) judge(out *state, entry func(canon.URL) frontier.Entry) (flight []suspicion, lawful bool) {
	leases, might := out.stats(time.Time{}).Leases, out.flight()
	for _, h := range f.order {
		for _, t := range h.pending {
			x := slices.IndexFunc(might, func(x suspicion) bool { return x.authority == h.authority && x.print == t.Print })
			if t.drop || x < 0 && t.Stops == 0 {
				continue
			}
			e := entry(t.first.URL)
			stops, alone := e.Stops-t.Stops, e.Alone-t.alone
			if e.Reason == frontier.ReasonQuarantined {
				stops, alone = 1, 1
			}
			switch {
			case x < 0 && stops == 0 && alone == 0:
			case x >= 0 && stops == 1 && (alone == might[x].alone || alone == 0 && leases > 1):
				flight = append(flight, suspicion{h.authority, t.Print, alone})
			default:
				return nil, false
			}
		}
	}
	return flight, true
}
