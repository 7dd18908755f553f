package bolt

import (
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// What the record of an unclean stop names is a suspect. That is kept in the retry cell of the task, so that it costs
// nothing for the others; the suspects of a host stand aside from its queue.

// loneStops is how many stops a suspect must have for its turn to be the only one.
const loneStops = 2

// judge makes suspects of what was in flight when the run before was stopped, and quarantines those that were alone
// too often. What it finds is put into the open group, which Open commits together with the new epoch: so a stop counts
// once, however often the opening itself is cut off.
func (f *Frontier) judge(tx *bbolt.Tx, all *layout.Endings) error {
	r, stored, err := layout.ReadInFlight(tx)
	if err != nil {
		return err
	}
	f.flight = stored
	for _, x := range r.Refs {
		if all.Of(x) == nil {
			return fmt.Errorf("read %s: record %d has no entry %d: %w", layout.FlightBucket, x.Record(), x.Place(), frontier.ErrDamaged)
		}
	}
	if f.readOnly || r.Leases == 0 && len(r.Refs) == 0 {
		return nil
	}
	now := f.clock.Now()
	f.touch(now) // the record is to be cleared
	if !f.unclean {
		return nil
	}
	for _, x := range r.Refs {
		e, t := all.Of(x), f.retries[x]
		if *e != 0 || t != nil && t.dropped {
			continue // closed by the commit that recorded it, or about to be by dropAgain
		}
		if t == nil {
			t = &retry{}
			f.retries[x] = t
		}
		t.stop(r)
		if t.condemned() {
			*e = f.totals.Close(frontier.Failed, frontier.ReasonQuarantined)
			f.open.done = append(f.open.done, layout.MakeDone(x, *e))
			f.quarantined = append(f.quarantined, x)
			continue
		}
		f.open.keep(t.state(x, f.clock, now))
	}
	return nil
}

// Quarantined returns the URLs that this opening has put in quarantine, as they were accepted.
func (f *Frontier) Quarantined(ctx context.Context) (all []frontier.Candidate, err error) {
	err = f.reading(ctx, func(int64) {}, func(tx *bbolt.Tx) error {
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
			if b.Forgotten() {
				continue
			}
			id, _ := b.Host(r.Place())
			c, err := b.Entry(r.Place(), f.hosts[id].authority)
			if err != nil {
				return err
			}
			all = append(all, c)
		}
		return nil
	})
	return all, err
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

// clear makes the task of t a suspect no more: it was closed or deferred. The caller holds mu.
func (f *Frontier) clear(t *retry) {
	if t.suspect() {
		f.scheduler.suspects--
	}
	t.stops, t.alone = 0, 0
}

// suspended is a host whose suspect cannot be given yet, and when it became due.
type suspended struct {
	host *host
	due  int64
}

// suspected reports whether h has a suspect to give.
func (h *host) suspected() bool { return h.aside != nil && len(h.aside.suspects) > 0 }

// mayTry reports whether the first suspect of h, if there is one, can be given now. The caller holds mu.
func (f *Frontier) mayTry(h *host) bool {
	if !h.suspected() || f.scheduler.trial {
		return false
	}
	r := h.unrank(h.aside.suspects[0].At)
	return f.scheduler.out == 0 || f.retries[r].stops < loneStops
}

// try takes the first suspect of h, which may be tried and has been leased for it. The caller holds mu.
func (f *Frontier) try(h *host) []layout.Ref {
	if !h.suspected() {
		return nil
	}
	r := h.unrank(h.aside.suspects.Pop().At)
	h.clearAside()
	h.lease.trial, f.scheduler.trial = true, true
	f.scheduler.lone = f.retries[r].stops >= loneStops
	return []layout.Ref{r}
}

// holdSuspect keeps h, which is not in the schedule, for when its suspect can be given; a task of it that is due before
// that is given nevertheless. The caller holds mu.
func (f *Frontier) holdSuspect(h *host, due, now int64) {
	if h.suspected() && !h.held {
		h.held = true
		f.scheduler.held = append(f.scheduler.held, suspended{h, due})
	}
	f.enter(h, now)
}

// letSuspects enters the hosts again whose suspects could not be given, as of the time when they became due: a lone one
// would otherwise be behind all others whenever nothing is out. The caller holds mu and has just ended a lease, which
// may have been that of a suspect.
func (f *Frontier) letSuspects(trial bool) {
	d := &f.scheduler
	if trial {
		d.trial, d.lone = false, false
		if len(d.waiters) > 0 {
			d.waiters[0].signal()
		}
	}
	held := d.held
	d.held = nil
	for _, s := range held {
		s.host.held = false
		if s.host.suspected() {
			f.enterAt(s.host, s.due)
		}
	}
}

// recordOf returns the group that must be durable before drafts are given, nil when there is none to wait for: that
// whose record names them, if one is the turn of a suspect, or if the last stop was unclean and not long ago. The
// caller holds mu.
func (f *Frontier) recordOf(drafts []*draft) *group {
	for _, d := range drafts {
		if len(d.turn.Tasks) > 0 && (f.careful > 0 || d.lease.trial) {
			return f.last()
		}
	}
	return nil
}

// takeBack ends the leases of drafts that their caller did not wait for.
func (f *Frontier) takeBack(drafts []*draft) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.usable() != nil {
		return
	}
	now := f.clock.Now()
	f.touch(now)
	for _, d := range drafts {
		if h := f.byName[d.turn.Authority]; h.lease == d.lease {
			f.lapse(h, now)
		}
	}
}
