package bolt

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// leases are the turns that are out, at most one a host; a token never comes twice, in this run or another. The entry
// of a lease that has ended stays until it comes up; after a begin there are fewer such entries than leases, plus 64.
type leases struct {
	hosts  *hosts
	epoch  uint64 // of this opening
	length time.Duration
	claims uint32
	expiry heap // at is when a lease expires, tie is claim<<32 | id of the host
	out    int  // number of leases
}

func (ls *leases) begin(h *host, now int64) {
	ls.claims++
	h.lease = &lease{
		token: frontier.Token(ls.epoch<<32 | uint64(ls.claims)), expires: layout.After(now, ls.length), width: max(h.Width, 1),
	}
	ls.out++
	ls.expiry.Push(entry{At: h.lease.expires, Tie: uint64(ls.claims)<<32 | uint64(h.id)})
	if len(ls.expiry) > 2*ls.out+64 {
		ls.expiry.Keep(func(e entry) bool { return ls.host(e) != nil })
	}
}

func (ls *leases) end(h *host) {
	h.lease = nil
	ls.out--
}

// popExpired takes out a lease that has expired, and returns its host, or nil.
func (ls *leases) popExpired(now int64) *host {
	for len(ls.expiry) > 0 && ls.expiry[0].At <= now {
		if h := ls.host(ls.expiry.Pop()); h != nil {
			return h
		}
	}
	return nil
}

// earliest returns a time no later than the first expiry; the end of time without a lease.
func (ls *leases) earliest() int64 {
	if len(ls.expiry) == 0 {
		return math.MaxInt64
	}
	return ls.expiry[0].At
}

// host returns the host of the lease of e, nil when that lease has ended.
func (ls *leases) host(e entry) *host {
	h := ls.hosts.all[uint32(e.Tie)]
	if h.lease == nil || uint32(h.lease.token) != uint32(e.Tie>>32) {
		return nil
	}
	return h
}

// checkCounter fails when the counter of tokens is about to overflow: a token must never come twice.
func (ls *leases) checkCounter() error {
	if ls.claims > math.MaxUint32-1<<20 {
		return fmt.Errorf("frontier/bolt: claim: %d turns in one run: close the frontier and open it again", ls.claims)
	}
	return nil
}

// inFlight returns the record of this instant. A holder makes at most Width exchanges and takes its tasks in the order
// in which they were given, so only the first Width that are not settled can be in flight.
func (ls *leases) inFlight() []byte {
	refs := make([]layout.Ref, 0, ls.out)
	for _, e := range ls.expiry { // one entry for each lease that is out, beside stale ones
		if h := ls.host(e); h != nil {
			l := h.lease
			for _, t := range l.tasks[:min(len(l.tasks), l.width)] {
				refs = append(refs, t.ref)
			}
		}
	}
	slices.Sort(refs)
	return layout.InFlight{Leases: uint64(ls.out), Refs: refs}.AppendTo(nil)
}

// waiter is a Claim that has to wait.
type waiter struct {
	wake    chan struct{} // holds one
	maxWait time.Duration
}

// waiters are the claims that wait, in the order of their arrival. Only the first holds a timer, the alarm, which is
// never later than the next timed event. It wakes the next when it leaves, so that a host that becomes
// due wakes one claim and not all of them.
type waiters struct {
	list  []*waiter
	alarm int64 // when the first will wake
}

func (ln *waiters) join(maxWait time.Duration) *waiter {
	w := &waiter{wake: make(chan struct{}, 1), maxWait: maxWait}
	ln.list = append(ln.list, w)
	return w
}

// leave takes w, which may be nil or absent, out of the line.
func (ln *waiters) leave(w *waiter) {
	i := slices.Index(ln.list, w)
	if i < 0 {
		return
	}
	ln.list = slices.Delete(ln.list, i, i+1)
	if i == 0 && len(ln.list) > 0 {
		ln.list[0].signal()
	}
}

func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *waiter) over(s frontier.State, due time.Duration) bool {
	return s == frontier.Drained || s == frontier.Full || s == frontier.Waiting && due > w.maxWait
}

func (ln *waiters) wakeAll() {
	for _, w := range ln.list {
		w.signal()
	}
}

// wakeFor moves the alarm forward to at.
func (ln *waiters) wakeFor(at int64) {
	if len(ln.list) > 0 && at < ln.alarm {
		ln.alarm = at
		ln.list[0].signal()
	}
}

