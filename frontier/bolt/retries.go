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
	layout.Retry
	host uint32 // with Dropped, when it was read from the file
	at   uint64 // value of the journal of states; zero when it is not written yet
}

// stop counts an unclean stop, of which r, which names the task of t, is the record.
func (t *retry) stop(r layout.InFlight) {
	t.Stops++
	if r.Alone() {
		t.Alone++
	}
}

// condemned reports whether the task of t is to be put in quarantine.
func (t *retry) condemned() bool { return t.Alone >= frontier.QuarantineStops }

// deferred reports whether t is of a task that was deferred, which has counted an attempt or replaced the URL. Nil is
// not.
func (t *retry) deferred() bool { return t != nil && (t.Attempts > 0 || t.URL != "") }

// suspect reports whether t is of a suspect. Nil is not.
func (t *retry) suspect() bool { return t != nil && t.Stops > 0 }
