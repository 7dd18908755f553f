package bolt

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
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
