package model

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Judge is what a Follower tells of an engine that does what it may not: a testing.TB.
type Judge interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Follower is the model that follows an engine, call by call: it makes the choices that the engine has made, if they are
// lawful, and tells the judge if they are not. So what can be seen of both must be the same at any time.
type Follower struct {
	Judge
	options frontier.Options
	dealer  dealer
	journal []event
	durable int // events that must not be lost

	prints  map[taskID]frontier.Fingerprint // the model's fingerprints of the tasks that were leased in this opening
	records []record                        // what the engine may have recorded as in flight in this opening, oldest first
}

// taskID is a task's identity in the engine.
type taskID struct {
	authority canon.Authority
	print     frontier.Fingerprint
}

// NewFollower returns the follower of an engine that has just been opened, for the first time, with o.
func NewFollower(j Judge, o frontier.Options) *Follower {
	f := &Follower{
		Judge: j, options: o, dealer: newDealer(newState()), prints: map[taskID]frontier.Fingerprint{},
	}
	f.opening(opened{})
	return f
}

// want tells the judge when got is not what is wanted.
func (f *Follower) want(what string, got, want any) {
	f.Helper()
	if !reflect.DeepEqual(got, want) {
		f.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// Survey returns what Survey of the engine should, with up to n hosts in each list.
func (f *Follower) Survey(n int) frontier.Survey { return f.dealer.survey(f.now(), n) }

// record applies an event.
func (f *Follower) record(e event) frontier.Added {
	f.journal = append(f.journal, e)
	return f.dealer.apply(e)
}

// opening records that the engine was opened just now.
func (f *Follower) opening(how opened) {
	how.options = f.options
	f.record(event{at: time.Now(), opened: &how})
	f.Synced()
	f.records = nil
	f.leases(true, true)
}

// Synced notes that everything so far is durable.
func (f *Follower) Synced() { f.durable = len(f.journal) }

// now returns the time, with the leases that have expired taken back.
func (f *Follower) now() time.Time {
	now := time.Now()
	if over := f.dealer.expire(now); len(over) > 0 {
		f.record(event{at: now, expired: over})
		f.leases(false, false) // which is no reason for a commit
	}
	return now
}

// Picture returns what is to be seen of the engine.
func (f *Follower) Picture() Picture {
	now := f.now()
	var hosts []frontier.Host
	for _, h := range f.dealer.order {
		hosts = append(hosts, f.dealer.view(h, now))
	}
	return Take(f.dealer.stats(now), hosts, f.dealer.seeds)
}

// Add follows an Add. It is durable, and with it all that was applied before: what is durable is what was applied up
// to some instant.
func (f *Follower) Add(cs []frontier.Candidate) frontier.Added {
	added := f.record(event{at: f.now(), added: slices.Clone(cs)})
	f.Synced()
	return added
}

// Retry follows a Retry, which is durable like an Add.
func (f *Follower) Retry(r frontier.Retrial) frontier.Retried {
	now := f.now()
	n := f.dealer.counted(r, func() { f.record(f.dealer.retrial(now, r)) })
	f.Synced()
	return n
}

// Steer follows a Steer, which is durable like an Add.
func (f *Follower) Steer(c frontier.Steering) frontier.Steered {
	now := f.now()
	n := f.dealer.obeyed(now, c, func() { f.record(f.dealer.steering(now, c)) })
	f.Synced()
	return n
}

// Lease follows a turn that the engine has given: the authority must be due, and the tasks those at its head.
func (f *Follower) Lease(t frontier.Turn, most int) {
	f.Helper()
	now := f.now()
	h := f.dealer.hosts[t.Authority]
	if h == nil || f.dealer.leases[t.Authority] != nil {
		f.Fatalf("%s is leased, but it is leased already, or unknown: %v", t.Authority, h == nil)
	}
	if at, ok := h.due(); !ok || at.After(now) {
		f.Fatalf("%s is leased, %v before it is due (at all: %v)", t.Authority, at.Sub(now), ok)
	}
	f.described(t, h, now)
	f.beside(t)
	f.dealer.grant(h, now, t.Token, f.taken(h, t.Tasks, most, now))
	f.leases(true, f.dealer.careful() || f.dealer.leases[h.authority].stops > 0)
}

// described fails unless a turn describes h.
func (f *Follower) described(t frontier.Turn, h *host, now time.Time) {
	f.Helper()
	f.want("Width", t.Width, max(h.update.Width, 1))
	f.want("Length", t.Length, f.dealer.length())
	u := h.update
	if t.Host.Condition != u.Condition || t.Host.Pace != u.Pace || !bytes.Equal(t.Host.Robots, u.Robots) || t.Host.Wait != 0 {
		f.Fatalf("Turn.Host is %+v, want %+v", t.Host, f.dealer.view(h, now))
	}
}

// Fair fails if an engine gives fewer hosts than are due and wanted.
func (f *Follower) Fair(c frontier.Claimed, wanted int) {
	f.Helper()
	if left := len(f.dealer.candidates(f.now())); len(c.Turns) > wanted || len(c.Turns) < wanted && left > 0 {
		f.Fatalf("%d turns of %d, and %d hosts are still due", len(c.Turns), wanted, left)
	}
}

// Nothing follows a Claim that was cancelled because it found nothing: it must have had reason to wait.
func (f *Follower) Nothing(begin time.Time, w frontier.Want) {
	f.Helper()
	if due := f.dealer.candidates(begin); len(due) > 0 {
		f.Fatalf("Claim waits, although %s is due", due[0].authority)
	}
	state, due := f.dealer.summary(f.now())
	if state == frontier.Drained || state == frontier.Waiting && due > w.MaxWait {
		f.Fatalf("Claim waits, although the frontier is in state %d, due %v", state, due)
	}
}

// Ended follows a Claim that gave no turn.
func (f *Follower) Ended(w frontier.Want, c frontier.Claimed) {
	f.Helper()
	state, due := f.dealer.summary(f.now())
	if c.State != state || c.Due != due || state == frontier.Busy || state == frontier.Waiting && due <= w.MaxWait {
		f.Fatalf("Claim within %v ends with state %d, due %v; want state %d, due %v", w.MaxWait, c.State, c.Due, state, due)
	}
}

// Authority follows a ClaimAuthority.
func (f *Follower) Authority(a canon.Authority, t frontier.Turn, err error) {
	f.Helper()
	now := f.now()
	h := f.dealer.hosts[a]
	due := f.dealer.single(h, now)
	if due != (err == nil) {
		f.Fatalf("ClaimAuthority %s: error %v, want it to be leased: %v", a, err, due)
	}
	if due {
		f.want("tasks of ClaimAuthority", len(t.Tasks), 0)
		f.described(t, h, now)
		f.dealer.grant(h, now, t.Token, nil)
		f.leases(false, false) // nothing is in flight under it
	}
}

// Finish follows the Finish of one turn.
func (f *Follower) Finish(r frontier.Result, got frontier.Finished) {
	f.Helper()
	now := f.now()
	held := f.dealer.holds(r.Authority, r.Token)
	if held != (got.Err == nil) || !held && !errors.Is(got.Err, frontier.ErrStale) {
		f.Fatalf("Finish %s: %v, want it to be applied: %v", r.Authority, got.Err, held)
	}
	if !held {
		return
	}
	r = f.translate(r)
	dropped := make([]frontier.Fingerprint, len(got.Dropped))
	for i, p := range got.Dropped {
		dropped[i] = f.prints[taskID{r.Authority, p}]
	}
	slices.Sort(dropped)
	f.want("Dropped of Finish", fmt.Sprint(dropped), fmt.Sprint(slices.Sorted(slices.Values(f.dealer.dropped(r)))))
	f.want("Added of Finish", got.Added, f.record(f.dealer.event(now, r)))
	f.dealer.release(r)
	if r.Keep {
		f.extended(r, got.Tasks, now)
	}
	f.leases(true, false)
}

// Repeat follows a Finish that was sent before. Nothing changes, whatever the answer.
func (f *Follower) Repeat(r frontier.Result, got frontier.Finished) {
	f.Helper()
	f.now()
	if last := f.dealer.repeats(r.Authority, r.Token); last && got.Err != nil || !last && !errors.Is(got.Err, frontier.ErrStale) {
		f.Fatalf("the repeat of a Finish of %s: %v; is it the last that was applied: %v", r.Authority, got.Err, last)
	}
}

// translate returns r with the model's fingerprints in place of the engine's, which are keyed by another secret.
func (f *Follower) translate(r frontier.Result) frontier.Result {
	r = clone(r)
	for i, d := range r.Done {
		r.Done[i].Print = f.prints[taskID{r.Authority, d.Print}]
	}
	for i, d := range r.Deferred {
		r.Deferred[i].Print = f.prints[taskID{r.Authority, d.Print}]
	}
	return r
}
