package layout

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"iter"
	"sync"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// WriteSeeds appends seeds to their journal.
func WriteSeeds(tx *bbolt.Tx, seeds []frontier.Seed) error {
	w := SeedJournal.pack(tx)
	var item []byte
	for _, s := range seeds {
		item = AppendSeed(item[:0], s)
		if err := w.Add(item); err != nil {
			return err
		}
	}
	return w.Flush()
}

// AppendSeed writes a seed as an item of its journal: its URL, tag and from.
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

// WritePrints appends fingerprints to their journal, 250 to a value.
func WritePrints(tx *bbolt.Tx, ps []frontier.Fingerprint) error {
	return writeWords(tx, SeenJournal, ps)
}

// ReadPrints calls f for every fingerprint in the journal.
func ReadPrints(tx *bbolt.Tx, f func(frontier.Fingerprint) error) error {
	return readWords(tx, SeenJournal, f)
}

// writeWords appends words to their journal.
func writeWords[W ~uint64](tx *bbolt.Tx, j Journal, ws []W) error {
	w := j.pack(tx)
	var item [8]byte
	for _, x := range ws {
		binary.BigEndian.PutUint64(item[:], uint64(x))
		if err := w.Add(item[:]); err != nil {
			return err
		}
	}
	return w.Flush()
}

// readWords calls f for every word in a journal.
func readWords[W ~uint64](tx *bbolt.Tx, j Journal, f func(W) error) error {
	return j.Each(tx, func(_ uint64, body []byte) error {
		if len(body)%8 != 0 {
			return frontier.ErrDamaged
		}
		for ; len(body) > 0; body = body[8:] {
			if err := f(W(binary.BigEndian.Uint64(body))); err != nil {
				return err
			}
		}
		return nil
	})
}

// Printer computes frontier.Print many times with one secret. frontier.Print sets up the two inner states of HMAC for
// each URL; a hash.Hash that is reset keeps them, which is most of the work for strings as short as URLs.
type Printer struct {
	hashes sync.Pool // of *printing
}

type printing struct {
	mac hash.Hash
	buf []byte
}

func NewPrinter(secret []byte) *Printer {
	return &Printer{hashes: sync.Pool{New: func() any { return &printing{mac: hmac.New(sha256.New, secret)} }}}
}

// Print returns the fingerprint of u.
func (p *Printer) Print(u canon.URL) frontier.Fingerprint {
	h := p.hashes.Get().(*printing)
	defer p.hashes.Put(h)
	h.mac.Reset()
	h.buf = append(h.buf[:0], u.Key()...)
	h.mac.Write(h.buf)
	h.buf = h.mac.Sum(h.buf[:0])
	return max(frontier.Fingerprint(binary.BigEndian.Uint64(h.buf)), 1)
}

// Recognise returns the bucket that a value belongs to, by nothing but its key and its checksum: a journal, the blobs,
// or the meta bucket, of which the format number, the secret, the totals and the number of openings are recognised.
// Format numbers have no checksum; one of them is believed only when there is no better.
func Recognise(key, v []byte) (bucket string, ok bool) {
	if len(v) < 4 {
		return "", false
	}
	switch len(key) {
	case 8:
		for _, j := range Journals() {
			if _, ok := unsealFor(string(j), key, v); ok {
				return string(j), true
			}
		}
		return "", false
	case 34:
		_, ok = unsealFor(BlobBucket, key, v)
		return BlobBucket, ok
	}
	switch string(key) {
	case FormatKey:
		ok = len(v) == 4
	case SecretKey:
		_, ok = unseal(v)
		ok = ok && len(v) == 36
	case TotalsKey:
		_, ok = unseal(v)
	case EpochKey:
		_, ok = unsealFor(MetaBucket, key, v)
		ok = ok && len(v) == 12
	}
	return MetaBucket, ok
}

// SumOf returns the checksum of a value.
func SumOf(v []byte) uint32 { return binary.BigEndian.Uint32(v[len(v)-4:]) }
