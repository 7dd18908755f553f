package bolt

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// leaseLength is what Options.LeaseLength zero means.
const leaseLength = 40 * time.Minute

// Open opens the frontier in the file at path, or creates it. Everything that a crawl needs at hand is read into RAM;
// that the frontier has been opened is durable when Open returns. Errors are ErrInUse, ErrNewer, ErrOlder and
// ErrDamaged, or those of the file system; after an error nothing has been changed.
func Open(path string, o frontier.Options) (*Frontier, error) {
	if o.LeaseLength < 0 || o.Pace < 0 || min(o.MaxURLs, o.MaxURLsPerDomain, o.MaxURLsPerAuthority, o.MaxSize) < 0 {
		return nil, fmt.Errorf("frontier/bolt: open %s: an option is negative: %+v", path, o)
	}
	if o.Order > frontier.DepthFirst {
		return nil, fmt.Errorf("frontier/bolt: open %s: no order %d", path, o.Order)
	}
	db, err := dbfile.Open(path, layout.Create)
	if err != nil {
		return nil, err
	}
	db.AllocSize = dbfile.Growth(o.MaxSize)
	f := newFrontier(path, db, o)
	if err := dbfile.Guard(loader{f}.openRun); err != nil {
		dbfile.Discard(db, err)
		return nil, dbfile.OpenError(path, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	f.writer.stop = stop
	go f.writer.run(ctx) // Close waits for it
	return f, nil
}

// OpenReadOnly opens the file without taking part in a crawl, for a look at one that is stopped. Stats, Seen, Seeds,
// Blob, Host, Hosts, Survey, Export and Snapshot work; Hosts and Stats tell what is stored, before a new run has
// opened what was retired. All else is answered with ErrReadOnly. Several processes may do so at a time, none while a
// crawl runs (ErrInUse).
func OpenReadOnly(path string) (*Frontier, error) {
	db, err := dbfile.OpenReadOnly(path)
	if err != nil {
		return nil, err
	}
	var f *Frontier
	err = dbfile.Guard(func() error {
		return db.View(func(tx *bbolt.Tx) (err error) {
			f, err = stored(path, db, tx)
			return err
		})
	})
	if err != nil {
		db.Close()
		return nil, dbfile.OpenError(path, err)
	}
	close(f.writer.stopped)
	now := f.clock.Now()
	for _, h := range f.hosts.all {
		if h != nil {
			f.scheduler.watch(h)
			f.scheduler.enter(h, now)
		}
	}
	return f, nil
}

// stored returns the frontier that a file holds, as tx has it, which nobody changes.
func stored(path string, db *bbolt.DB, tx *bbolt.Tx) (*Frontier, error) {
	f := newFrontier(path, db, frontier.Options{})
	f.readOnly, f.groups.readOnly = true, true
	return f, loader{f}.load(tx)
}

// openRun reads the file and begins a run.
func (ld loader) openRun() error {
	if err := ld.f.db.View(ld.load); err != nil {
		return err
	}
	ld.f.leases.epoch++
	if ld.f.leases.epoch>>32 != 0 {
		return fmt.Errorf("it has been opened %d times, more than a token can tell: %w", ld.f.leases.epoch-1, frontier.ErrDamaged)
	}
	if err := ld.writeOpening(); err != nil {
		return err
	}
	ld.restart()
	return nil
}

// writeOpening writes the new epoch and, in the same transaction, what the opening has found.
func (ld loader) writeOpening() error {
	ld.f.groups.seal(ld.f.clock.Now())
	err := dbfile.Update(ld.f.db, func(tx *bbolt.Tx) error {
		if err := layout.WriteEpoch(tx, ld.f.clock, ld.f.leases.epoch); err != nil || len(ld.f.groups.queue) == 0 {
			return err
		}
		return ld.f.writer.write(tx, ld.f.groups.queue[0])
	})
	if err != nil {
		return fmt.Errorf("%w: %s, then continue: acknowledged work is in the file", err, dbfile.Advice(err))
	}
	if err := ld.f.writer.measure(ld.f.db); err != nil {
		return err
	}
	ld.f.caps.size = ld.f.writer.size
	if len(ld.f.groups.queue) > 0 {
		ld.f.writer.unfolded += int64(len(ld.f.groups.queue[0].done))
		ld.f.writer.settle(ld.f.groups.queue[0], nil)
	}
	return nil
}

// restart sets the hosts for a run: what was retired takes part again, and nobody is asked before the stored time, the
// pace and the floor are over.
func (ld loader) restart() {
	now := ld.f.clock.Now()
	ld.f.hosts.floor = floor{ld.f.options, now, ld.f.oldFloor}
	if ld.f.unclean {
		ld.f.hosts.floor.until = layout.After(now, ld.f.options.Pace)
		ld.f.turns.careful = ld.f.hosts.sums.known + frontier.GroupPages
	}
	ld.f.caps.checkSize()
	for _, h := range ld.f.hosts.all {
		if h == nil {
			continue
		}
		if h.domain = ld.f.hosts.domain(h.authority); h.domain != nil {
			h.domain.urls += int64(h.accepted())
		}
		ld.f.hosts.count(h, -1)
		if h.Condition == frontier.Retired {
			h.Condition, h.Reason = frontier.Open, ""
		}
		ld.f.hosts.count(h, 1)
		ld.f.scheduler.watch(h)
		if h.Pace > 0 {
			h.wait(now, h.Pace)
		}
		h.NotBefore = max(h.NotBefore, ld.f.hosts.floor.of(h.authority))
		ld.f.scheduler.enter(h, now)
	}
	ld.f.operator.dropAgain(now)
}

// Close implements frontier.Frontier.
func (f *Frontier) Close() error {
	f.mu.Lock()
	if f.closed {
		defer f.mu.Unlock()
		return f.usable()
	}
	f.closed, f.groups.closing = true, true
	f.waiting.wakeAll()
	f.groups.wakeWriter()
	f.mu.Unlock()
	<-f.writer.stopped
	f.writer.stop()
	f.mu.Lock()
	err, floor := f.err, f.hosts.floor.until
	f.mu.Unlock()
	if err == nil && !f.readOnly {
		err = dbfile.Update(f.db, func(tx *bbolt.Tx) error {
			if f.unclean && f.options.Operator {
				return layout.WriteAsFound(tx, f.clock)
			}
			return layout.WriteClean(tx, f.clock, floor)
		})
		if err != nil {
			err = dbfile.WriteError("mark the stop as clean in", f.path, err)
		}
	}
	if dbfile.Stuck(err) {
		return err // a Close might wait for ever; the file is released when the process ends
	}
	if cerr := f.db.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("frontier/bolt: close %s: %w", f.path, cerr)
	}
	return err
}

// loader reads the file into RAM and begins a run. Nobody else has the frontier yet, so it needs no mu.
type loader struct {
	f *Frontier
}

// load reads what RAM holds: one pass over the seen journal, one over the states, two over the heads of the records
// and one over what is done.
func (ld loader) load(tx *bbolt.Tx) error {
	m, t, err := layout.ReadMeta(tx, ld.f.clock)
	if err != nil {
		return err
	}
	ld.f.useSecret(m.Secret)
	ld.f.leases.epoch, ld.f.unclean, *ld.f.totals = m.Epoch, !m.Clean, *t
	ld.f.oldFloor, ld.f.clock, ld.f.caps.size = m.Floor, m.Clock, tx.Size()
	if ld.f.writer.zip, ld.f.texts.blocks.Zip, err = layout.NewZip(); err != nil {
		return err
	}
	if !ld.f.readOnly {
		if err := ld.loadSeen(tx); err != nil {
			return err
		}
	}
	ld.f.groups.lastSeed = layout.SeedJournal.Last(tx)
	if err := ld.loadStates(tx); err != nil {
		return err
	}
	return ld.loadRecords(tx)
}

func (ld loader) loadSeen(tx *bbolt.Tx) error {
	n := 0
	c := tx.Bucket([]byte(layout.SeenJournal)).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		n += len(v) / 8
	}
	ld.f.seen.Reserve(n)
	return layout.ReadPrints(tx, func(p frontier.Fingerprint) error {
		ld.f.seen.Add(p)
		return nil
	})
}

