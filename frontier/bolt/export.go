package bolt

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// Export hands the whole frontier to yield, piece by piece in the order of frontier.Item. It is for a frontier from
// OpenReadOnly alone: it takes as long as the file is large, and one that is in use would change meanwhile and could
// not give up old pages. It keeps ten bytes per URL in RAM, for the endings and to tell which fingerprints have no
// record; texts and bodies pass through one at a time. It ends with the first error of yield, or of ctx.
//
// URLs of which Compact has dropped the text are exported as refused fingerprints, with ReasonForgotten: they are not
// accepted again, but count as Dropped, and for no cap. No attempts are kept of a closed URL, so that its entry has
// none. After a death the items tell what the next opening would have made of it: what was in flight counts one more
// stop, and is in quarantine after the last one; what an operator had dropped is Dropped.
func (f *Frontier) Export(ctx context.Context, yield func(frontier.Item) error) error {
	return f.export(ctx, false, yield)
}

// List is Export for people: a URL is what Stats counts it as, which what a death left is until the next opening.
func (f *Frontier) List(ctx context.Context, yield func(frontier.Item) error) error {
	return f.export(ctx, true, yield)
}

func (f *Frontier) export(ctx context.Context, stored bool, yield func(frontier.Item) error) error {
	if !f.readOnly {
		return fmt.Errorf("frontier/bolt: export %s: it is open for a crawl: close it, and open it with OpenReadOnly", f.path)
	}
	st, err := f.Stats(ctx)
	if err != nil {
		return err
	}
	e := &exporter{f: f, stored: stored, totals: frontier.Totals{
		Refused: map[canon.Authority]int64{}, Reasons: map[string]int64{}, Capped: st.Capped, Counts: st.Counts,
	}}
	e.yield = func(i frontier.Item) error {
		err := ctx.Err()
		if err == nil {
			err = yield(i)
		}
		if err != nil {
			return halt{err}
		}
		return nil
	}
	for reason, n := range st.Reasons[frontier.Dropped] {
		e.totals.Reasons[reason] = n
	}
	return f.scan(ctx, e.note, e.run)
}

// exporter is an export under way.
type exporter struct {
	f        *Frontier
	stored   bool // see List
	yield    func(frontier.Item) error
	now      int64
	hosts    []*hostView
	inFlight layout.InFlight // the record of an unclean stop that no opening has judged yet
	totals   frontier.Totals
}

// note describes the hosts, in the order of their ids, which is that in which they became known.
func (e *exporter) note(now int64) {
	e.now = now
	for _, h := range e.f.hosts.all {
		if h == nil {
			continue
		}
		e.hosts = append(e.hosts, viewHost(h, e.f.groups.unwritten, now))
		if h.Refused > 0 {
			e.totals.Refused[h.authority] = int64(h.Refused)
		}
	}
	e.totals.Strange = e.f.totals.Strangers
}

// run hands out everything.
func (e *exporter) run(tx *bbolt.Tx) error {
	for _, step := range []func(*bbolt.Tx) error{e.head, e.seeds, e.blobs, e.hostItems, e.urls} {
		if err := step(tx); err != nil {
			return err
		}
	}
	return e.yield(frontier.Item{Totals: &e.totals})
}

func (e *exporter) head(tx *bbolt.Tx) error {
	m, _, err := layout.ReadMeta(tx, e.f.clock)
	if err != nil {
		return err
	}
	if !m.Clean {
		if e.inFlight, _, err = layout.ReadInFlight(tx); err != nil {
			return err
		}
	}
	h := &frontier.Head{Secret: m.Secret, Openings: int64(m.Epoch), Unclean: !m.Clean, Floor: time.Duration(max(e.f.oldFloor-e.now, 0))}
	return e.yield(frontier.Item{Head: h})
}

func (e *exporter) seeds(tx *bbolt.Tx) error {
	return layout.EachSeed(tx, 0, e.f.groups.lastSeed, func(s frontier.Seed) error { return e.yield(frontier.Item{Seed: &s}) })
}

func (e *exporter) blobs(tx *bbolt.Tx) error {
	cur := tx.Bucket([]byte(layout.BlobBucket)).Cursor()
	for k, _ := cur.First(); k != nil; k, _ = cur.Next() {
		var sum [32]byte
		if copy(sum[:], k); len(k) != len(sum)+2 || k[32] != 0 || k[33] != 0 {
			continue // another piece of the body before
		}
		body, err := layout.ReadBlob(tx, sum)
		if err != nil {
			return err
		}
		if err := e.yield(frontier.Item{Blob: body}); err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) hostItems(tx *bbolt.Tx) error {
	states := layout.Lookup{Tx: tx, Journal: layout.StateJournal}
	for _, p := range e.hosts {
		if err := p.complete(&states); err != nil {
			return err
		}
		view := p.view
		*p = hostView{}
		if err := e.yield(frontier.Item{Host: &view}); err != nil {
			return err
		}
	}
	return nil
}
