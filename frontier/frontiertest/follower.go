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

	prints  map[print]frontier.Fingerprint // the model's fingerprints of the tasks that were leased in this opening
	records []record                       // what the engine may have recorded as in flight in this opening, oldest first
}

// print is a task's identity in the engine.
type print struct {
	authority canon.Authority
	print     frontier.Fingerprint
}

func newFollower(s *stage) *follower {
	f := &follower{
		stage: s, desk: newDesk(newState()), prints: map[print]frontier.Fingerprint{},
	}
	f.opening(opened{})
	return f
}

// record applies an event.
func (f *follower) record(e event) frontier.Added {
	f.journal = append(f.journal, e)
	return f.desk.apply(e)
}

// opening records that the engine was opened just now.
func (f *follower) opening(how opened) {
	how.options = f.o
	f.record(event{at: time.Now(), opened: &how})
	f.synced()
	f.records = nil
	f.leases(true, true)
}

// synced notes that everything so far is durable.
func (f *follower) synced() { f.durable = len(f.journal) }

// now returns the time, with the leases that have expired taken back.
func (f *follower) now() time.Time {
	now := time.Now()
	if over := f.desk.expire(now); len(over) > 0 {
		f.record(event{at: now, expired: over})
		f.leases(false, false) // which is no reason for a commit
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

// steer follows a Steer, which is durable like an Add.
func (f *follower) steer(c frontier.Steering) frontier.Steered {
	now := f.now()
	n := f.desk.obeyed(now, c, func() { f.record(f.desk.steering(now, c)) })
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
	f.beside(t)
	f.desk.grant(h, now, t.Token, f.taken(h, t.Tasks, most, now))
	f.leases(true, f.desk.careful() || f.desk.leases[h.authority].stops > 0)
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
	due := f.desk.single(h, now)
	if due != (err == nil) {
		f.Fatalf("ClaimAuthority %s: error %v, want it to be leased: %v", a, err, due)
	}
	if due {
		want(f.stage, "tasks of ClaimAuthority", len(t.Tasks), 0)
		f.described(t, h, now)
		f.desk.grant(h, now, t.Token, nil)
		f.leases(false, false) // nothing is in flight under it
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
	dropped := make([]frontier.Fingerprint, len(got.Dropped))
	for i, p := range got.Dropped {
		dropped[i] = f.prints[print{r.Authority, p}]
	}
	slices.Sort(dropped)
	want(f.stage, "Dropped of Finish", fmt.Sprint(dropped), fmt.Sprint(slices.Sorted(slices.Values(f.desk.dropped(r)))))
	want(f.stage, "Added of Finish", got.Added, f.record(f.desk.event(now, r)))
	f.desk.release(r)
	if r.Keep {
		f.extended(r, got.Tasks, now)
	}
	f.leases(true, false)
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
