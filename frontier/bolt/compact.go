package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/bolt/repair"
	"curtsy/frontier/durable/meter"
)

// Compact writes the file at path, which no crawl may hold, anew without what no longer counts, and returns its size
// before and after. The frontier answers as it did. With forget, the texts of records of which every
// entry is Fetched or Redirected are dropped: these URLs stay counted and are not accepted again, but nobody can list
// them any more. The new file is built beside the old one and takes its place in one step.
func Compact(ctx context.Context, path string, forget bool) (before, after int64, err error) {
	if before, err = sizeOf(path); err != nil { // or else it would be made
		return 0, 0, fmt.Errorf("frontier/bolt: compact: %w", err)
	}
	db, err := dbfile.Open(path, layout.Create)
	if err != nil {
		return 0, 0, err
	}
	defer db.Close()
	err = rewrite(ctx, path, db, forget)
	if err == nil {
		after, err = sizeOf(path)
	}
	switch {
	case errors.Is(err, frontier.ErrDamaged), errors.Is(err, frontier.ErrNewer), errors.Is(err, frontier.ErrOlder):
		return 0, 0, dbfile.OpenError(path, err)
	case err != nil:
		return 0, 0, fmt.Errorf("frontier/bolt: compact %s: %w", path, err)
	}
	return before, after, nil
}

func sizeOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// rewrite writes the file at path, open in db for writing, into a new one, which takes its place while the lock of the
// old one is held: nobody else writes or rewrites it meanwhile.
func rewrite(ctx context.Context, path string, db *bbolt.DB, forget bool) error {
	b, err := repair.NewBuilder(path)
	if err != nil {
		return err
	}
	defer b.Abandon()
	err = dbfile.Guard(func() error {
		return db.View(func(tx *bbolt.Tx) error {
			f, err := stored(path, db, tx)
			if err != nil {
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
	return b.Replace()
}

// copying copies a file, part by part.
type copying struct {
	ctx    context.Context // of the one call that copies
	f      *Frontier
	from   *bbolt.Tx
	to     *repair.Builder
	forget bool
}

func (c *copying) all() error {
	for _, j := range []layout.Journal{layout.SeenJournal, layout.RecordJournal, layout.StateJournal} {
		meter.Of(c.ctx, int64(j.Last(c.from)))
	}
	for _, part := range []func() error{c.seen, c.records, c.states, c.seeds, c.blobs, c.others} {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// each is journal.each, until the context ends.
func (c *copying) each(j layout.Journal, f func(seq uint64, body []byte) error) error {
	return j.Each(c.from, func(seq uint64, body []byte) error {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		meter.Add(c.ctx, 1)
		return f(seq, body)
	})
}

// seen repacks the fingerprints.
func (c *copying) seen() error {
	w := c.to.Pack(layout.SeenJournal)
	err := c.each(layout.SeenJournal, func(_ uint64, body []byte) error {
		if len(body)%8 != 0 {
			return frontier.ErrDamaged
		}
		for print := range slices.Chunk(body, 8) {
			if err := w.Add(print); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

// records copies the records under their numbers, so that references keep their meaning, and folds all endings.
func (c *copying) records() error {
	all, err := layout.ReadEndings(c.from)
	if err != nil {
		return err
	}
	err = c.each(layout.RecordJournal, func(seq uint64, body []byte) error {
		if c.forget && forgettable(all.Record(seq)) {
			_, text, err := layout.ParseHead(body, nil)
			if err != nil {
				return err
			}
			body = body[:len(body)-len(text)]
		}
		to, err := c.to.Append(layout.RecordJournal, body)
		if err == nil && to != seq {
			err = fmt.Errorf("record %d got the key %d: %w", seq, to, frontier.ErrDamaged)
		}
		return err
	})
	if err != nil {
		return err
	}
	return all.Fold(c.to.Tx)
}

// forgettable reports whether nobody will ever need the texts of entries that ended so: Retry does not open them.
func forgettable(es []layout.Ending) bool {
	return !slices.ContainsFunc(es, func(e layout.Ending) bool {
		return e.Outcome() != frontier.Fetched && e.Outcome() != frontier.Redirected
	})
}

// states copies the state records that count.
func (c *copying) states() error {
	w := c.to.Pack(layout.StateJournal)
	var item []byte
	err := c.each(layout.StateJournal, func(seq uint64, body []byte) error {
		var live []layout.StateRecord
		err := layout.EachState(body, func(x layout.StateRecord) error {
			if at := c.f.at(x.Address); at != nil && *at == seq {
				live = slices.DeleteFunc(live, func(old layout.StateRecord) bool { return old.Address == x.Address })
				live = append(live, x)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, x := range live {
			item = x.AppendTo(item[:0])
			if err := w.Add(item); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

func (c *copying) seeds() error {
	w := c.to.Pack(layout.SeedJournal)
	var item []byte
	err := layout.EachSeed(c.from, 0, layout.SeedJournal.Last(c.from), func(s frontier.Seed) error {
		item = layout.AppendSeed(item[:0], s)
		return w.Add(item)
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

// blobs copies the bodies, which come in the order of their keys.
func (c *copying) blobs() error {
	cur := c.from.Bucket([]byte(layout.BlobBucket)).Cursor()
	for k, _ := cur.First(); k != nil; k, _ = cur.Next() {
		var sum [32]byte
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if len(k) != len(sum)+2 {
			return fmt.Errorf("blobs: key %x: %w", k, frontier.ErrDamaged)
		}
		if copy(sum[:], k); k[32] != 0 || k[33] != 0 {
			continue
		}
		body, err := layout.ReadBlob(c.from, sum)
		if err != nil {
			return err
		}
		c.to.Tx.Bucket([]byte(layout.BlobBucket)).FillPercent = 1
		if err := layout.WriteBlobs(c.to.Tx, []layout.Blob{{Sum: sum, Body: body}}); err != nil {
			return err
		}
		if err := c.to.Wrote(len(body)); err != nil {
			return err
		}
	}
	return nil
}

// others copies the small buckets, meta among them, as they are: references to records keep their meaning.
func (c *copying) others() error {
	known := append(layout.Journals(), layout.BlobBucket)
	return c.from.ForEach(func(name []byte, b *bbolt.Bucket) error {
		if slices.Contains(known, layout.Journal(name)) {
			return nil
		}
		return b.ForEach(func(k, v []byte) error { return c.to.Put(string(name), k, v) })
	})
}
