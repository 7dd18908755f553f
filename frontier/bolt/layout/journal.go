package layout

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"iter"
	"math"
	"sync"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// A Journal is a bucket that is only appended to. Its keys are 1, 2, 3, … from the bucket's sequence, its values are
// sealed with a checksum. bbolt appends cheaply: only the last leaf is rewritten.
type Journal string

// The journals; the package comment describes them.
const (
	SeenJournal   Journal = "seen"
	RecordJournal Journal = "records"
	DoneJournal   Journal = "done"
	FoldedJournal Journal = "folded"
	StateJournal  Journal = "cells"
	SeedJournal   Journal = "seeds"
)

const (
	MetaBucket   = "meta"
	BlobBucket   = "blobs"
	flightBucket = "flight"
)

func buckets() []string {
	all := []string{MetaBucket, BlobBucket, flightBucket}
	for _, j := range Journals() {
		all = append(all, string(j))
	}
	return all
}

func Journals() []Journal {
	return []Journal{SeenJournal, RecordJournal, DoneJournal, FoldedJournal, StateJournal, SeedJournal}
}

// ValueSize is the intended maximum of a value of a journal. Every commit rewrites the last leaf, so a large value
// there costs repeatedly; two of this size just fit a page of 4 KiB.
const ValueSize = 2000

// Append adds a value and returns its key. It refuses a key that is not beyond all others: bbolt would overwrite
// silently, and a damaged sequence would destroy the past.
func (j Journal) Append(tx *bbolt.Tx, body []byte) (uint64, error) {
	b := tx.Bucket([]byte(j))
	b.FillPercent = 1 // keys only grow: a leaf that is split half full stays half full
	seq, err := b.NextSequence()
	if err != nil {
		return 0, fmt.Errorf("append to %s: %w", j, err)
	}
	key := binary.BigEndian.AppendUint64(nil, seq)
	if k, _ := b.Cursor().Seek(key); k != nil {
		return 0, fmt.Errorf("append to %s: key %d is not beyond the last: %w", j, seq, frontier.ErrDamaged)
	}
	if err := b.Put(key, sealFor(string(j), key, body)); err != nil {
		return 0, fmt.Errorf("append to %s: %w", j, err)
	}
	return seq, nil
}

// Each calls f for every value in order. The body is valid until tx ends.
func (j Journal) Each(tx *bbolt.Tx, f func(seq uint64, body []byte) error) error {
	return j.between(tx, 0, math.MaxUint64, f)
}

// between is Each for the values beyond after, up to last.
func (j Journal) between(tx *bbolt.Tx, after, last uint64, f func(seq uint64, body []byte) error) error {
	from := []byte(nil) // of all, including those under invalid keys
	if after > 0 {
		from = binary.BigEndian.AppendUint64(nil, after+1)
	}
	c := tx.Bucket([]byte(j)).Cursor()
	for k, v := c.Seek(from); k != nil; k, v = c.Next() {
		seq, body, err := j.Open(k, v)
		if err != nil {
			return err
		}
		if seq > last {
			return nil
		}
		if err := f(seq, body); err != nil {
			return fmt.Errorf("read %s: value %d: %w", j, seq, err)
		}
	}
	return nil
}

func (j Journal) Open(k, v []byte) (seq uint64, body []byte, err error) {
	if len(k) != 8 {
		return 0, nil, fmt.Errorf("read %s: key of %d bytes: %w", j, len(k), frontier.ErrDamaged)
	}
	seq = binary.BigEndian.Uint64(k)
	body, ok := unsealFor(string(j), k, v)
	if !ok {
		return 0, nil, fmt.Errorf("read %s: value %d: checksum does not match: %w", j, seq, frontier.ErrDamaged)
	}
	return seq, body, nil
}

// Drop removes one value. Its key is not used again.
func (j Journal) Drop(tx *bbolt.Tx, seq uint64) error {
	return tx.Bucket([]byte(j)).Delete(binary.BigEndian.AppendUint64(nil, seq))
}

