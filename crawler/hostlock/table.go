package hostlock

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"time"
)

// The table: buckets of entries, from the beginning of the file. What the file does not have yet is zero.
const (
	buckets    = 1 << 16
	perBucket  = 4
	entrySize  = 24
	bucketSize = perBucket * entrySize
)

// entry says until when an authority rests, microseconds of wall time, and how long that was when it began. The zero entry
// is free.
type entry struct {
	hash       uint64
	next, rest int64
}

// farthest is how far ahead a time is believed to be meant.
const farthest = 24 * time.Hour

// up is a time in whole microseconds, never before it.
func up(t time.Time) int64 { return t.Add(time.Microsecond - 1).UnixMicro() }

// grain is what the rounding of times may add to a rest.
const grain = 2

// wait is what is left of the rest: never more than all of it.
func (e entry) wait(now int64) time.Duration {
	if e.next <= now || e.rest <= 0 || e.rest > farthest.Microseconds() {
		return 0
	}
	return time.Duration(min(e.next-now, e.rest)) * time.Microsecond
}

// ahead is by how much the clock must have been set back since the entry was written; zero if it was not.
func (e entry) ahead(now int64) time.Duration {
	if e.wait(now) == 0 || e.next-now <= e.rest+grain {
		return 0
	}
	return time.Duration(e.next-now-e.rest) * time.Microsecond
}

// bucket is where the entries of h may be.
func bucket(h uint64) int64 { return int64(h >> 48) }

// read returns the entries of a bucket.
func (l *Locks) read(n int64) (es [perBucket]entry, err error) {
	var b [bucketSize]byte
	if _, err := l.file.ReadAt(b[:], n*bucketSize); err != nil && !errors.Is(err, io.EOF) {
		return es, err
	}
	for i := range es {
		at := b[i*entrySize:]
		es[i] = entry{
			hash: binary.LittleEndian.Uint64(at),
			next: int64(binary.LittleEndian.Uint64(at[8:])), rest: int64(binary.LittleEndian.Uint64(at[16:])),
		}
	}
	return es, nil
}

// find returns the entry of h; the zero entry when it has none.
func (l *Locks) find(h uint64) (entry, error) {
	es, err := l.read(bucket(h))
	for _, e := range es {
		if e.hash == h {
			return e, err
		}
	}
	return entry{}, err
}

// store lets h rest from now. Its entry takes the place of its last one, of one that is over, or of the one that ends
// first.
func (l *Locks) store(h uint64, now int64, rest time.Duration) error {
	e := entry{hash: h}
	if rest > 0 {
		e.rest = (rest + time.Microsecond - 1).Microseconds() // never short
		e.next = now + e.rest
	}
	return l.alone(bucket(h), func() error { return l.write(bucket(h), e, now) })
}

// write puts e into bucket n.
func (l *Locks) write(n int64, e entry, now int64) error {
	es, err := l.read(n)
	if err != nil {
		return err
	}
	place := placeOf(e.hash, len(es), func(i int) (uint64, time.Duration) { return es[i].hash, es[i].wait(now) })
	var b [entrySize]byte
	binary.LittleEndian.PutUint64(b[:], e.hash)
	binary.LittleEndian.PutUint64(b[8:], uint64(e.next))
	binary.LittleEndian.PutUint64(b[16:], uint64(e.rest))
	_, err = l.file.WriteAt(b[:], n*bucketSize+int64(place)*entrySize)
	return err
}

// placeOf returns the place of h in a bucket of n entries: that of its last entry, or else of the first that ends first, as
// one that is free or over does.
func placeOf(h uint64, n int, entry func(i int) (hash uint64, left time.Duration)) (place int) {
	least := time.Duration(math.MaxInt64)
	for i := range n {
		hash, left := entry(i)
		if hash == h {
			return i
		}
		if left < least {
			place, least = i, left
		}
	}
	return place
}
