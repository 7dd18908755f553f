package layout

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// A Journal is a bucket that is only appended to. Its keys are 1, 2, 3, … from the bucket's own sequence, its values
// are sealed with a checksum. Appending is what bbolt does cheaply: the last leaf is rewritten, all others stay.
type Journal string

// The journals; the package comment says what is in each.
const (
	SeenJournal   Journal = "seen"
	RecordJournal Journal = "records"
	DoneJournal   Journal = "done"
	FoldedJournal Journal = "folded"
	StateJournal  Journal = "cells"
	SeedJournal   Journal = "seeds"
)

// The other buckets.
const (
	MetaBucket   = "meta"
	BlobBucket   = "blobs"
	flightBucket = "flight"
)

// buckets lists all of them.
func buckets() []string {
	all := []string{MetaBucket, BlobBucket, flightBucket}
	for _, j := range Journals() {
		all = append(all, string(j))
	}
	return all
}

// Journals lists the journals.
func Journals() []Journal {
	return []Journal{SeenJournal, RecordJournal, DoneJournal, FoldedJournal, StateJournal, SeedJournal}
}

// ValueSize is how large a value of a journal is meant to be at most. The last leaf is written anew by every commit,
// so a large value there would be paid for again and again; two of this size just fit a page of 4 KiB.
const ValueSize = 2000

// Append adds a value and returns its key. The key must be beyond all others: bbolt would overwrite silently, and a
// sequence that has gone astray would destroy the past.
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
	c := tx.Bucket([]byte(j)).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		seq, body, err := j.Open(k, v)
		if err != nil {
			return err
		}
		if err := f(seq, body); err != nil {
			return fmt.Errorf("read %s: value %d: %w", j, seq, err)
		}
	}
	return nil
}

// Open returns key and body of a value as they stand in the bucket.
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

// seal returns a copy of body with its CRC-32C behind it. bbolt has checksums on its meta pages alone; a page that a
// disk has spoilt would otherwise be believed.
func seal(body []byte) []byte {
	v := append(make([]byte, 0, len(body)+4), body...)
	return binary.BigEndian.AppendUint32(v, crc32.Checksum(body, castagnoli()))
}

// unseal returns the body of a sealed value; ok is false when it is not what was sealed.
func unseal(v []byte) (body []byte, ok bool) {
	if len(v) < 4 {
		return nil, false
	}
	body = v[:len(v)-4]
	return body, binary.BigEndian.Uint32(v[len(body):]) == crc32.Checksum(body, castagnoli())
}

// sealFor seals a value of a bucket. The checksum is begun with the names of the bucket and of the key, so that a value
// tells where it belongs, wherever in the file it is found: see Recognise.
func sealFor(bucket string, key, body []byte) []byte {
	v := append(make([]byte, 0, len(body)+4), body...)
	return binary.BigEndian.AppendUint32(v, checksum(bucket, key, body))
}

// unsealFor returns the body of a value that was sealed for that place. One that has got to a wrong place is none.
func unsealFor(bucket string, key, v []byte) (body []byte, ok bool) {
	if len(v) < 4 {
		return nil, false
	}
	body = v[:len(v)-4]
	return body, binary.BigEndian.Uint32(v[len(body):]) == checksum(bucket, key, body)
}

// checksum takes the two short names byte by byte, the body with the processor's instruction.
func checksum(bucket string, key, body []byte) uint32 {
	table := castagnoli()
	sum := ^uint32(0)
	for i := range len(bucket) {
		sum = table[byte(sum)^bucket[i]] ^ sum>>8
	}
	for _, c := range key {
		sum = table[byte(sum)^c] ^ sum>>8
	}
	return crc32.Update(^sum, table, body)
}

// castagnoli returns the table of the polynomial that processors have an instruction for.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Packer gathers short items into values of a journal. They are written when they are full, and by Flush.
type Packer struct {
	Write func(body []byte) error // appends a value; it keeps a copy
	body  []byte
}

// pack returns what packs items into values of j.
func (j Journal) pack(tx *bbolt.Tx) Packer {
	return Packer{Write: func(body []byte) error {
		_, err := j.Append(tx, body)
		return err
	}}
}

// Add appends an item, whole, to the value in work.
func (p *Packer) Add(item []byte) error {
	if len(p.body) > 0 && len(p.body)+len(item) > ValueSize {
		if err := p.Flush(); err != nil {
			return err
		}
	}
	p.body = append(p.body, item...)
	return nil
}

// Flush writes the value in work, if there is one.
func (p *Packer) Flush() error {
	if len(p.body) == 0 {
		return nil
	}
	err := p.Write(p.body)
	p.body = p.body[:0]
	return err
}
