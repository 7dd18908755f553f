package bolt

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

const leaseLength = 40 * time.Minute // of Options.LeaseLength zero

// Open opens the frontier in the file at path, or creates it, and reads it into RAM. That it has been opened is durable
// when Open returns. Errors are ErrInUse, ErrNewer, ErrOlder and ErrDamaged, or those of the file system; after an
// error nothing has been changed.
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
	if err := dbfile.Guard(f.openRun); err != nil {
		dbfile.Discard(db, err)
		return nil, dbfile.OpenError(path, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	f.writer.stop = stop
	go f.writer.run(ctx) // Close waits for it
	return f, nil
}

// OpenReadOnly opens the file of a stopped crawl for reading. Stats, Seen, Seeds, Blob, Host, Hosts, Survey, Export and
// Snapshot work; Hosts and Stats return the stored state, before a new run has opened retired hosts. Everything else
// returns ErrReadOnly. Several processes may do so at a time, none while a crawl runs (ErrInUse).
func OpenReadOnly(path string) (*Frontier, error) {
	db, err := dbfile.OpenReadOnly(path)
	if err != nil {
		return nil, err
	}
	var f *Frontier
	err = dbfile.Guard(func() error {
		return db.View(func(tx *bbolt.Tx) (err error) {
			f, err = openStored(path, db, tx)
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

// openStored returns the frontier of tx, read-only.
func openStored(path string, db *bbolt.DB, tx *bbolt.Tx) (*Frontier, error) {
	f := newFrontier(path, db, frontier.Options{})
	f.readOnly, f.groups.readOnly = true, true
	return f, f.load(tx)
}

func (f *Frontier) openRun() error {
	if err := f.db.View(f.load); err != nil {
		return err
	}
	f.leases.epoch++
	if f.leases.epoch>>32 != 0 {
		return fmt.Errorf("it has been opened %d times, more than a token can tell: %w", f.leases.epoch-1, frontier.ErrDamaged)
	}
	if err := f.writeOpening(); err != nil {
		return err
	}
	f.restart()
	return nil
}

// writeOpening writes the new epoch and, in the same transaction, the findings of the opening.
func (f *Frontier) writeOpening() error {
	f.groups.seal(f.clock.Now())
	err := dbfile.Update(f.db, func(tx *bbolt.Tx) error {
		if err := layout.WriteEpoch(tx, f.clock, f.leases.epoch); err != nil || len(f.groups.queue) == 0 {
			return err
		}
		return f.writer.write(tx, f.groups.queue[0])
	})
	if err != nil {
		return fmt.Errorf("%w: %s, then continue: acknowledged work is in the file", err, dbfile.Advice(err))
	}
	if err := f.writer.measure(f.db); err != nil {
		return err
	}
	f.caps.size = f.writer.size
	if len(f.groups.queue) > 0 {
		f.writer.unfolded += int64(len(f.groups.queue[0].done))
		f.writer.settle(f.groups.queue[0], nil)
	}
	return nil
}

// restart prepares the hosts for a run: it opens retired ones, and none is due before the stored time, the pace and the
// floor are over.
func (f *Frontier) restart() {
	now := f.clock.Now()
	f.hosts.floor = floor{f.options, now, f.oldFloor}
	if f.unclean {
		f.hosts.floor.until = layout.After(now, f.options.Pace)
		f.careful = f.hosts.sums.known + frontier.GroupPages
	}
	f.caps.checkSize()
	for _, h := range f.hosts.all {
		if h == nil {
			continue
		}
		if h.domain = f.hosts.domain(h.authority); h.domain != nil {
			h.domain.urls += int64(h.accepted())
		}
		f.hosts.count(h, -1)
		if h.Condition == frontier.Retired {
			h.Condition, h.Reason = frontier.Open, ""
		}
		f.hosts.count(h, 1)
		f.scheduler.watch(h)
		if h.Pace > 0 {
			h.wait(now, h.Pace)
		}
		h.NotBefore = max(h.NotBefore, f.hosts.floor.of(h.authority))
		f.scheduler.enter(h, now)
	}
	f.dropAgain(now)
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
		return err // a Close might never return; the file is released when the process ends
	}
	if cerr := f.db.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("frontier/bolt: close %s: %w", f.path, cerr)
	}
	return err
}

// load reads the file into RAM: one pass over the seen journal, two over the states and the heads of the records, and
// one over the endings. Nobody else has the frontier yet, so loading needs no mu.
func (f *Frontier) load(tx *bbolt.Tx) error {
	m, t, err := layout.ReadMeta(tx, f.clock)
	if err != nil {
		return err
	}
	f.printer = layout.NewPrinter(m.Secret)
	f.leases.epoch, f.unclean, *f.totals = m.Epoch, !m.Clean, *t
	f.oldFloor, f.clock, f.caps.size = m.Floor, m.Clock, tx.Size()
	if f.writer.zip, f.blocks.Zip, err = layout.NewZip(); err != nil {
		return err
	}
	if !f.readOnly {
		if err := f.loadSeen(tx); err != nil {
			return err
		}
	}
	if err := f.loadStates(tx); err != nil {
		return err
	}
	return f.loadRecords(tx)
}

func (f *Frontier) loadSeen(tx *bbolt.Tx) error {
	n := 0
	c := tx.Bucket([]byte(layout.SeenJournal)).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		n += len(v) / 8
	}
	f.seen.Reserve(n)
	return layout.ReadWords(tx, layout.SeenJournal, func(p frontier.Fingerprint) error {
		f.seen.Add(p)
		return nil
	})
}

// loadStates reads hosts and retries. The last record of an address counts.
func (f *Frontier) loadStates(tx *bbolt.Tx) error {
	w := &f.writer.sweeper
	err := layout.StateJournal.Each(tx, func(seq uint64, body []byte) error {
		w.Bytes += int64(len(body))
		return layout.EachState(body, func(c layout.StateRecord) error { return f.loadState(c, seq) })
	})
	if err != nil {
		return err
	}
	err = layout.StateJournal.Each(tx, func(seq uint64, body []byte) error { // again, now that the current records are known
		return layout.EachState(body, func(c layout.StateRecord) error {
			if at := f.at(c.Address); at != nil && *at == seq {
				w.Base += int64(len(c.Data))
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for id, h := range f.hosts.all {
		if h == nil {
			continue
		}
		if h.authority.IsZero() {
			return fmt.Errorf("read %s: host %d has no name: %w", layout.StateJournal, id, frontier.ErrDamaged)
		}
		if f.hosts.byName[h.authority] != nil {
			return fmt.Errorf("read %s: %s is there twice: %w", layout.StateJournal, h.authority, frontier.ErrDamaged)
		}
		f.hosts.byName[h.authority] = h
		f.hosts.count(h, 1)
	}
	return nil
}

func (f *Frontier) loadState(c layout.StateRecord, seq uint64) error {
	if c.Kind == layout.KindRetry {
		t, ok := layout.ParseRetry(c.Data, f.clock)
		switch {
		case !ok:
			return fmt.Errorf("retry of %d: %w", c.ID, frontier.ErrDamaged)
		case t.Void():
			delete(f.retries.of, layout.Ref(c.ID))
		default:
			f.retries.of[layout.Ref(c.ID)] = &retry{Retry: t, at: seq}
		}
		return nil
	}
	h, err := f.loadHost(c.ID)
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
		if h.HostState, ok = layout.ParseHostState(c.Data, f.clock); !ok {
			return fmt.Errorf("state of host %d: %w", c.ID, frontier.ErrDamaged)
		}
		h.outcomes[frontier.Dropped] = h.Refused
	}
	return nil
}

func (f *Frontier) loadHost(id uint64) (*host, error) {
	if id >= layout.MaxHosts {
		return nil, fmt.Errorf("host %d: %w", id, frontier.ErrDamaged)
	}
	for id >= uint64(len(f.hosts.all)) {
		f.hosts.all = append(f.hosts.all, nil)
	}
	if f.hosts.all[id] == nil {
		f.hosts.all[id] = &host{id: uint32(id), named: true, queue: newQueue(f.hosts.deep)}
	}
	return f.hosts.all[id], nil
}

// loadRecords fills the queues with the pending tasks, and counts the closed ones.
func (f *Frontier) loadRecords(tx *bbolt.Tx) error {
	w := &f.writer
	sizes, err := layout.ReadSizes(tx)
	if err != nil {
		return err
	}
	w.sizes, f.groups.records = sizes, uint64(len(sizes))
	all := layout.NewEndings(w.sizes)
	if w.folded, w.unfolded, err = all.Read(tx); err != nil {
		return err
	}
	if err := f.judge(tx, all); err != nil {
		return err
	}
	f.caps.accepted = int64(len(all.All))
	var spans []layout.Span
	err = layout.RecordJournal.Each(tx, func(seq uint64, body []byte) (err error) {
		if spans, _, err = layout.ParseHead(body, spans[:0]); err != nil {
			return err
		}
		return f.loadSpans(seq, spans, all.Record(seq))
	})
	if err != nil {
		return err
	}
	for r := range f.retries.of {
		if at := all.Of(r); at == nil || *at != 0 {
			delete(f.retries.of, r) // closed since
		}
	}
	return nil
}

func (f *Frontier) loadSpans(record uint64, spans []layout.Span, endings []layout.Ending) error {
	place := 0
	for _, s := range spans {
		if s.Host >= uint32(len(f.hosts.all)) || f.hosts.all[s.Host] == nil {
			return fmt.Errorf("host %d is unknown: %w", s.Host, frontier.ErrDamaged)
		}
		h := f.hosts.all[s.Host]
		f.hosts.count(h, -1)
		for range s.N {
			r, e := layout.MakeRef(record, place), endings[place]
			place++
			if e != 0 {
				h.outcomes[e.Outcome()]++
				continue
			}
			f.loadPending(h, r)
		}
		f.hosts.count(h, 1)
	}
	return nil
}

func (f *Frontier) loadPending(h *host, r layout.Ref) {
	t := f.retries.of[r]
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
		f.suspects.known++
		h.queue.GiveSuspect(r)
	case t.deferred():
		h.queue.GiveLater(r, t.Due, t.Attempts > 0)
	default:
		h.queue.Push(r)
	}
}

// judge makes suspects of the tasks in flight at an unclean stop, and quarantines those that were alone too often. Open
// commits the open group together with the new epoch: so a stop counts once, however often the opening itself is cut
// off.
func (f *Frontier) judge(tx *bbolt.Tx, all *layout.Endings) error {
	r, stored, err := layout.ReadInFlight(tx)
	if err != nil {
		return err
	}
	f.groups.inFlight = stored
	if err := all.Check(r); err != nil {
		return err
	}
	if f.readOnly || r.Leases == 0 && len(r.Refs) == 0 {
		return nil
	}
	now := f.clock.Now()
	f.groups.touch(now) // the record is to be cleared
	if !f.unclean {
		return nil
	}
	for _, x := range r.Refs {
		e, t := all.Of(x), f.retries.of[x]
		if *e != 0 || t != nil && t.Dropped {
			continue // closed by the commit that recorded it, or about to be by dropAgain
		}
		if t == nil {
			t = &retry{}
			f.retries.of[x] = t
		}
		t.stop(r)
		if t.condemned() {
			*e = f.totals.Close(frontier.Failed, frontier.ReasonQuarantined)
			f.groups.open.done = append(f.groups.open.done, layout.MakeDone(x, *e))
			f.quarantined = append(f.quarantined, x)
			continue
		}
		f.groups.open.keep(t.StateRecord(x, f.clock, now))
	}
	return nil
}

// Frontier is the embedded engine. See the package comment.
//
// The methods of its parts are called with mu held unless their comments state otherwise. No part takes mu, except the
// writer.
type Frontier struct {
	path     string
	options  frontier.Options
	readOnly bool
	db       *bbolt.DB

	clock       layout.Clock
	printer     *layout.Printer
	unclean     bool         // the stop before it was not a Close
	quarantined []layout.Ref // by this opening
	oldFloor    int64        // rest of the floor of the run before

	mu     sync.Mutex
	err    error // why the engine is poisoned
	closed bool

	commands chan struct{} // holds one: the caller in Retry or Steer

	totals    *layout.Totals
	seen      dbfile.Set    // has this URL been seen? looked at without mu
	hosts     hosts         // which authorities are known?
	retries   retries       // the history of tasks that were claimed before
	leases    leases        // which turns are out?
	suspects  suspects      // may a suspect be tried?
	waiting   waiters       // which claims wait?
	scheduler scheduler     // whose turn is it, and when?
	caps      caps          // is there room?
	groups    groups        // applied changes that are not durable
	careful   int64         // results until turns are given before their record is durable
	blocks    layout.Blocks // texts, read for turns; without mu
	writer    writer        // makes groups durable: the one goroutine
}

var _ frontier.Stored = (*Frontier)(nil)

// newFrontier returns an empty frontier whose parts are connected.
func newFrontier(path string, db *bbolt.DB, o frontier.Options) *Frontier {
	if o.LeaseLength == 0 {
		o.LeaseLength = leaseLength
	}
	f := &Frontier{
		path: path, options: o, db: db, clock: layout.Clock{Began: time.Now()}, totals: layout.NewTotals(),
		commands: make(chan struct{}, 1),
	}
	f.hosts = hosts{
		byName: map[canon.Authority]*host{}, domains: map[string]*domain{},
		perDomain: o.MaxURLsPerDomain > 0, deep: o.Order == frontier.DepthFirst,
	}
	f.retries = retries{of: map[layout.Ref]*retry{}}
	f.leases = leases{hosts: &f.hosts, length: o.LeaseLength}
	f.suspects = suspects{retries: &f.retries, leases: &f.leases}
	f.groups = groups{
		clock: &f.clock, totals: f.totals, leases: &f.leases,
		fresh: map[uint64]*layout.Record{}, unwritten: map[layout.Address]*layout.StateRecord{}, work: make(chan struct{}, 1),
	}
	f.caps = caps{options: o, hosts: &f.hosts, groups: &f.groups, waiting: &f.waiting}
	f.scheduler = scheduler{
		hosts: &f.hosts, leases: &f.leases, suspects: &f.suspects, waiting: &f.waiting, caps: &f.caps, groups: &f.groups,
	}
	f.writer = writer{f: f, stop: func() {}, stopped: make(chan struct{})}
	return f
}

// usable returns why f takes no calls, or nil. The caller holds mu.
func (f *Frontier) usable() error {
	switch {
	case f.err != nil:
		return f.err
	case f.closed:
		return frontier.ErrClosed
	}
	return nil
}

// poison makes err the answer to every later call: RAM is ahead of the disk, or the disk cannot be trusted. The caller
// holds mu.
func (f *Frontier) poison(err error) {
	if f.err == nil {
		f.err = err
	}
	f.waiting.wakeAll()
	f.groups.wakeWriter()
}

// at returns the place of a state record, or nil when nothing has that address. The caller holds mu.
func (f *Frontier) at(a layout.Address) *uint64 {
	if a.Kind == layout.KindRetry {
		if t := f.retries.of[layout.Ref(a.ID)]; t != nil {
			return &t.at
		}
		return nil
	}
	if a.ID < uint64(len(f.hosts.all)) && f.hosts.all[a.ID] != nil {
		return &f.hosts.all[a.ID].at[a.Kind-1]
	}
	return nil
}
