package bolt

import (
	"context"

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

// change marks h: its state is written with the group.
func (g *group) change(h *host) {
	if !h.dirty {
		h.dirty = true
		g.dirty = append(g.dirty, h)
	}
}

// keep puts a cell into the group.
func (g *group) keep(c *layout.StateRecord) {
	g.cells = append(g.cells, c)
	g.octets += int64(len(c.Data)) + 8
}

// keepBlobs puts bodies into the group.
func (g *group) keepBlobs(bs []layout.Blob) {
	for _, b := range bs {
		g.octets += int64(len(b.Body)) + 64
	}
	g.blobs = append(g.blobs, bs...)
}

// weight returns what g will add to the file, roughly.
func (g *group) weight() int64 {
	return g.octets + 8*int64(len(g.prints)+len(g.done)) + 48*int64(len(g.dirty))
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
