package frontiertest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// follower is the model in the workload. It makes the choices that the engine has made, if they are lawful.
type follower struct {
	*stage
	desk    desk
	journal []event
	durable int // events that must not be lost

	prints   map[print]frontier.Fingerprint // the model's fingerprints of the tasks that were leased in this opening
	suspects map[frontier.Fingerprint]bool  // tasks that were leased in an opening that ended with a crash
}

// print is a task's identity in the engine.
type print struct {
	authority canon.Authority
	print     frontier.Fingerprint
}

func newFollower(s *stage) *follower {
	f := &follower{
		stage: s, desk: newDesk(newState()),
		prints: map[print]frontier.Fingerprint{}, suspects: map[frontier.Fingerprint]bool{},
	}
	f.opening(false)
	return f
}

// record applies an event.
func (f *follower) record(e event) frontier.Added {
	f.journal = append(f.journal, e)
	return f.desk.apply(e)
}

// opening records that the engine was opened just now.
func (f *follower) opening(unclean bool) {
	f.record(event{at: time.Now(), opened: &opened{options: f.o, unclean: unclean}})
	f.synced()
}

// synced notes that everything so far is durable.
func (f *follower) synced() { f.durable = len(f.journal) }

// now returns the time, with the leases that have expired taken back.
func (f *follower) now() time.Time {
	now := time.Now()
	if n := f.desk.expire(now); n > 0 {
		f.record(event{at: now, expired: n})
	}
	return now
}

// picture returns what is to be seen of the engine.
func (f *follower) picture() picture {
	now := f.now()
	var hosts []frontier.Host
	for _, h := range f.desk.order {
		hosts = append(hosts, f.desk.view(h, now))
	}
	return take(f.desk.stats(now), hosts, f.desk.seeds)
}

// add follows an Add. It is durable, and with it all that was applied before: what is durable is what was applied up
// to some instant.
func (f *follower) add(cs []frontier.Candidate) frontier.Added {
	added := f.record(event{at: f.now(), added: slices.Clone(cs)})
	f.synced()
	return added
}

// retry follows a Retry, which is durable like an Add.
func (f *follower) retry(r frontier.Retrial) frontier.Retried {
	now := f.now()
	n := f.desk.counted(r, func() { f.record(f.desk.retrial(now, r)) })
	f.synced()
	return n
}

// lease follows a turn that the engine has given: the authority must be due, and the tasks those at its head.
func (f *follower) lease(t frontier.Turn, most int) {
	f.Helper()
	now := f.now()
	h := f.desk.hosts[t.Authority]
	if h == nil || f.desk.leases[t.Authority] != nil {
		f.Fatalf("%s is leased, but it is leased already, or unknown: %v", t.Authority, h == nil)
	}
	if at, ok := h.due(); !ok || at.After(now) {
		f.Fatalf("%s is leased, %v before it is due (at all: %v)", t.Authority, at.Sub(now), ok)
	}
	f.described(t, h, now)
	f.desk.grant(h, now, t.Token, f.taken(h, t.Tasks, most, now))
}

// described fails unless a turn describes h.
func (f *follower) described(t frontier.Turn, h *host, now time.Time) {
	f.Helper()
	want(f.stage, "Width", t.Width, max(h.update.Width, 1))
	want(f.stage, "Length", t.Length, f.desk.length())
	u := h.update
	if t.Host.Condition != u.Condition || t.Host.Pace != u.Pace || !bytes.Equal(t.Host.Robots, u.Robots) || t.Host.Wait != 0 {
		f.Fatalf("Turn.Host is %+v, want %+v", t.Host, f.desk.view(h, now))
	}
}

// taken returns the tasks of h that the engine has given. They must be the head of what is ready: those never
// deferred in their order, and any of those whose deferral is over. A suspect, a task that was in flight at a crash,
// may come at any time later, and alone.
func (f *follower) taken(h *host, given []frontier.Task, most int, now time.Time) []*task {
	f.Helper()
	ready := h.ready(now, len(h.pending))
	suspect := slices.ContainsFunc(ready, func(t *task) bool { return t.suspect })
	if n := min(most, len(ready)); len(given) > n || len(given) < n && !(suspect && len(given) > 0) {
		f.Fatalf("%s: %d tasks, want %d", h.authority, len(given), n)
	}
	plain := func(t *task) bool { return !t.deferred && !t.suspect }
	var ts []*task
	for _, x := range given {
		p := frontier.Print(secret, x.URL)
		i := slices.IndexFunc(ready, func(t *task) bool { return t.Print == p })
		if i < 0 {
			f.Fatalf("%s: task %s is not ready, or was given twice", h.authority, x.URL)
		}
		t := ready[i]
		if first := ready[slices.IndexFunc(ready, func(t *task) bool { return t == ready[i] || plain(t) })]; plain(t) && first != t {
			f.Fatalf("%s: task %s comes before %s", h.authority, x.URL, first.URL)
		}
		same := t.Task
		same.Print = x.Print // keyed by the engine's own secret
		want(f.stage, "the task", fmt.Sprintf("%+v", x), fmt.Sprintf("%+v", same))
		f.prints[print{h.authority, x.Print}] = p
		ts, ready = append(ts, t), slices.Delete(ready, i, i+1)
	}
	return ts
}

// fair fails if an engine gives fewer hosts than are due and wanted.
func (f *follower) fair(c frontier.Claimed, wanted int) {
	f.Helper()
	if left := len(f.desk.candidates(f.now())); len(c.Turns) > wanted || len(c.Turns) < wanted && left > 0 {
		f.Fatalf("%d turns of %d, and %d hosts are still due", len(c.Turns), wanted, left)
	}
}