// clear removes all values. Their keys are not used again.
func (j Journal) clear(tx *bbolt.Tx) error {
	last := j.Last(tx)
	if err := tx.DeleteBucket([]byte(j)); err != nil {
		return fmt.Errorf("clear %s: %w", j, err)
	}
	b, err := tx.CreateBucket([]byte(j))
	if err != nil {
		return fmt.Errorf("clear %s: %w", j, err)
	}
	return b.SetSequence(last)
}

// Last returns the last key that was ever given out; zero means none.
func (j Journal) Last(tx *bbolt.Tx) uint64 { return tx.Bucket([]byte(j)).Sequence() }

// seal returns a copy of body followed by its CRC-32C. bbolt has checksums only on its meta pages.
func seal(body []byte) []byte { return sealFor("", nil, body) }

// unseal returns the body of a sealed value; ok is false when its checksum does not match.
func unseal(v []byte) (body []byte, ok bool) { return unsealFor("", nil, v) }

// sealFor seals a value of a bucket. The checksum also covers the names of the bucket and of the key, so that a value
// proves its place, wherever in the file it is found: see Recognise.
func sealFor(bucket string, key, body []byte) []byte {
	v := append(make([]byte, 0, len(body)+4), body...)
	return binary.BigEndian.AppendUint32(v, checksum(bucket, key, body))
}

// unsealFor returns the body of a value that was sealed for that place.
func unsealFor(bucket string, key, v []byte) (body []byte, ok bool) {
	if len(v) < 4 {
		return nil, false
	}
	body = v[:len(v)-4]
	return body, binary.BigEndian.Uint32(v[len(body):]) == checksum(bucket, key, body)
}

// checksum takes the two short names byte by byte, the body with the processor's instruction.
func checksum(bucket string, key, body []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli) // processors have an instruction for it
	sum := ^uint32(0)
	for i := range len(bucket) {
		sum = table[byte(sum)^bucket[i]] ^ sum>>8
	}
	for _, c := range key {
		sum = table[byte(sum)^c] ^ sum>>8
	}
	return crc32.Update(^sum, table, body)
}

// Packer gathers short items into values of a journal, written when they are full, and by Flush.
type Packer struct {
	Write func(body []byte) error // appends a value; it keeps a copy
	body  []byte
}

func (j Journal) pack(tx *bbolt.Tx) Packer {
	return Packer{Write: func(body []byte) error {
		_, err := j.Append(tx, body)
		return err
	}}
}

// Add appends an item, whole, to the current value.
func (p *Packer) Add(item []byte) error {
	if len(p.body) > 0 && len(p.body)+len(item) > ValueSize {
		if err := p.Flush(); err != nil {
			return err
		}
	}
	p.body = append(p.body, item...)
	return nil
}

// Flush writes the current value, if there is one.
func (p *Packer) Flush() error {
	if len(p.body) == 0 {
		return nil
	}
	err := p.Write(p.body)
	p.body = p.body[:0]
	return err
}

// Lookup finds values of a journal in one transaction. Finding the bucket and setting up a cursor costs as much as the
// search: a call that needs many values does it once. One goroutine uses it.
type Lookup struct {
	Tx      *bbolt.Tx
	Journal Journal

	cursor *bbolt.Cursor // nil before the first search
	key    [8]byte
}

// Get returns one value, valid until the transaction ends.
func (l *Lookup) Get(seq uint64) ([]byte, error) {
	if l.cursor == nil {
		l.cursor = l.Tx.Bucket([]byte(l.Journal)).Cursor()
	}
	binary.BigEndian.PutUint64(l.key[:], seq)
	k, v := l.cursor.Seek(l.key[:])
	if !bytes.Equal(k, l.key[:]) {
		return nil, fmt.Errorf("read %s: value %d is missing: %w", l.Journal, seq, frontier.ErrDamaged)
	}
	body, ok := unsealFor(string(l.Journal), k, v)
	if !ok {
		return nil, fmt.Errorf("read %s: value %d: checksum does not match: %w", l.Journal, seq, frontier.ErrDamaged)
	}
	return body, nil
}

