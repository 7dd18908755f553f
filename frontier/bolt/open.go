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
// that the frontier has been opened is durable when Open returns. Errors are ErrInUse, ErrNewer, ErrOlder and ErrDamaged,
// or those of the file system; after an error nothing has been changed.
func Open(path string, o frontier.Options) (*Frontier, error) {
	if o.LeaseLength < 0 || o.Pace < 0 || min(o.MaxURLs, o.MaxURLsPerDomain, o.MaxURLsPerAuthority, o.MaxSize) < 0 {
		return nil, fmt.Errorf("frontier/bolt: open %s: an option is negative: %+v", path, o)
	}
	if o.Order > frontier.DepthFirst {
		return nil, fmt.Errorf("frontier/bolt: open %s: there is no order %d", path, o.Order)
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
	f.stop = stop
	go f.run(ctx) // Close waits for it
	return f, nil
}

// OpenReadOnly opens the file without taking part in a crawl, for a look at one that is stopped. Stats, Seen, Seeds,
// Blob, Host, Hosts, Survey, Export and Snapshot work; Hosts and Stats tell what is stored, before a new run has opened what was retired. All
// else is answered with ErrReadOnly. Several processes may do so at a time, none while a crawl runs (ErrInUse).
func OpenReadOnly(path string) (*Frontier, error) {
	db, err := dbfile.OpenReadOnly(path)
	if err != nil {
		return nil, err
	}
	f := newFrontier(path, db, frontier.Options{})
	f.readOnly = true
	f.stop = func() {}
	close(f.stopped)
	err = dbfile.Guard(func() error {
		return db.View(func(tx *bbolt.Tx) error { return f.load(tx) })
	})
	if err != nil {
		db.Close()
		return nil, dbfile.OpenError(path, err)
	}
	now := f.clock.Now()
	for _, h := range f.hosts {
		if h != nil {
			f.watch(h)
			f.enter(h, now)
		}
	}
	return f, nil
}

func newFrontier(path string, db *bbolt.DB, o frontier.Options) *Frontier {
	if o.LeaseLength == 0 {
		o.LeaseLength = leaseLength
	}
	return &Frontier{
		path: path, options: o, db: db,
		clock:     layout.Clock{Began: time.Now()},
		stopped:   make(chan struct{}),
		work:      make(chan struct{}, 1),
		retrying:  make(chan struct{}, 1),
		byName:    map[canon.Authority]*host{},
		retries:   map[layout.Ref]*retry{},
		domains:   map[string]*domain{},
		fresh:     map[uint64]*layout.Record{},
		unwritten: map[layout.Address]*layout.StateRecord{},
	}
}

// openRun reads the file, or makes it, and begins a run.
func (f *Frontier) openRun() error {
	var empty bool
	if err := f.db.View(func(tx *bbolt.Tx) error { empty = layout.IsEmpty(tx); return nil }); err != nil {
		return err
	}
	if empty {
		if err := dbfile.Update(f.db, layout.Create); err != nil {
			return err
		}
	}
	if err := f.db.View(f.load); err != nil {
		return err
	}
	f.epoch++
	if f.epoch>>32 != 0 {
		return fmt.Errorf("it has been opened %d times, more than a token can tell: %w", f.epoch-1, frontier.ErrDamaged)
	}
	if err := f.writeOpening(); err != nil {
		return err
	}
	f.restart()
	return nil
}

// writeOpening writes the new epoch and, in the same transaction, what the opening has found.
func (f *Frontier) writeOpening() error {
	f.seal(f.clock.Now())
	err := dbfile.Update(f.db, func(tx *bbolt.Tx) error {
		if err := layout.WriteEpoch(tx, f.clock, f.epoch); err != nil || len(f.queue) == 0 {
			return err
		}
		return f.write(tx, f.queue[0])
	})
	if err != nil {
		return fmt.Errorf("%w: %s, then go on: what was acknowledged is in the file", err, dbfile.Advice(err))
	}
	if err := f.writer.measure(f.db); err != nil {
		return err
	}
	f.size = f.writer.size
	if len(f.queue) > 0 {
		f.writer.unfolded += int64(len(f.queue[0].done))
		f.settle(f.queue[0], nil)
	}
	return nil
}

// restart sets the hosts for a run: what was retired takes part again, and nobody is asked before the stored time or
// the pace is over. After an unclean stop an authority of which no pace is known waits Options.Pace, also one that is
// not known yet: it may have been found and asked just before, and both have been lost. That floor is not written for
// each host; a Close before it is reached leaves the rest of it to the next run.
func (f *Frontier) restart() {
	now := f.clock.Now()
	if f.unclean {
		f.floor = layout.After(now, f.options.Pace)
		f.careful = f.scheduler.known + frontier.GroupPages
	}
	f.gauge()
	for _, h := range f.hosts {
		if h == nil {
			continue
		}
		if h.domain = f.domain(h.authority); h.domain != nil {
			h.domain.urls += int64(h.accepted())
		}
		f.count(h, -1)
		if h.condition == frontier.Retired {
			h.condition, h.reason = frontier.Open, ""
		}
		f.count(h, 1)
		f.watch(h)
		if h.pace > 0 {
			h.wait(now, h.pace)
		} else {
			h.notBefore = max(h.notBefore, f.floor, f.oldFloor)
		}
		f.enter(h, now)
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
	f.closed, f.closing = true, true
	f.wakeAll()
	f.prod()
	f.mu.Unlock()
	<-f.stopped
	f.stop()
	f.mu.Lock()
	err, floor := f.err, max(f.floor, f.oldFloor)
	f.mu.Unlock()
	if err == nil && !f.readOnly {
		err = dbfile.Update(f.db, func(tx *bbolt.Tx) error { return layout.WriteClean(tx, f.clock, floor) })
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
