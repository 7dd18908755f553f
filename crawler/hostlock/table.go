package hostlock

import (
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"time"
)

// The table: buckets of entries, from the beginning of the file. What the file does not have yet is zero.
const (
	buckets    = 1 << 16
	perBucket  = 4
	entrySize  = 16
	bucketSize = perBucket * entrySize
)

// entry says until when an authority rests, microseconds of wall time. The zero entry is free.
type entry struct {
	hash uint64
	next int64
}

// farthest is how far ahead a time is believed to be meant.
const farthest = 24 * time.Hour

// up is a time in whole microseconds, never before it.
func up(t time.Time) int64 { return t.Add(time.Microsecond - 1).UnixMicro() }

// wait is what is left of the rest.
func (e entry) wait(now int64) time.Duration {
	left := time.Duration(e.next-now) * time.Microsecond
	if e.next <= now || e.next-now > farthest.Microseconds() {
		return 0
	}
	return left
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
		es[i] = entry{binary.LittleEndian.Uint64(at), int64(binary.LittleEndian.Uint64(at[8:]))}
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
// first. Two processes that store into one bucket take turns, for as long as a few system calls last; should one have
// been stopped just there, the other does not wait for it, and an entry may be lost.
func (l *Locks) store(h uint64, now int64, rest time.Duration) error {
	l.table.Lock()
	defer l.table.Unlock()
	n := bucket(h)
	ours := false
	for tries := 0; !ours && tries < 1000; tries++ {
		var err error
		if ours, err = lock(l.file, bucketsAt|n); err != nil {
			return err
		}
		if !ours {
			runtime.Gosched()
		}
	}
	e := entry{hash: h}
	if rest > 0 {
		e.next = now + (rest + time.Microsecond - 1).Microseconds() // never short
	}
	err := l.write(n, e, now)
	if ours {
		err = errors.Join(err, unlock(l.file, bucketsAt|n))
	}
	return err
}

// write puts e into bucket n.
func (l *Locks) write(n int64, e entry, now int64) error {
	es, err := l.read(n)
	if err != nil {
		return err
	}
	place := 0
	for i, old := range es {
		if old.hash == e.hash {
			place = i
			break
		}
		if old.wait(now) < es[place].wait(now) {
			place = i
		}
	}
	var b [entrySize]byte
	binary.LittleEndian.PutUint64(b[:], e.hash)
	binary.LittleEndian.PutUint64(b[8:], uint64(e.next))
	_, err = l.file.WriteAt(b[:], n*bucketSize+int64(place)*entrySize)
	return err
}
