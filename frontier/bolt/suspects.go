package bolt

import (
	"context"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// A task that the record of an unclean stop names is a suspect. Its retry record says so, which costs
// nothing for the others; the suspects of a host stand aside from its queue.

// loneStops is how many stops a suspect must have for its turn to be the only one.
const loneStops = 2

// Quarantined returns the URLs that this opening has put in quarantine, as they were accepted.
func (f *Frontier) Quarantined(ctx context.Context) (all []frontier.Candidate, err error) {
	err = f.reading(ctx, func(int64) {}, func(tx *bbolt.Tx) error {
		records := layout.Lookup{Tx: tx, Journal: layout.RecordJournal}
		for _, r := range f.quarantined {
			body, err := records.Get(r.Record())
			if err != nil {
				return err
			}
			b, err := layout.ParseBlock(body, f.texts.blocks.Zip)
			if err != nil {
				return err
			}
			if b.Forgotten() {
				continue
			}
			id, _ := b.Host(r.Place())
			c, err := b.Entry(r.Place(), f.hosts.all[id].authority)
			if err != nil {
				return err
			}
			all = append(all, c)
		}
		return nil
	})
	return all, err
}

// suspects decides when a suspect may be tried: one at a time, and one that two stops have found in flight only when
// nothing else is out.
type suspects struct {
	retries *retries
	leases  *leases
	known   int64       // tasks
	trial   bool        // one of them is out
	lone    bool        // and nothing else may be
	waiting []suspended // hosts whose suspect cannot be given yet
}

// suspended is a host whose suspect cannot be given yet, and when it became due.
type suspended struct {
	host *host
	due  int64
}

// may reports whether the first suspect of h, if there is one, can be given now.
func (ss *suspects) may(h *host) bool {
	if !h.queue.Suspected() || ss.trial {
		return false
	}
	r := h.queue.Suspect()
	return ss.leases.out == 0 || ss.retries.of[r].Stops < loneStops
}

// try takes the first suspect of h, which may be tried and has been leased for it.
func (ss *suspects) try(h *host) []layout.Ref {
	if !h.queue.Suspected() {
		return nil
	}
	r := h.queue.TakeSuspect()
	h.lease.trial, ss.trial = true, true
	ss.lone = ss.retries.of[r].Stops >= loneStops
	return []layout.Ref{r}
}

// hold keeps h, which is not in the schedule and became due at a time, for when its suspect can be given.
func (ss *suspects) hold(h *host, due int64) {
	if h.queue.Suspected() && !h.suspectWaits {
		h.suspectWaits = true
		ss.waiting = append(ss.waiting, suspended{h, due})
	}
}

// release returns the hosts whose suspects could not be given before a lease ended, which was that of a suspect if
// trial is set.
func (ss *suspects) release(trial bool) []suspended {
	if trial {
		ss.trial, ss.lone = false, false
	}
	held := ss.waiting
	ss.waiting = nil
	for _, s := range held {
		s.host.suspectWaits = false
	}
	return held
}

// clear makes the task of t a suspect no more: it was closed or deferred.
func (ss *suspects) clear(t *retry) {
	if t.suspect() {
		ss.known--
	}
	t.Stops, t.Alone = 0, 0
}

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
