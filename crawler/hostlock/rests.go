package hostlock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"runtime"
	"time"

	"curtsy/frontier/canon"
)

// The table of rests lies behind the table of paces. It has room for eight authorities in each of its buckets.
const (
	restsFrom      = buckets * bucketSize
	restsPerBucket = 8
	restSize       = 32
)

// longestRest is the longest time that a host is believed to ask for. A longer one counts as a day, as Retry-After does
// (politeness rule 11).
const longestRest = 365 * 24 * time.Hour

// Wish is a time for which a host asked to be left alone.
type Wish struct {
	Wait   time.Duration // from the end of the exchange that asked for it, or what is left of it
	Status int           // of the response
	Field  string        // of its head: Retry-After, RateLimit, or none
	Ours   bool          // Rest of these Locks has noted it
}

// AskedAnother is how String begins where another process was asked.
const AskedAnother = "waits because of an earlier crawl or command"

// fields are the names of fields as the table has them.
var fields = [...]string{"", "Retry-After", "RateLimit"}

// String says until when the host is to be left alone, who was asked for that, and by what.
func (w Wish) String() string {
	why := fmt.Sprintf("status %d", w.Status)
	if w.Field != "" {
		why += ", " + w.Field
	}
	who := AskedAnother
	if w.Ours {
		who = "the host told curtsy to wait"
	}
	return fmt.Sprintf("%s until %s (%s)", who,
		time.Now().Add(w.Wait+time.Second-1).Truncate(time.Second).Format(time.RFC3339), why)
}

// restEntry is a Wish in the table: until when, in microseconds of wall time, and how long that was at first. The zero value is
// free.
type restEntry struct {
	hash        uint64
	until, rest int64
	status      uint16
	field       uint8
}

// left is what is left of the rest: never more than all of it.
func (e restEntry) left(now int64) time.Duration {
	if e.until <= now || e.rest <= 0 {
		return 0
	}
	rest := e.rest
	if rest > longestRest.Microseconds() {
		rest = farthest.Microseconds()
	}
	return time.Duration(min(e.until-now, rest)) * time.Microsecond
}

// Rest notes that the host of a asked to be left alone for w.Wait from end. Other processes know of it when Rest returns, and
// after a kill. It never shortens what the host asked another process for.
func (l *Locks) Rest(a canon.Authority, end time.Time, w Wish) error {
	if l.file == nil || w.Wait <= 0 {
		return nil
	}
	if w.Wait > longestRest {
		w.Wait = farthest
	}
	e := restEntry{hash: hash(a.String()), rest: max(w.Wait.Microseconds(), 1), status: uint16(w.Status)}
	e.until = end.UnixMicro() + e.rest
	for i, name := range fields {
		if name == w.Field {
			e.field = uint8(i)
		}
	}
	err := l.storeRest(e, false)
	if err == nil {
		l.note(e)
		err = l.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("hostlock: record the delay that %s requires: %w", a, err)
	}
	return nil
}

// Resting returns what is left of the time for which the host of a asked to be left alone: zero Wait if it did not, or if
// that is over.
func (l *Locks) Resting(a canon.Authority) (Wish, error) {
	if l.file == nil {
		return Wish{}, nil
	}
	h, now := hash(a.String()), time.Now().UnixMicro()
	e, err := l.findRest(h)
	left := e.left(now)
	if err == nil && left > 0 && e.until-now > left.Microseconds() { // or it would rest again at each look, until the clock has caught up
		l.setBack(time.Duration(min(e.until-now, longestRest.Microseconds()))*time.Microsecond - left)
		mine := l.noted(e)
		e.until, e.rest = now+left.Microseconds(), left.Microseconds()
		if err = l.storeRest(e, true); err == nil && mine {
			l.forget(h)
			l.note(e)
		}
	}
	if err != nil {
		return Wish{}, fmt.Errorf("hostlock: read the delay that %s requires: %w", a, err)
	}
	if left == 0 {
		return Wish{}, nil
	}
	return Wish{left, int(e.status), fields[e.field], l.noted(e)}, nil
}

