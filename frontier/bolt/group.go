package bolt

import (
	"bytes"
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// group is what one transaction commits: it is applied to RAM piece by piece, sealed, and then only written.
type group struct {
	since  int64 // when its first piece was applied; the delay of the commit is counted from there
	pages  int   // results
	urgent bool  // somebody waits for it

	prints  []frontier.Fingerprint
	records []*layout.Record
	done    []layout.Done
	retired []retired // of closed tasks that had been deferred
	cells   []*layout.StateRecord
	seeds   []frontier.Seed
	blobs   []layout.Blob
	dirty   []*host
	untold  untold
	totals  []byte // set when it is sealed
	flight  []byte // likewise; nil when it is what it was
	octets  int64  // that it will add to the file, roughly

	ended chan struct{} // closed when it is durable, or will never be
	err   error         // why it will never be; set before ended is closed
}

// retired is what was kept of a deferred task that is closed. The task may be deferred anew before the group is durable,
// if an operator has it tried again: that is another retry.
type retired struct {
	ref   layout.Ref
	retry *retry
}

const (
	maxQueued  = 8       // sealed groups beyond which Finish waits for the disk
	maxPrints  = 1 << 16 // URLs of a group
	flushAfter = int64(frontier.GroupDelay)
)

// touch returns the open group, to put something into it. The caller holds mu.
func (f *Frontier) touch(now int64) *group {
	if f.open == nil {
		f.open = &group{since: now, ended: make(chan struct{})}
		f.prod()
	}
	return f.open
}

// change marks h: its state is written with the group.
func (g *group) change(h *host) {
	if !h.dirty {
		h.dirty = true
		g.dirty = append(g.dirty, h)
	}
}

// store puts a robots state or memory into the group, from where it is read until it is on disk.
func (g *group) store(f *Frontier, c *layout.StateRecord) {
	g.keep(c)
	f.unwritten[c.Address] = c
}

// seal closes the open group, if there is one, and queues it for the writer. The caller holds mu.
func (f *Frontier) seal(now int64) {
	g := f.open
	if g == nil {
		return
	}
	for _, h := range g.dirty {
		h.dirty = false
		if !h.named {
			h.named = true
			g.cells = append(g.cells, &layout.StateRecord{Address: layout.Address{Kind: layout.KindName, ID: uint64(h.id)}, Data: []byte(h.authority.String())})
		}
		g.cells = append(g.cells, h.state(f.clock, now))
	}
	g.totals = f.totals.AppendTo(nil)
	if flight := f.inFlight(); !bytes.Equal(flight, f.flight) {
		f.flight, g.flight = flight, flight
	}
	f.queue = append(f.queue, g)
	f.open, f.filling = nil, nil
	f.prod()
}

// sealFull seals the open group when it is as large as a transaction should be.
func (f *Frontier) sealFull(now int64) {
	if f.open.pages >= frontier.GroupPages || len(f.open.prints) >= maxPrints {
		f.seal(now)
	}
}

// prod tells the writer to look again.
func (f *Frontier) prod() {
	select {
	case f.work <- struct{}{}:
	default:
	}
}

// last returns the group that holds the latest of what has been applied and is not durable, nil when all is; with
// urgent it is to be committed at once. The caller holds mu.
func (f *Frontier) last() *group {
	if f.open != nil {
		f.open.urgent = true
		f.prod()
		return f.open
	}
	if n := len(f.queue); n > 0 {
		return f.queue[n-1]
	}
	return nil
}

// durable waits until g is. Nil is.
func (g *group) durable(ctx context.Context) error {
	if g == nil {
		return nil
	}
	select {
	case <-g.ended:
		return g.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Sync implements frontier.Frontier.
func (f *Frontier) Sync(ctx context.Context) error {
	var g *group
	err := f.changing(ctx, func(int64) error {
		g = f.last()
		return nil
	})
	if err != nil {
		return err
	}
	return g.durable(ctx)
}

// write writes the group in tx.
func (f *Frontier) write(tx *bbolt.Tx, g *group) error {
	if err := layout.WritePrints(tx, g.prints); err != nil {
		return err
	}
	var body []byte
	for _, r := range g.records {
		body = r.AppendTo(body[:0], f.writer.zip)
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
	if err := f.writer.sweeper.Commit(tx, g.cells, f.counts); err != nil {
		return err
	}
	if err := layout.WriteSeeds(tx, g.seeds); err != nil {
		return err
	}
	f.writer.lastSeed = layout.SeedJournal.Last(tx)
	if err := layout.WriteBlobs(tx, g.blobs); err != nil {
		return err
	}
	if err := layout.WriteInFlight(tx, g.flight); err != nil {
		return err
	}
	if err := layout.WriteTotalsBody(tx, g.totals); err != nil {
		return err
	}
	return layout.Stamp(tx, f.clock)
}
