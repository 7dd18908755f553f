package bolt

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// leaseLength is what Options.LeaseLength zero means.
const leaseLength = 40 * time.Minute

// Open opens the frontier in the file at path, or creates it. Everything that a crawl needs at hand is read into RAM;
// that the frontier has been opened is durable when Open returns. Errors are ErrInUse, ErrNewer and ErrDamaged, or
// those of the file system; after an error nothing has been changed.
func Open(path string, o frontier.Options) (*Frontier, error) {
	if o.LeaseLength < 0 || o.Pace < 0 || o.MaxURLs < 0 || o.MaxURLsPerAuthority < 0 {
		return nil, fmt.Errorf("frontier/bolt: open %s: an option is negative: %+v", path, o)
	}
	db, err := openFile(path, false)
	if err != nil {
		return nil, err
	}
	f := newFrontier(path, db, o)
	if err := guard(f.openRun); err != nil {
		db.Close()
		return nil, openError(path, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	go f.run(ctx) // Close waits for it
	return f, nil
}

// OpenReadOnly opens the file without taking part in a crawl, for a look at one that is stopped. Stats, Seen, Seeds,
// Blob, Host and Hosts work; Hosts and Stats tell what is stored, before a new run has opened what was retired. All
// else is answered with ErrReadOnly. Several processes may do so at a time, none while a crawl runs (ErrInUse).
func OpenReadOnly(path string) (*Frontier, error) {
	db, err := openFile(path, true)
	if err != nil {
		return nil, err
	}
	f := newFrontier(path, db, frontier.Options{})
	f.readOnly = true
	f.stop = func() {}
	close(f.stopped)
	err = guard(func() error {
		return db.View(func(tx *bbolt.Tx) error { return f.load(tx) })
	})
	if err != nil {
		db.Close()
		return nil, openError(path, err)
	}
	now := f.clock.now()
	for _, h := range f.hosts {
		if h != nil {
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
		clock:     clock{began: time.Now()},
		stopped:   make(chan struct{}),
		work:      make(chan struct{}, 1),
		retrying:  make(chan struct{}, 1),
		byName:    map[canon.Authority]*host{},
		retries:   map[ref]*retry{},
		fresh:     map[uint64]*record{},
		unwritten: map[address]*cell{},
	}
}

// openRun reads the file, or makes it, and begins a run.
func (f *Frontier) openRun() error {
	var empty bool
	if err := f.db.View(func(tx *bbolt.Tx) error { empty = isEmpty(tx); return nil }); err != nil {
		return err
	}
	if empty {
		if err := f.db.Update(create); err != nil {
			return err
		}
	}
	if err := f.db.View(f.load); err != nil {
		return err
	}
	f.epoch++
	if f.epoch>>32 != 0 {
		return fmt.Errorf("it has been opened %d times, more than a token can tell: %w", f.epoch-1, ErrDamaged)
	}
	if err := f.db.Update(func(tx *bbolt.Tx) error { return writeEpoch(tx, f.epoch) }); err != nil {
		return err
	}
	f.restart()
	return nil
}

// restart sets the hosts for a run: what was retired takes part again, and nobody is asked before the stored time or
// the pace is over. After an unclean stop an authority of which no pace is known waits Options.Pace, also one that is
// not known yet: it may have been found and asked just before, and both have been lost. That floor is not written for
// each host; a Close before it is reached leaves the rest of it to the next run.
func (f *Frontier) restart() {
	now := f.clock.now()
	if f.unclean {
		f.floor = after(now, f.options.Pace)
	}
	for _, h := range f.hosts {
		if h == nil {
			continue
		}
		f.count(h, -1)
		if h.condition == frontier.Retired {
			h.condition, h.reason = frontier.Open, ""
		}
		f.count(h, 1)
		if h.pace > 0 {
			h.wait(now, h.pace)
		} else {
			h.notBefore = max(h.notBefore, f.floor, f.oldFloor)
		}
		f.enter(h, now)
	}
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
		err = guard(func() error {
			return f.db.Update(func(tx *bbolt.Tx) error { return writeClean(tx, f.clock, floor) })
		})
		if err != nil {
			err = fmt.Errorf("frontier/bolt: close %s: mark the stop as clean: %w", f.path, err)
		}
	}
	if cerr := f.db.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("frontier/bolt: close %s: %w", f.path, cerr)
	}
	return err
}
