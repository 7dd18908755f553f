package model

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
	known    int64     // hosts at the latest opening
	results  int64     // applied since
	opened   time.Time // at the latest opening
	floor    time.Time // no host is due before, unless its own RestartPace is over: see restartFloor

	hosts    map[canon.Authority]*host
	order    []*host          // in the order in which they became known
	seen     map[string]bool  // by key
	accepted int64            // of those, the ones that became tasks
	domains  map[string]int64 // of these, those of each registrable domain
	capped   map[string]int64 // links, by reason

	quarantined []frontier.Candidate // by the latest opening

	seeds   []frontier.Seed
	blobs   map[[sha256.Size]byte][]byte
	reasons map[frontier.Outcome]map[string]int64
	counts  map[string]int64

	operated []operated // all that was closed for an operator and no answer to a Finish named, ever
}

// event is one thing that happened. Exactly one of the fields after at is set.
type event struct {
	at      time.Time
	opened  *opened
	added   []frontier.Candidate
	result  *frontier.Result
	expired []canon.Authority // the leases of these
	retried *retried
	steered *steered
	pinned  *pinned // only in the follower
}

// opened is the event that the frontier was opened.
type opened struct {
	options   frontier.Options
	unclean   bool
	flight    []suspicion          // after an unclean stop: what was in flight at it
	condemned frontier.Fingerprint // only in the follower: the one in doubt that the engine has put in quarantine
}

// secret keys the fingerprints of the model. It is a constant, so that two models given the same calls agree.
var secret = []byte("frontier/model: a secret for tests")

func newState() *state {
	return &state{
		hosts:   map[canon.Authority]*host{},
		seen:    map[string]bool{},
		domains: map[string]int64{},
		capped:  map[string]int64{},
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
	case e.steered != nil:
		s.steer(e.at, e.steered)
	case e.pinned != nil:
		s.pin(e.pinned)
	case e.expired != nil:
		s.counts[frontier.ReasonExpired] += int64(len(e.expired))
		for _, a := range e.expired {
			s.lapse(s.hosts[a])
		}
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
// an unclean stop the floor holds for every authority, also for one that is not known yet: it may have been discovered
// and asked just before the stop, and both have been lost.
func (s *state) open(now time.Time, o opened) {
	s.options, s.unclean, s.opened = o.options, o.unclean, now
	s.openings++
	s.quarantined = nil
	s.known, s.results = int64(len(s.order)), 0
	if o.unclean {
		s.floor = now.Add(o.options.Pace)
	}
	for _, h := range s.order {
		s.lapse(h)
	}
	s.suspect(o)
	for _, h := range s.order {
		if h.update.Condition == frontier.Retired {
			h.update.Condition, h.update.Reason = frontier.Open, ""
		}
		if h.update.Pace > 0 {
			h.wait(now, h.update.Pace)
		}
		h.wait(s.restartFloor(h.authority), 0)
	}
}

// restartFloor is when a may be asked after an unclean stop. What is left of the floor at a clean stop holds on.
func (s *state) restartFloor(a canon.Authority) time.Time {
	if at := s.opened.Add(s.options.RestartPace(a)); at.Before(s.floor) {
		return at
	}
	return s.floor
}

// host returns the host of a, which is known from then on.
func (s *state) host(now time.Time, a canon.Authority) *host {
	h := s.hosts[a]
	if h == nil {
		h = &host{authority: a, notBefore: now}
		h.wait(s.restartFloor(a), 0)
		s.hosts[a] = h
		s.order = append(s.order, h)
	}
	return h
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

// end closes a task.
func (s *state) end(h *host, t *task, o frontier.Outcome, reason string) {
	h.pending = slices.DeleteFunc(h.pending, func(x *task) bool { return x == t })
	s.close(h, o, reason)
	h.closed = append(h.closed, closed{task: t, outcome: o, reason: reason})
}

// settle applies a result whose token has been checked and whose tasks are under that lease.
func (s *state) settle(now time.Time, r *frontier.Result) frontier.Added {
	h := s.host(now, r.Authority)
	s.results++
	for _, d := range r.Done {
		if t := h.find(d.Print); t != nil {
			s.end(h, t, d.Outcome, d.Reason)
		}
	}
	for _, d := range r.Deferred {
		switch t := h.find(d.Print); {
		case t == nil:
		case t.drop:
			s.end(h, t, frontier.Dropped, frontier.ReasonOperator)
		default:
			t.deferUntil(now.Add(max(d.After, 0)), d)
		}
	}
	if r.Host != nil {
		h.update = *r.Host
	}
	h.wait(now, r.Wait)
	if !r.Keep {
		h.finished = r.Token
		s.sweep(h)
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