// ReadState returns the data of the state record of a in value at. At zero means no record.
func (l *Lookup) ReadState(at uint64, a Address) ([]byte, error) {
	if at == 0 {
		return nil, nil
	}
	body, err := l.Get(at)
	if err != nil {
		return nil, err
	}
	var data []byte
	found := false
	err = EachState(body, func(c StateRecord) error {
		if c.Address == a {
			data, found = c.Data, true
		}
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("read cells: value %d has no cell %d of %d: %w", at, a.Kind, a.ID, frontier.ErrDamaged)
	}
	if err != nil || len(data) == 0 {
		return nil, err
	}
	return bytes.Clone(data), nil
}

// Lookups are shared by the turns of one call.
type Lookups struct {
	Records, States Lookup
}

func NewLookups(tx *bbolt.Tx) *Lookups {
	return &Lookups{Records: Lookup{Tx: tx, Journal: RecordJournal}, States: Lookup{Tx: tx, Journal: StateJournal}}
}

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

// AppendSeed encodes a seed as an item of its journal.
func AppendSeed(b []byte, s frontier.Seed) []byte {
	b = appendText(b, s.URL.String())
	b = appendText(b, s.Tag)
	return appendText(b, s.From)
}

// EachSeed calls f for the seeds in the values of the journal beyond after, up to last.
func EachSeed(tx *bbolt.Tx, after, last uint64, f func(frontier.Seed) error) error {
	return SeedJournal.between(tx, after, last, func(_ uint64, body []byte) error {
		for seed, ok := range Seeds(body) {
			if !ok {
				return frontier.ErrDamaged
			}
			if err := f(seed); err != nil {
				return err
			}
		}
		return nil
	})
}

// Seeds yields the seeds of a value of the journal; ok is false for an unreadable one.
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

func WriteWords[W ~uint64](tx *bbolt.Tx, j Journal, ws []W) error {
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

func ReadWords[W ~uint64](tx *bbolt.Tx, j Journal, f func(W) error) error {
	return j.Each(tx, func(_ uint64, body []byte) error {
		if len(body)%8 != 0 {
			return frontier.ErrDamaged
		}
		for w := range Words[W](body) {
			if err := f(w); err != nil {
				return err
			}
		}
		return nil
	})
}

// Words yields the whole words of a value.
func Words[W ~uint64](body []byte) iter.Seq[W] {
	return func(yield func(W) bool) {
		for ; len(body) >= 8 && yield(W(binary.BigEndian.Uint64(body))); body = body[8:] {
		}
	}
}

// Printer computes frontier.Print many times with one secret. frontier.Print sets up the two inner states of HMAC for
// each URL, which is most of the work for short strings; a hash.Hash that is reset keeps them.
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

func (p *Printer) Print(u canon.URL) frontier.Fingerprint {
	h := p.hashes.Get().(*printing)
	defer p.hashes.Put(h)
	h.mac.Reset()
	h.buf = append(h.buf[:0], u.Key()...)
	h.mac.Write(h.buf)
	h.buf = h.mac.Sum(h.buf[:0])
	return max(frontier.Fingerprint(binary.BigEndian.Uint64(h.buf)), 1)
}

// Recognise returns the bucket that a value belongs to, by its key and its checksum only: a journal, the blobs, or the
// meta bucket, of which it recognises format number, secret, totals and number of openings. Format numbers have no
// checksum; callers trust them only for want of better evidence.
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

// Sound reports whether the checksum of a value matches its place. It accepts all values of the small buckets, which
// have other checksums.
func Sound(bucket string, key, v []byte) bool {
	if bucket == MetaBucket || bucket == flightBucket {
		return true
	}
	_, ok := unsealFor(bucket, key, v)
	return ok
}

type Blob struct {
	Sum  [sha256.Size]byte
	Body []byte
}

func MakeBlobs(bodies [][]byte) []Blob {
	var bs []Blob
	for _, b := range bodies {
		bs = append(bs, Blob{Sum: sha256.Sum256(b), Body: bytes.Clone(b)})
	}
	return bs
}

// WriteBlobs puts bodies into their bucket unless they are there: the digest and 0, 1, 2, … are the keys of their
// pieces. The first begins with the length, so that an empty body has a piece, and a missing piece is noticed. The keys
// are random; short values keep an insertion cheap.
func WriteBlobs(tx *bbolt.Tx, blobs []Blob) error {
	bucket := tx.Bucket([]byte(BlobBucket))
	for _, b := range blobs {
		if bucket.Get(PieceKey(b.Sum, 0)) != nil {
			continue
		}
		rest := append(binary.AppendUvarint(nil, uint64(len(b.Body))), b.Body...)
		for i := uint16(0); len(rest) > 0; i++ {
			n := min(len(rest), ValueSize)
			key := PieceKey(b.Sum, i)
			if err := bucket.Put(key, sealFor(BlobBucket, key, rest[:n])); err != nil {
				return fmt.Errorf("keep blob %x: %w", b.Sum[:4], err)
			}
			rest = rest[n:]
		}
	}
	return nil
}

const MaxBlob = (1<<16 - 1) * ValueSize // by the numbers of pieces

func PieceKey(sum [sha256.Size]byte, i uint16) []byte {
	return binary.BigEndian.AppendUint16(sum[:], i)
}

// ReadBlob returns a body, or nil if it is missing.
func ReadBlob(tx *bbolt.Tx, sum [sha256.Size]byte) ([]byte, error) {
	bucket := tx.Bucket([]byte(BlobBucket))
	piece := func(i uint16) []byte {
		key := PieceKey(sum, i)
		body, _ := unsealFor(BlobBucket, key, bucket.Get(key))
		return body
	}
	if bucket.Get(PieceKey(sum, 0)) == nil {
		return nil, nil
	}
	joined := bytes.Clone(piece(0))
	p := parser{b: joined}
	n := p.uvarint()
	have := uint64(len(p.b))
	for i := uint16(1); have < n; i++ {
		b := piece(i)
		if len(b) == 0 {
			break
		}
		joined = append(joined, b...)
		have += uint64(len(b))
	}
	body, ok := JoinBlob(joined, sum)
	if !ok {
		return nil, fmt.Errorf("read blob %x: %w", sum[:4], frontier.ErrDamaged)
	}
	return body, nil
}

// Blobs yields the bodies in the order of their digests, and an error for a damaged one.
func Blobs(tx *bbolt.Tx) iter.Seq2[Blob, error] {
	return func(yield func(Blob, error) bool) {
		cur := tx.Bucket([]byte(BlobBucket)).Cursor()
		for k, _ := cur.First(); k != nil; k, _ = cur.Next() {
			var b Blob
			var err error
			switch n := copy(b.Sum[:], k); {
			case len(k) != len(b.Sum)+2:
				err = fmt.Errorf("blobs: key %x: %w", k, frontier.ErrDamaged)
			case k[n] != 0 || k[n+1] != 0:
				continue // another piece of the body before
			default:
				b.Body, err = ReadBlob(tx, b.Sum)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// JoinBlob returns the body of joined pieces; ok is false when it does not have that digest.
func JoinBlob(pieces []byte, sum [sha256.Size]byte) (body []byte, ok bool) {
	p := parser{b: pieces}
	p.uvarint() // the length: the digest proves it
	return p.b, !p.bad && sha256.Sum256(p.b) == sum
}
