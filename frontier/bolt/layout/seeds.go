package layout

import (
	"encoding/binary"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// SeedWriter appends seeds to their journal: per seed its URL, tag and from.
type SeedWriter struct {
	packer
	item []byte
}

func NewSeedWriter(tx *bbolt.Tx) *SeedWriter {
	return &SeedWriter{packer: packer{tx: tx, journal: SeedJournal}}
}

func (w *SeedWriter) Write(s frontier.Seed) error {
	w.item = AppendSeed(w.item[:0], s)
	return w.Add(w.item)
}

func WriteSeeds(tx *bbolt.Tx, seeds []frontier.Seed) error {
	w := NewSeedWriter(tx)
	for _, s := range seeds {
		if err := w.Write(s); err != nil {
			return err
		}
	}
	return w.Flush()
}

func AppendSeed(b []byte, s frontier.Seed) []byte {
	b = appendText(b, s.URL.String())
	b = appendText(b, s.Tag)
	return appendText(b, s.From)
}

// EachSeed calls f for the seeds in the values of the journal beyond after, up to last.
func EachSeed(tx *bbolt.Tx, after, last uint64, f func(frontier.Seed) error) error {
	c := tx.Bucket([]byte(SeedJournal)).Cursor()
	for k, v := c.Seek(binary.BigEndian.AppendUint64(nil, after+1)); k != nil; k, v = c.Next() {
		seq, body, err := SeedJournal.Open(k, v)
		if err != nil {
			return err
		}
		if seq > last {
			return nil
		}
		for seed, ok := range Seeds(body) {
			if !ok {
				return fmt.Errorf("read %s: value %d: %w", SeedJournal, seq, frontier.ErrDamaged)
			}
			if err := f(seed); err != nil {
				return err
			}
		}
	}
	return nil
}

// Seeds yields the seeds of a value of the journal; ok is false in the place of one that cannot be read.
func Seeds(body []byte) iter.Seq2[frontier.Seed, bool] {
	return func(yield func(s frontier.Seed, ok bool) bool) {
		for p := (parser{b: body}); p.more(); {
			raw, tag, from := p.text(), p.text(), p.text()
			u, err := canon.Parse(raw)
			if p.bad || err != nil {
				if !yield(frontier.Seed{}, false) {
					return
				}
				continue
			}
			if !yield(frontier.Seed{URL: u, Tag: tag, From: from}, true) {
				return
			}
		}
	}
}
