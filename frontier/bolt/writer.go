package bolt

import (
	"context"
	"fmt"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"

	"go.etcd.io/bbolt"
)

// writer makes groups durable, one after the other. Its fields are those of its goroutine alone, which takes mu for
// what else it needs and never holds it while it reads or writes the file.
type writer struct {
	f       *Frontier
	stop    context.CancelFunc // ends it at once, barrier included
	stopped chan struct{}      // closed when it has ended

	zip      *layout.Zipper
	sweeper  layout.Sweeper
	sizes    layout.Sizes
	folded   int64 // words that the folded journal stands for
	unfolded int64 // words of the done journal
	lastSeed uint64
	size     int64 // of the file, after the last commit
}

// run commits groups until f is closed or poisoned. It is the only goroutine of a frontier.
func (w *writer) run(ctx context.Context) {
	defer close(w.stopped)
	for {
		g := w.nextGroup(ctx)
		if g == nil {
			w.abandon()
			return
		}
		err := w.commit(ctx, g)
		if ctx.Err() != nil {
			w.abandon()
			return
		}
		w.settle(g, err)
	}
}

// nextGroup waits for a group to commit: one that is sealed, or the open one when it is urgent or old enough. It
// returns nil when there will be none.
func (w *writer) nextGroup(ctx context.Context) *group {
	for {
		w.f.mu.Lock()
		now := w.f.clock.Now()
		g := w.f.groups.open
		if g != nil && (g.urgent || w.f.groups.closing || now-g.since >= flushAfter) {
			w.f.groups.seal(now)
		}
		var alarm <-chan time.Time
		switch {
		case w.f.err != nil || ctx.Err() != nil || w.f.groups.closing && len(w.f.groups.queue) == 0:
			w.f.mu.Unlock()
			return nil
		case len(w.f.groups.queue) > 0:
			g := w.f.groups.queue[0]
			w.f.mu.Unlock()
			return g
		case w.f.groups.open != nil:
			alarm = time.After(time.Duration(flushAfter - (now - w.f.groups.open.since)))
		}
		w.f.mu.Unlock()
		select {
		case <-w.f.groups.work:
		case <-alarm:
		case <-ctx.Done():
		}
	}
}

// commit makes g durable: what it relies on first, then g in one transaction.
func (w *writer) commit(ctx context.Context, g *group) error {
	if err := w.tellDrops(ctx, g); err != nil {
		return err
	}
	if w.f.options.Barrier != nil {
		if err := w.f.options.Barrier(ctx); err != nil {
			return fmt.Errorf("frontier/bolt: commit %s: barrier: %w", w.f.path, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, r := range g.records {
		w.sizes = append(w.sizes, uint8(len(r.Entries)-1))
	}
	w.unfolded += int64(len(g.done))
	fold := w.unfolded >= layout.FoldAt(w.folded) && w.mayFold(w.f.options.MaxSize)
	err := dbfile.Update(w.f.db, func(tx *bbolt.Tx) error {
		if err := w.write(tx, g); err != nil || !fold {
			return err
		}
		if err := w.fold(tx); err != nil {
			return err
		}
		return layout.Stamp(tx, w.f.clock)
	})
	if err == nil {
		err = w.measure(w.f.db)
	}
	if err != nil {
		return dbfile.WriteError("commit", w.f.path, err)
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
func (w *writer) settle(g *group, err error) {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	if err != nil {
		w.f.poison(err)
		return
	}
	w.f.groups.settled()
	for _, p := range w.sweeper.Placed {
		if at := w.f.at(p.Address); at != nil {
			*at = p.Seq
		}
	}
	for _, r := range g.retired {
		if w.f.retries.of[r.ref] == r.retry {
			delete(w.f.retries.of, r.ref)
		}
	}
	w.f.groups.lastSeed, w.f.caps.size = w.lastSeed, w.size
	w.f.caps.checkSize()
	close(g.ended)
}

// abandon tells those who wait for groups that will not be committed.
func (w *writer) abandon() {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	groups := w.f.groups.queue
	if w.f.groups.open != nil {
		groups = append(groups, w.f.groups.open)
	}
	for _, g := range groups {
		g.err = w.f.usable()
		close(g.ended)
	}
}

// mayFold reports whether a fold leaves a file of that size within its bound: as runs, each word takes at most its
// three bytes and its number, and as much again for what is pending after it; a record without words takes three.
func (w *writer) mayFold(maxSize int64) bool {
	if maxSize == 0 {
		return true
	}
	most := 8*(w.folded+w.unfolded) + 3*int64(len(w.sizes))
	return w.size+most+most/8+reservePages <= maxSize
}

// write writes the group in tx.
func (w *writer) write(tx *bbolt.Tx, g *group) error {
	if err := layout.WritePrints(tx, g.prints); err != nil {
		return err
	}
	var body []byte
	for _, r := range g.records {
		body = r.AppendTo(body[:0], w.zip)
		seq, err := layout.RecordJournal.Append(tx, body)
		if err != nil {
			return err
		}
		if seq != r.ID {
			return fmt.Errorf("record %d got the key %d: %w", r.ID, seq, frontier.ErrDamaged)
		}
	}
	if err := layout.WriteDone(tx, g.done); err != nil {
		return err
	}
	if err := w.sweeper.Commit(tx, g.states, w.counts); err != nil {
		return err
	}
	if err := layout.WriteSeeds(tx, g.seeds); err != nil {
		return err
	}
	w.lastSeed = layout.SeedJournal.Last(tx)
	if err := layout.WriteBlobs(tx, g.blobs); err != nil {
		return err
	}
	if err := layout.WriteInFlight(tx, g.inFlight); err != nil {
		return err
	}
	if err := layout.WriteTotalsBody(tx, g.totals); err != nil {
		return err
	}
	return layout.Stamp(tx, w.f.clock)
}

// counts tells the sweeper which state records still count.
func (w *writer) counts(ps []layout.Placed) []bool {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	yes := make([]bool, len(ps))
	for i, p := range ps {
		at := w.f.at(p.Address)
		yes[i] = at != nil && *at == p.Seq
	}
	return yes
}

// tellDrops has it told what g closes for an operator.
func (w *writer) tellDrops(ctx context.Context, g *group) error {
	if w.f.options.Tell == nil || len(g.drops.tasks)+len(g.drops.hosts) == 0 {
		return nil
	}
	told := frontier.Closings{Hosts: g.drops.hosts}
	err := w.f.db.View(func(tx *bbolt.Tx) error {
		records := layout.Lookup{Tx: tx, Journal: layout.RecordJournal}
		for _, t := range g.drops.tasks {
			c, err := w.candidateOf(&records, t)
			if err != nil {
				return err
			}
			told.URLs = append(told.URLs, c)
		}
		return nil
	})
	if err == nil {
		err = w.f.options.Tell(ctx, told)
	}
	if err != nil {
		return fmt.Errorf("frontier/bolt: commit %s: report dropped URLs: %w", w.f.path, err)
	}
	return nil
}

// candidateOf returns a URL as it was accepted, from the file, unless it is to be written yet.
func (w *writer) candidateOf(records *layout.Lookup, t storedURL) (frontier.Candidate, error) {
	w.f.mu.Lock()
	a, fresh := w.f.hosts.all[t.host].authority, w.f.groups.fresh[t.ref.Record()]
	if fresh != nil {
		defer w.f.mu.Unlock()
		return fresh.Entries[t.ref.Place()], nil
	}
	w.f.mu.Unlock()
	return w.f.texts.blocks.Entry(records, t.ref, a)
}