// await waits until w is woken, or until next, the time of the next timed event, if w is the first. It releases mu,
// which the caller holds, during the wait.
func (ln *waiters) await(ctx context.Context, mu *sync.Mutex, w *waiter, now, next int64) error {
	var alarm <-chan time.Time
	if ln.list[0] == w {
		ln.alarm = next
		if next != math.MaxInt64 {
			timer := time.NewTimer(time.Duration(next - now))
			defer timer.Stop()
			alarm = timer.C
		}
	}
	mu.Unlock()
	defer mu.Lock()
	select {
	case <-w.wake:
	case <-alarm:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// A task that the record of an unclean stop names is a suspect. Its retry record has that, which costs nothing for
// other tasks.

// loneStops is how many stops a suspect must have for its turn to be the only one.
const loneStops = 2

// Quarantined returns the URLs that this opening has quarantined, as they were accepted.
func (f *Frontier) Quarantined(ctx context.Context) (all []frontier.Candidate, err error) {
	var hosts []*host
	note := func(int64) { hosts = f.hosts.all } // only ever appended to
	err = f.reading(ctx, note, func(tx *bbolt.Tx) error {
		records := layout.Lookup{Tx: tx, Journal: layout.RecordJournal}
		for _, r := range f.quarantined {
			body, err := records.Get(r.Record())
			if err != nil {
				return err
			}
			b, err := layout.ParseBlock(body, f.blocks.Zip)
			if err != nil {
				return err
			}
			id, _ := b.Host(r.Place())
			c, err := b.Entry(r.Place(), hosts[id].authority)
			if err != nil {
				return err
			}
			all = append(all, c)
		}
		return nil
	})
	return all, err
}

// suspects decides when a suspect may be tried: one at a time, and after two stops only when nothing else is out.
type suspects struct {
	retries *retries
	leases  *leases
	known   int64         // tasks
	trial   bool          // one of them is out
	lone    bool          // and no other turn may be
	waiting []waitingHost // hosts whose suspect cannot be given yet
}

// waitingHost is a host whose suspect cannot be given yet, and when it became due.
type waitingHost struct {
	host *host
	due  int64
}

// may reports whether h has a suspect that can be given now.
func (ss *suspects) may(h *host) bool {
	if !h.queue.Suspected() || ss.trial {
		return false
	}
	r := h.queue.Suspect()
	return ss.leases.out == 0 || ss.retries.of[r].Stops < loneStops
}

// try takes the first suspect of h, if it has one, which may be tried and for which h has been leased.
func (ss *suspects) try(h *host) []layout.Ref {
	if !h.queue.Suspected() {
		return nil
	}
	r := h.queue.TakeSuspect()
	h.lease.trial, ss.trial = true, true
	ss.lone = ss.retries.of[r].Stops >= loneStops
	return []layout.Ref{r}
}

// hold keeps h, which is not in the schedule and became due at due, until its suspect can be given.
func (ss *suspects) hold(h *host, due int64) {
	if h.queue.Suspected() && !h.suspectWaits {
		h.suspectWaits = true
		ss.waiting = append(ss.waiting, waitingHost{h, due})
	}
}

// release returns the hosts whose suspects could not be given before a lease ended; trial reports that it was a
// suspect's.
func (ss *suspects) release(trial bool) []waitingHost {
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

// clear ends the suspicion of the task of t, which was closed or deferred.
func (ss *suspects) clear(t *retry) {
	if t.suspect() {
		ss.known--
	}
	t.Stops, t.Alone = 0, 0
}

// retries has the pending tasks with a history: deferred, released or dropped under a lease, and suspects. A task that
// is closed has no entry once that is durable.
type retries struct {
	of map[layout.Ref]*retry
}

// counter returns the counter of h for the task r, which is pending and not leased.
func (rs *retries) counter(h *host, r layout.Ref) *uint32 {
	if rs.of[r].deferred() {
		return &h.deferred
	}
	return &h.queued
}

// retry is the history of one task until it is closed.
type retry struct {
	layout.Retry
	host uint32 // with Dropped, when it was read from the file
	at   uint64 // value of the journal of states; zero when it is not written yet
}

// stop counts an unclean stop, whose record r names the task of t.
func (t *retry) stop(r layout.InFlight) {
	t.Stops++
	if r.Leases == 1 && len(r.Refs) == 1 { // it was alone
		t.Alone++
	}
}

// condemned reports whether the task of t is to be quarantined.
func (t *retry) condemned() bool { return t.Alone >= frontier.QuarantineStops }

// deferred reports whether the task of t was deferred, which has counted an attempt or replaced the URL. Nil was not.
func (t *retry) deferred() bool { return t != nil && (t.Attempts > 0 || t.URL != "") }

// suspect reports whether the task of t is a suspect. Nil is not.
func (t *retry) suspect() bool { return t != nil && t.Stops > 0 }
