package bolt

import (
	"context"
	"fmt"
	"runtime"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// Format 1 is read as it is, and written anew by Open. It differs from format 2 so:
//
//	checksums  of a value of a journal they are of its octets alone; see unsealFor
//	blobs      the pieces have no checksum
//	folded     the values have no head
//	totals     seven counters of outcomes; see parseTotals1
//
// What cells have got since stands behind what they had, and is nothing when it is not there.

// outcomes1 is how many counters the totals of format 1 begin with: the first is not used, the last is Dropped.
const outcomes1 = 7

// parseTotals1 reads the totals of format 1.
func parseTotals1(body []byte) (*totals, bool) {
	t := newTotals()
	p := parser{b: body}
	for i := range outcomes1 {
		t.outcomes[i] = int64(p.uvarint())
	}
	if n := int64(p.uvarint()); n > 0 {
		t.capped[frontier.ReasonCapCrawl] = n // by any cap: it was not told which
	}
	t.strangers = int64(p.uvarint())
	for n := p.uvarint(); n > 0 && !p.bad; n-- {
		r := p.text()
		t.reasons = append(t.reasons, r)
		t.numbers[r] = len(t.reasons)
	}
	for n := p.uvarint(); n > 0 && !p.bad; n-- {
		e := ending(p.uvarint())
		t.endings[e] = int64(p.uvarint())
		if e.reason() == 0 || e.reason() > len(t.reasons) || int(e.outcome()) >= outcomes1 {
			p.fail()
		}
	}
	for n := p.uvarint(); n > 0 && !p.bad; n-- {
		name := p.text()
		t.counts[name] = p.varint()
	}
	return t, p.done()
}

// migrate writes the file at path, open in db for writing, anew when it is of an older format, and reports whether it
// did. The new file is built beside it, synced, and takes its name in one step: whenever the process ends, there is one
// of the two, whole.
func migrate(path string, db *bbolt.DB) (anew bool, err error) {
	var n uint32
	err = guard(func() error {
		return db.View(func(tx *bbolt.Tx) error { n = formatOf(tx); return nil })
	})
	if anew = err == nil && n > 0 && n < format; anew {
		err = rewrite(context.Background(), path, db, false)
	}
	if err != nil {
		return false, fmt.Errorf("write it anew in format %d: %w", format, err)
	}
	return anew, nil
}

// rewrite writes the file at path, open in db for writing, into a new one, which takes its place while the lock of the
// old one is held: nobody else writes or rewrites it meanwhile.
func rewrite(ctx context.Context, path string, db *bbolt.DB, forget bool) error {
	b, err := newBuilder(path)
	if err != nil {
		return err
	}
	defer b.abandon()
	err = guard(func() error {
		return db.View(func(tx *bbolt.Tx) error {
			f := newFrontier(path, db, frontier.Options{})
			f.readOnly = true
			if err := f.load(tx); err != nil {
				return err
			}
			c := copying{ctx: ctx, f: f, from: tx, to: b, forget: forget}
			return c.all()
		})
	})
	if err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // where an open file keeps its name
		if err := db.Close(); err != nil {
			return err
		}
	}
	return b.replace()
}