// maxNoted bounds how many rests of its own a process remembers. One that is forgotten counts as that of another process.
const maxNoted = 1 << 16

// note remembers that e is ours.
func (l *Locks) note(e restEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.rests[e.hash]; !known && len(l.rests) >= maxNoted {
		now := time.Now().UnixMicro()
		for h, until := range l.rests {
			if until <= now {
				delete(l.rests, h)
			}
		}
		if len(l.rests) >= maxNoted {
			return
		}
	}
	l.rests[e.hash] = max(l.rests[e.hash], e.until) // as the table keeps the longer of two
}

// forget forgets which rest of h is ours.
func (l *Locks) forget(h uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.rests, h)
}

// noted reports whether e is ours.
func (l *Locks) noted(e restEntry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.rests[e.hash]
	return ok && until == e.until
}

// findRest returns the entry of h; the zero entry when it has none.
func (l *Locks) findRest(h uint64) (restEntry, error) {
	es, whole, err := l.readRests(bucket(h))
	if err == nil && !whole { // damaged, or just being written
		err = l.alone(buckets+bucket(h), func() (err error) { es, _, err = l.readRests(bucket(h)); return err })
	}
	for _, e := range es {
		if e.hash == h {
			return e, err
		}
	}
	return restEntry{}, err
}

// readRests returns the entries of a bucket. One whose checksum is wrong is free, and the bucket is not whole then.
func (l *Locks) readRests(n int64) (es [restsPerBucket]restEntry, whole bool, err error) {
	var b [restsPerBucket * restSize]byte
	if _, err := l.file.ReadAt(b[:], restsFrom+n*int64(len(b))); err != nil && !errors.Is(err, io.EOF) {
		return es, false, err
	}
	whole = true
	for i := range es {
		at := b[i*restSize:][:restSize]
		e := restEntry{
			hash: binary.LittleEndian.Uint64(at), until: int64(binary.LittleEndian.Uint64(at[8:])),
			rest: int64(binary.LittleEndian.Uint64(at[16:])), status: binary.LittleEndian.Uint16(at[24:]), field: at[26],
		}
		switch {
		case e.hash == 0:
		case crc32.ChecksumIEEE(at[:28]) != binary.LittleEndian.Uint32(at[28:]) || int(e.field) >= len(fields):
			whole = false
		default:
			es[i] = e
		}
	}
	return es, whole, nil
}

// storeRest puts e into its bucket. Unless instead is set, an entry of the same host that ends later stays.
func (l *Locks) storeRest(e restEntry, instead bool) error {
	n, now := bucket(e.hash), time.Now().UnixMicro()
	return l.alone(buckets+n, func() error {
		es, _, err := l.readRests(n)
		if err != nil {
			return err
		}
		place := placeOf(e.hash, len(es), func(i int) (uint64, time.Duration) { return es[i].hash, es[i].left(now) })
		if old := es[place]; !instead && old.hash == e.hash && old.left(now) >= e.left(now) {
			return nil
		}
		var b [restSize]byte
		binary.LittleEndian.PutUint64(b[:], e.hash)
		binary.LittleEndian.PutUint64(b[8:], uint64(e.until))
		binary.LittleEndian.PutUint64(b[16:], uint64(e.rest))
		binary.LittleEndian.PutUint16(b[24:], e.status)
		b[26] = e.field
		binary.LittleEndian.PutUint32(b[28:], crc32.ChecksumIEEE(b[:28]))
		_, err = l.file.WriteAt(b[:], restsFrom+(n*restsPerBucket+int64(place))*restSize)
		return err
	})
}

// alone calls do while no other process does anything in that bucket, of either table. Two processes that want one bucket take
// turns, for as long as a few system calls last; should one have been stopped just there, the other does not wait for it, and
// an entry may be lost.
func (l *Locks) alone(n int64, do func() error) error {
	l.table.Lock()
	defer l.table.Unlock()
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
	err := do()
	if ours {
		err = errors.Join(err, unlock(l.file, bucketsAt|n))
	}
	return err
}

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
