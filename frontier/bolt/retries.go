package bolt

import (
	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// retries is what is kept of pending tasks beyond their place: of those that were deferred, released or dropped under a
// lease, and of suspects. A task that is closed has none once that is durable.
type retries struct {
	of map[layout.Ref]*retry
}

// counter returns the counter of h for the task r, which is pending and under no lease.
func (rs *retries) counter(h *host, r layout.Ref) *uint32 {
	if rs.of[r].deferred() {
		return &h.deferred
	}
	return &h.queued
}

// retry is what is kept of a task that was deferred, released or dropped under a lease, or is a suspect, until it is
// closed.
type retry struct {
	attempts int
	stops    int // unclean stops at which it was in flight; beyond zero it is a suspect
	alone    int // of these, those at which nothing else was
	reason   string
	url      string // replaces the fetch URL; empty for none
	due      int64
	host     uint32 // with dropped, when it was read from the file
	dropped  bool   // by an operator while it was under a lease: to be closed when that ends
	at       uint64 // value of the journal of states; zero when it is not written yet
}

// stop counts an unclean stop, of which r, which names the task of t, is the record.
func (t *retry) stop(r layout.InFlight) {
	t.stops++
	if r.Alone() {
		t.alone++
	}
}

// condemned reports whether the task of t is to be put in quarantine.
func (t *retry) condemned() bool { return t.alone >= frontier.QuarantineStops }

// deferred reports whether t is of a task that was deferred, which has counted an attempt or replaced the URL. Nil is
// not.
func (t *retry) deferred() bool { return t != nil && (t.attempts > 0 || t.url != "") }

// suspect reports whether t is of a suspect. Nil is not.
func (t *retry) suspect() bool { return t != nil && t.stops > 0 }

// state returns what is kept of the task r as it is stored.
func (t *retry) state(r layout.Ref, c layout.Clock, now int64) *layout.StateRecord {
	s := layout.Retry{
		Attempts: t.attempts, Stops: t.stops, Alone: t.alone, Reason: t.reason, URL: t.url, Due: t.due, Dropped: t.dropped,
	}
	return s.StateRecord(r, c, now)
}

// newRetry is the inverse of state; nil when there is nothing to say any more.
func newRetry(data []byte, c layout.Clock) (t *retry, ok bool) {
	s, ok := layout.ParseRetry(data, c)
	if !ok || s.Void() {
		return nil, ok
	}
	return &retry{
		attempts: s.Attempts, stops: s.Stops, alone: s.Alone, reason: s.Reason, url: s.URL, due: s.Due, dropped: s.Dropped,
	}, true
}