// nothing follows a Claim that was cancelled because it found nothing: it must have had reason to wait.
func (f *follower) nothing(begin time.Time, w frontier.Want) {
	f.Helper()
	if due := f.desk.candidates(begin); len(due) > 0 {
		f.Fatalf("Claim waits, although %s is due", due[0].authority)
	}
	state, due := f.desk.summary(f.now())
	if state == frontier.Drained || state == frontier.Waiting && due > w.MaxWait {
		f.Fatalf("Claim waits, although the frontier is in state %d, due %v", state, due)
	}
}

// ended follows a Claim that gave no turn.
func (f *follower) ended(w frontier.Want, c frontier.Claimed) {
	f.Helper()
	state, due := f.desk.summary(f.now())
	if c.State != state || c.Due != due || state == frontier.Busy || state == frontier.Waiting && due <= w.MaxWait {
		f.Fatalf("Claim within %v ends with state %d, due %v; want state %d, due %v", w.MaxWait, c.State, c.Due, state, due)
	}
}

// authority follows a ClaimAuthority.
func (f *follower) authority(a canon.Authority, t frontier.Turn, err error) {
	f.Helper()
	now := f.now()
	h := f.desk.hosts[a]
	due := f.desk.leases[a] == nil && h.claimable() && !h.notBefore.After(now)
	if due != (err == nil) {
		f.Fatalf("ClaimAuthority %s: error %v, want it to be leased: %v", a, err, due)
	}
	if due {
		want(f.stage, "tasks of ClaimAuthority", len(t.Tasks), 0)
		f.described(t, h, now)
		f.desk.grant(h, now, t.Token, nil)
	}
}

// renew follows the Renew of one lease.
func (f *follower) renew(l frontier.Lease, err error) {
	f.Helper()
	now := f.now()
	if held := f.desk.holds(l.Authority, l.Token); held != (err == nil) {
		f.Fatalf("Renew %s: %v, want it to be renewed: %v", l.Authority, err, held)
	}
	if err == nil {
		f.desk.leases[l.Authority].expires = now.Add(f.desk.length())
	}
}

// finish follows the Finish of one turn.
func (f *follower) finish(r frontier.Result, got frontier.Finished) {
	f.Helper()
	now := f.now()
	held := f.desk.holds(r.Authority, r.Token)
	if held != (got.Err == nil) || !held && !errors.Is(got.Err, frontier.ErrStale) {
		f.Fatalf("Finish %s: %v, want it to be applied: %v", r.Authority, got.Err, held)
	}
	if !held {
		return
	}
	r = f.translate(r)
	want(f.stage, "Added of Finish", got.Added, f.record(f.desk.event(now, r)))
	f.desk.release(r)
	if r.Keep {
		ts := f.taken(f.desk.hosts[r.Authority], got.Tasks, r.Want, now)
		for _, t := range ts {
			t.leased = true
		}
		l := f.desk.leases[r.Authority]
		l.tasks = append(l.tasks, ts...)
	}
}

// repeat follows a Finish that was sent before. Nothing changes, whatever the answer.
func (f *follower) repeat(r frontier.Result, got frontier.Finished) {
	f.Helper()
	f.now()
	if last := f.desk.repeats(r.Authority, r.Token); last && got.Err != nil || !last && !errors.Is(got.Err, frontier.ErrStale) {
		f.Fatalf("the repeat of a Finish of %s: %v; is it the last that was applied: %v", r.Authority, got.Err, last)
	}
}

// translate returns r with the model's fingerprints in place of the engine's, which are keyed by another secret.
func (f *follower) translate(r frontier.Result) frontier.Result {
	r = clone(r)
	for i, d := range r.Done {
		r.Done[i].Print = f.prints[print{r.Authority, d.Print}]
	}
	for i, d := range r.Deferred {
		r.Deferred[i].Print = f.prints[print{r.Authority, d.Print}]
	}
	return r
}

// closed follows a clean stop and the opening after it.
func (f *follower) closed() {
	for a := range f.desk.leases {
		f.desk.end(a)
	}
	clear(f.prints)
	f.opening(false)
}

// crashed follows a crash and the opening after it. The engine must have come back as it was at some instant between
// the last commit that it owed and the crash; seen tells which.
func (f *follower) crashed(at time.Time, seen picture) {
	f.Helper()
	for _, p := range f.prints {
		f.suspects[p] = true
	}
	clear(f.prints)
	all, kept := f.journal, f.durable
	for kept < len(all) && all[kept].at.Before(at.Add(-frontier.GroupDelay)) {
		kept++
	}
	for n := len(all); n >= kept; n-- {
		f.journal = slices.Clone(all[:n])
		f.desk = newDesk(fold(f.journal))
		f.opening(true)
		if f.picture().diff(seen) == "" {
			f.suspect()
			return
		}
	}
	f.Fatalf("after a crash the engine is in none of the states it was in from its last commit on; that of the commit, %d "+
		"events before the crash, then the engine:%s", len(all)-kept, f.picture().diff(seen))
}

// suspect marks the tasks that were leased before a crash: an engine may put them off and give them alone, lest a
// page that kills the crawler kills it again and again.
func (f *follower) suspect() {
	for _, h := range f.desk.order {
		for _, t := range h.pending {
			t.suspect = f.suspects[t.Print]
		}
	}
}
