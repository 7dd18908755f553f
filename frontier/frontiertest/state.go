package frontiertest

import (
	"crypto/sha256"
	"slices"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// state is what a frontier knows, leases and clock apart. It is a fold over events and nothing else, so that the
// state after a crash is the fold over those events that were durable.
type state struct {
	options  frontier.Options // of the latest opening
	openings int64
	unclean  bool      // the stop before the latest opening was no Close
	floor    time.Time // no host with no pace of its own is due before

	hosts    map[canon.Authority]*host
	order    []*host         // in the order in which they became known
	seen     map[string]bool // by key
	accepted int64           // of those, the ones that became tasks
	capped   int64

	seeds   []frontier.Seed
	blobs   map[[sha256.Size]byte][]byte
	reasons map[frontier.Outcome]map[string]int64
	counts  map[string]int64
}

// host is an authority with its queue.
type host struct {
	authority canon.Authority
	update    frontier.HostUpdate
	notBefore time.Time
	accepted  int64
	outcomes  frontier.Outcomes

	// pending holds the tasks that are not closed, in the order in which they were accepted: breadth first. A task
	// keeps its place while it is leased or deferred; so what a turn does not settle is at the head again by itself.
	pending []*task
	closed  []closed // those that were tasks

	finished frontier.Token // of the last Finish that ended a turn
	served   uint64         // number of the last claim in the order of claims; zero means never
}

// task is a pending URL.
type task struct {
	frontier.Task
	first    frontier.Candidate // as it was accepted
	number   int64              // in the order of acceptance
	leased   bool
	deferred bool
	due      time.Time // with deferred: earliest next attempt
	suspect  bool      // in flight at a crash; see follower
}

// closed is a URL that was a task.
type closed struct {
	task    *task
	outcome frontier.Outcome
	reason  string
}

// newTask returns the task that a candidate becomes.
func newTask(c frontier.Candidate, number int64) *task {
	return &task{Task: frontier.Task{Candidate: c, Print: frontier.Print(secret, c.URL)}, first: c, number: number}
}

// event is one thing that happened. Exactly one of the fields after at is set.
type event struct {
	at      time.Time
	opened  *opened
	added   []frontier.Candidate
	result  *frontier.Result
	expired int64 // leases
	retried *retried
}

// opened is the event that the frontier was opened.
type opened struct {
	options frontier.Options
	unclean bool
}

// secret keys the fingerprints of the model. It is a constant, so that two models given the same calls agree.
var secret = []byte("frontiertest: a secret for tests")

func newState() *state {
	return &state{
		hosts:   map[canon.Authority]*host{},
		seen:    map[string]bool{},
		blobs:   map[[sha256.Size]byte][]byte{},
		reasons: map[frontier.Outcome]map[string]int64{},
		counts:  map[string]int64{},
	}
}

// fold returns the state that events lead to.
func fold(events []event) *state {
	s := newState()
	for _, e := range events {
		s.apply(e)
	}
	return s
}

// apply takes the step of one event. The answer is about the candidates of the event.
func (s *state) apply(e event) frontier.Added {
	switch {
	case e.opened != nil:
		s.open(e.at, *e.opened)
	case e.result != nil:
		return s.settle(e.at, e.result)
	case e.retried != nil:
		s.retry(e.retried)
	case e.expired > 0:
		s.counts[frontier.ReasonExpired] += e.expired
	default:
		for _, c := range e.added {
			if c.Kind == frontier.KindSeed {
				s.seeds = append(s.seeds, frontier.Seed{URL: c.URL, Tag: c.Tag})
			}
		}
		return s.accept(e.at, e.added)
	}
	return frontier.Added{}
}

// open begins a run: retired hosts take part again, and no host is asked before its stored time or its pace. After
// an unclean stop the floor holds for every authority with no stored pace, also for one that is not known yet: it
// may have been discovered and asked just before the stop, and both have been lost.
func (s *state) open(now time.Time, o opened) {
	s.options, s.unclean, s.floor = o.options, o.unclean, time.Time{}
	s.openings++
	if o.unclean {
		s.floor = now.Add(o.options.Pace)
	}
	for _, h := range s.order {
		if h.update.Condition == frontier.Retired {
			h.update.Condition, h.update.Reason = frontier.Open, ""
		}
		if h.update.Pace > 0 {
			h.wait(now, h.update.Pace)
		} else {
			h.wait(s.floor, 0)
		}
	}
}

// wait puts h off until d from now. A wait that is longer already stays; a negative one is none.
func (h *host) wait(now time.Time, d time.Duration) {
	if t := now.Add(max(d, 0)); t.After(h.notBefore) {
		h.notBefore = t
	}
}

// host returns the host of a, which is known from then on.
func (s *state) host(now time.Time, a canon.Authority) *host {
	h := s.hosts[a]
	if h == nil {
		h = &host{authority: a, notBefore: now}
		h.wait(s.floor, 0)
		s.hosts[a] = h
		s.order = append(s.order, h)
	}
	return h
}

// accept enters the candidates that are new, in order.
func (s *state) accept(now time.Time, cs []frontier.Candidate) frontier.Added {
	var n frontier.Added
	for _, c := range cs {
		switch {
		case s.seen[c.URL.Key()]:
			n.Known++
		case c.Refused != "":
			s.seen[c.URL.Key()] = true
			s.close(s.host(now, c.URL.Authority()), frontier.Dropped, c.Refused)
			n.Refused++
		case c.Kind != frontier.KindSeed && s.full(c.URL.Authority()):
			s.capped++
			n.Capped++
		default:
			s.seen[c.URL.Key()] = true
			h := s.host(now, c.URL.Authority())
			h.accepted++
			s.accepted++
			h.pending = append(h.pending, newTask(c, s.accepted))
			n.New++
		}
	}
	return n
}

// full reports whether a cap leaves no room for one more URL of a.
func (s *state) full(a canon.Authority) bool {
	if n := s.options.MaxURLs; n > 0 && s.accepted >= n {
		return true
	}
	n, h := s.options.MaxURLsPerAuthority, s.hosts[a]
	return n > 0 && h != nil && h.accepted >= n
}

// close counts a closed URL.
func (s *state) close(h *host, o frontier.Outcome, reason string) {
	h.outcomes[o]++
	if reason == "" {
		return
	}
	if s.reasons[o] == nil {
		s.reasons[o] = map[string]int64{}
	}
	s.reasons[o][reason]++
}

// settle applies a result whose token has been checked and whose tasks are under that lease.
func (s *state) settle(now time.Time, r *frontier.Result) frontier.Added {
	h := s.host(now, r.Authority)
	for _, d := range r.Done {
		if t := h.remove(d.Print); t != nil {
			s.close(h, d.Outcome, d.Reason)
			h.closed = append(h.closed, closed{task: t, outcome: d.Outcome, reason: d.Reason})
		}
	}
	for _, d := range r.Deferred {
		if t := h.find(d.Print); t != nil {
			t.deferUntil(now.Add(max(d.After, 0)), d)
		}
	}
	if r.Host != nil {
		h.update = *r.Host
	}
	h.wait(now, r.Wait)
	if !r.Keep {
		h.finished = r.Token
	}
	s.seeds = append(s.seeds, r.Extend...)
	for _, b := range r.Blobs {
		s.blobs[sha256.Sum256(b)] = b
	}
	for name, n := range r.Counts {
		s.counts[name] += n
	}
	return s.accept(now, r.Found)
}

// deferUntil puts t off, as d says.
func (t *task) deferUntil(due time.Time, d frontier.Deferral) {
	t.deferred, t.due, t.Reason = true, due, d.Reason
	if d.URL.IsZero() {
		t.Attempts++
		return
	}
	t.URL, t.Replaced = d.URL, true
}

// find returns the pending task with that print, or nil.
func (h *host) find(p frontier.Fingerprint) *task {
	for _, t := range h.pending {
		if t.Print == p {
			return t
		}
	}
	return nil
}

// remove takes the task with that print from h and returns it, nil when it is not there.
func (h *host) remove(p frontier.Fingerprint) *task {
	for i, t := range h.pending {
		if t.Print == p {
			h.pending = slices.Delete(h.pending, i, i+1)
			return t
		}
	}
	return nil
}

// claimable reports whether the condition of h lets it be claimed at all in this run.
func (h *host) claimable() bool {
	return h.update.Condition != frontier.Retired && h.update.Condition != frontier.Refused
}

// due returns when h has a task to give; ok is false when that is not to be expected.
func (h *host) due() (at time.Time, ok bool) {
	if !h.claimable() {
		return time.Time{}, false
	}
	for _, t := range h.pending {
		if t.leased {
			continue
		}
		if !t.deferred {
			return h.notBefore, true
		}
		if !ok || t.due.Before(at) {
			at, ok = t.due, true
		}
	}
	if at.Before(h.notBefore) {
		at = h.notBefore
	}
	return at, ok
}

// ready returns up to n tasks that h can give now, in their order.
func (h *host) ready(now time.Time, n int) []*task {
	var ts []*task
	for _, t := range h.pending {
		if len(ts) == n {
			break
		}
		if !t.leased && !(t.deferred && t.due.After(now)) {
			ts = append(ts, t)
		}
	}
	return ts
}