// loadStates reads hosts and retries. The last record of an address counts.
func (ld loader) loadStates(tx *bbolt.Tx) error {
	w := &ld.f.writer.sweeper
	err := layout.StateJournal.Each(tx, func(seq uint64, body []byte) error {
		w.Bytes += int64(len(body))
		return layout.EachState(body, func(c layout.StateRecord) error { return ld.loadState(c, seq) })
	})
	if err != nil {
		return err
	}
	err = layout.StateJournal.Each(tx, func(seq uint64, body []byte) error { // again: now it is known what counts
		return layout.EachState(body, func(c layout.StateRecord) error {
			if at := ld.f.at(c.Address); at != nil && *at == seq {
				w.Base += int64(len(c.Data))
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for id, h := range ld.f.hosts.all {
		if h == nil {
			continue
		}
		if h.authority.IsZero() {
			return fmt.Errorf("read %s: host %d has no name: %w", layout.StateJournal, id, frontier.ErrDamaged)
		}
		if ld.f.hosts.byName[h.authority] != nil {
			return fmt.Errorf("read %s: %s is there twice: %w", layout.StateJournal, h.authority, frontier.ErrDamaged)
		}
		ld.f.hosts.byName[h.authority] = h
		ld.f.hosts.count(h, 1)
	}
	return nil
}

func (ld loader) loadState(c layout.StateRecord, seq uint64) error {
	if c.Kind == layout.KindRetry {
		t, ok := layout.ParseRetry(c.Data, ld.f.clock)
		switch {
		case !ok:
			return fmt.Errorf("retry of %d: %w", c.ID, frontier.ErrDamaged)
		case t.Void():
			delete(ld.f.retries.of, layout.Ref(c.ID))
		default:
			ld.f.retries.of[layout.Ref(c.ID)] = &retry{Retry: t, at: seq}
		}
		return nil
	}
	h, err := ld.loadHost(c.ID)
	if err != nil {
		return err
	}
	h.at[c.Kind-1] = seq
	switch c.Kind {
	case layout.KindName:
		if h.authority, err = canon.ParseAuthority(string(c.Data)); err != nil {
			return fmt.Errorf("name of host %d: %w: %w", c.ID, err, frontier.ErrDamaged)
		}
	case layout.KindHost:
		ok := false
		if h.HostState, ok = layout.ParseHostState(c.Data, ld.f.clock); !ok {
			return fmt.Errorf("state of host %d: %w", c.ID, frontier.ErrDamaged)
		}
		h.outcomes[frontier.Dropped] = h.Refused
	}
	return nil
}

// loadHost returns the host with that id, which is made if need be.
func (ld loader) loadHost(id uint64) (*host, error) {
	if id >= layout.MaxHosts {
		return nil, fmt.Errorf("host %d: %w", id, frontier.ErrDamaged)
	}
	for id >= uint64(len(ld.f.hosts.all)) {
		ld.f.hosts.all = append(ld.f.hosts.all, nil)
	}
	if ld.f.hosts.all[id] == nil {
		ld.f.hosts.all[id] = &host{id: uint32(id), named: true, queue: newQueue(ld.f.hosts.deep)}
	}
	return ld.f.hosts.all[id], nil
}

// loadRecords fills the queues with what is neither closed nor deferred, and counts the rest.
func (ld loader) loadRecords(tx *bbolt.Tx) error {
	w := &ld.f.writer
	sizes, err := layout.ReadSizes(tx)
	if err != nil {
		return err
	}
	w.sizes, ld.f.groups.records = sizes, uint64(len(sizes))
	all := layout.NewEndings(w.sizes)
	if w.folded, w.unfolded, err = all.Read(tx); err != nil {
		return err
	}
	if err := ld.judge(tx, all); err != nil {
		return err
	}
	ld.f.caps.accepted = int64(len(all.All))
	var spans []layout.Span
	err = layout.RecordJournal.Each(tx, func(seq uint64, body []byte) (err error) {
		if spans, _, err = layout.ParseHead(body, spans[:0]); err != nil {
			return err
		}
		return ld.loadSpans(seq, spans, all.Record(seq))
	})
	if err != nil {
		return err
	}
	for r := range ld.f.retries.of {
		if at := all.Of(r); at == nil || *at != 0 {
			delete(ld.f.retries.of, r) // closed since
		}
	}
	return nil
}

func (ld loader) loadSpans(record uint64, spans []layout.Span, endings []layout.Ending) error {
	place := 0
	for _, s := range spans {
		if s.Host >= uint32(len(ld.f.hosts.all)) || ld.f.hosts.all[s.Host] == nil {
			return fmt.Errorf("host %d is unknown: %w", s.Host, frontier.ErrDamaged)
		}
		h := ld.f.hosts.all[s.Host]
		ld.f.hosts.count(h, -1)
		for range s.N {
			r, e := layout.MakeRef(record, place), endings[place]
			place++
			if e != 0 {
				h.outcomes[e.Outcome()]++
				continue
			}
			ld.loadPending(h, r)
		}
		ld.f.hosts.count(h, 1)
	}
	return nil
}

// loadPending puts a task that is not closed into its place.
func (ld loader) loadPending(h *host, r layout.Ref) {
	t := ld.f.retries.of[r]
	if t != nil {
		t.host = h.id
	}
	if t.deferred() {
		h.deferred++
	} else {
		h.queued++
	}
	switch {
	case t.suspect():
		ld.f.suspects.known++
		h.queue.GiveSuspect(r)
	case t.deferred():
		h.queue.GiveLater(r, t.Due, t.Attempts > 0)
	default:
		h.queue.Push(r)
	}
}

// judge makes suspects of what was in flight when the run before was stopped, and quarantines those that were alone
// too often. It puts its findings into the open group, which Open commits together with the new epoch: so a stop counts
// once, however often the opening itself is cut off.
func (ld loader) judge(tx *bbolt.Tx, all *layout.Endings) error {
	r, stored, err := layout.ReadInFlight(tx)
	if err != nil {
		return err
	}
	ld.f.groups.inFlight = stored
	if err := all.Check(r); err != nil {
		return err
	}
	if ld.f.readOnly || r.Leases == 0 && len(r.Refs) == 0 {
		return nil
	}
	now := ld.f.clock.Now()
	ld.f.groups.touch(now) // the record is to be cleared
	if !ld.f.unclean {
		return nil
	}
	for _, x := range r.Refs {
		e, t := all.Of(x), ld.f.retries.of[x]
		if *e != 0 || t != nil && t.Dropped {
			continue // closed by the commit that recorded it, or about to be by dropAgain
		}
		if t == nil {
			t = &retry{}
			ld.f.retries.of[x] = t
		}
		t.stop(r)
		if t.condemned() {
			*e = ld.f.totals.Close(frontier.Failed, frontier.ReasonQuarantined)
			ld.f.groups.open.done = append(ld.f.groups.open.done, layout.MakeDone(x, *e))
			ld.f.quarantined = append(ld.f.quarantined, x)
			continue
		}
		ld.f.groups.open.keep(t.StateRecord(x, ld.f.clock, now))
	}
	return nil
}
