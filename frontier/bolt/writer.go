package bolt

import (
	"context"
	"fmt"
	"slices"
	"time"

	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"

	"go.etcd.io/bbolt"
)

// writer is what the goroutine that commits has for itself.
type writer struct {
	zip      *layout.Zipper
	sweeper  layout.Sweeper
	sizes    layout.Sizes
	folded   int64 // words that the folded journal stands for
	unfolded int64 // words of the done journal
	lastSeed uint64
	size     int64 // of the file, after the last commit
}

// run commits groups until f is closed or poisoned. It is the only goroutine of a frontier.
func (f *Frontier) run(ctx context.Context) {
	defer close(f.stopped)
	for {
		g := f.nextGroup(ctx)
		if g == nil {
			f.abandon()
			return
		}
		err := f.commit(ctx, g)
		if ctx.Err() != nil {
			f.abandon()
			return
		}
		f.settle(g, err)
	}
}

// nextGroup waits for a group to commit: one that is sealed, or the open one when it is urgent or old enough. It
// returns nil when there will be none.
func (f *Frontier) nextGroup(ctx context.Context) *group {
	for {
		f.mu.Lock()
		now := f.clock.Now()
		if f.open != nil && (f.open.urgent || f.closing || now-f.open.since >= flushAfter) {
			f.seal(now)
		}
		var alarm <-chan time.Time
		switch {
		case f.err != nil || ctx.Err() != nil || f.closing && len(f.queue) == 0:
			f.mu.Unlock()
			return nil
		case len(f.queue) > 0:
			g := f.queue[0]
			f.mu.Unlock()
			return g
		case f.open != nil:
			alarm = time.After(time.Duration(flushAfter - (now - f.open.since)))
		}
		f.mu.Unlock()
		select {
		case <-f.work:
		case <-alarm:
		case <-ctx.Done():
		}
	}
}

// commit makes g durable: what it relies on first, then g in one transaction.
func (f *Frontier) commit(ctx context.Context, g *group) error {
	if err := f.tellDropped(ctx, g); err != nil {
		return err
	}
	if f.options.Barrier != nil {
		if err := f.options.Barrier(ctx); err != nil {
			return fmt.Errorf("frontier/bolt: commit %s: barrier: %w", f.path, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &f.writer
	for _, r := range g.records {
		w.sizes = append(w.sizes, uint8(len(r.Entries)-1))
	}
	w.unfolded += int64(len(g.done))
	fold := w.unfolded >= layout.FoldAt(w.folded) && w.mayFold(f.options.MaxSize)
	err := dbfile.Update(f.db, func(tx *bbolt.Tx) error {
		if err := f.write(tx, g); err != nil || !fold {
			return err
		}
		if err := w.fold(tx); err != nil {
			return err
		}
		return layout.Stamp(tx, f.clock)
	})
	if err == nil {
		err = w.measure(f.db)
	}
	if err != nil {
		return dbfile.WriteError("commit", f.path, err)
	}
	return nil
}

// measure finds the high-water mark.
func (w *writer) measure(db *bbolt.DB) error {
	return db.View(func(tx *bbolt.Tx) error {
		w.size = tx.Size()
		return nil
	})
}

// fold folds the done journal.
func (w *writer) fold(tx *bbolt.Tx) error {
	all := layout.NewEndings(w.sizes)
	if _, _, err := all.Read(tx); err != nil {
		return err
	}
	if err := all.Fold(tx); err != nil {
		return err
	}
	w.folded, w.unfolded = w.folded+w.unfolded, 0
	return nil
}

// settle takes g out of the queue after its commit. From now on it is read from disk.
func (f *Frontier) settle(g *group, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.poison(err)
		return
	}
	f.queue = slices.Delete(f.queue, 0, 1)
	for _, r := range g.records {
		delete(f.fresh, r.ID)
	}
	for _, p := range f.writer.sweeper.Placed {
		if at := f.at(p.Address); at != nil {
			*at = p.Seq
		}
	}
	for _, c := range g.cells {
		if f.unwritten[c.Address] == c {
			delete(f.unwritten, c.Address)
		}
	}
	for _, r := range g.retired {
		if f.retries[r.ref] == r.retry {
			delete(f.retries, r.ref)
		}
	}
	f.lastSeed, f.size = f.writer.lastSeed, f.writer.size
	f.gauge()
	close(g.ended)
}

// abandon tells those who wait for groups that will not be committed.
func (f *Frontier) abandon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	groups := f.queue
	if f.open != nil {
		groups = append(groups, f.open)
	}
	for _, g := range groups {
		g.err = f.usable()
		close(g.ended)
	}
}
