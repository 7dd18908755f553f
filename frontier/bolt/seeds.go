package bolt

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// seedWriter appends seeds to their journal: per seed its URL, tag and from.
type seedWriter struct {
	packer
	item []byte
}

func newSeedWriter(tx *bbolt.Tx) *seedWriter {
	return &seedWriter{packer: packer{tx: tx, journal: seedJournal}}
}

func (w *seedWriter) write(s frontier.Seed) error {
	w.item = appendSeed(w.item[:0], s)
	return w.add(w.item)
}

func writeSeeds(tx *bbolt.Tx, seeds []frontier.Seed) error {
	w := newSeedWriter(tx)
	for _, s := range seeds {
		if err := w.write(s); err != nil {
			return err
		}
	}
	return w.flush()
}

func appendSeed(b []byte, s frontier.Seed) []byte {
	b = appendText(b, s.URL.String())
	b = appendText(b, s.Tag)
	return appendText(b, s.From)
}

// eachSeed calls f for the seeds in the values of the journal beyond after, up to last.
func eachSeed(tx *bbolt.Tx, after, last uint64, f func(frontier.Seed) error) error {
	c := tx.Bucket([]byte(seedJournal)).Cursor()
	for k, v := c.Seek(binary.BigEndian.AppendUint64(nil, after+1)); k != nil; k, v = c.Next() {
		seq, body, err := seedJournal.open(k, v)
		if err != nil {
			return err
		}
		if seq > last {
			return nil
		}
		for p := (parser{b: body}); p.more(); {
			raw, tag, from := p.text(), p.text(), p.text()
			u, err := canon.Parse(raw)
			if p.bad || err != nil {
				return fmt.Errorf("read %s: value %d: %w", seedJournal, seq, frontier.ErrDamaged)
			}
			if err := f(frontier.Seed{URL: u, Tag: tag, From: from}); err != nil {
				return err
			}
		}
	}
	return nil
}

// seedValues is how many values of the journal, of some 40 seeds each, AllSeeds reads at once.
const seedValues = 64

// AllSeeds implements frontier.Frontier. It reads some values of the journal in one transaction, and hands out their
// seeds after it.
func (f *Frontier) AllSeeds(ctx context.Context) iter.Seq2[frontier.Seed, error] {
	return func(yield func(frontier.Seed, error) bool) {
		for at, more := uint64(0), true; more; at += seedValues {
			var page []frontier.Seed
			var err error
			if page, more, err = f.seedPage(ctx, at); err != nil {
				yield(frontier.Seed{}, err)
				return
			}
			for _, s := range page {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// seedPage returns the seeds of the values beyond after, seedValues at most. When there are no more it adds those that
// are not in the file yet: between a commit and the moment when it is known, they are in both.
func (f *Frontier) seedPage(ctx context.Context, after uint64) (page []frontier.Seed, more bool, err error) {
	var later []frontier.Seed
	var last uint64
	err = f.reading(ctx, func(int64) {
		if more = f.lastSeed > after+seedValues; more {
			last = after + seedValues
			return
		}
		last = f.lastSeed
		for _, g := range f.queue {
			later = append(later, g.seeds...)
		}
		if f.open != nil {
			later = append(later, f.open.seeds...)
		}
	}, func(tx *bbolt.Tx) error {
		return eachSeed(tx, after, last, func(s frontier.Seed) error {
			page = append(page, s)
			return nil
		})
	})
	return append(page, later...), more, err
}
