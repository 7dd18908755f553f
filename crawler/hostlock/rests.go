package hostlock

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"slices"
	"time"

	"curtsy/frontier/canon"
)

// longestRest is the longest valid back-off. A longer one counts as a day, as for Retry-After (politeness rule 11).
const longestRest = 365 * 24 * time.Hour

// Wish is a back-off that a host asked for.
type Wish struct {
	Wait   time.Duration // from the end of the exchange that asked for it, or the rest of it
	Status int           // of the response
	Field  string        // of its head: Retry-After, RateLimit, or none
	Ours   bool          // Rest of these Locks has noted it
}

// AskedAnother begins String if another process was asked.
const AskedAnother = "waits because of an earlier crawl or command"

var fields = [...]string{"", "Retry-After", "RateLimit"}

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
		time.Now().Add(w.Wait+time.Second-1).Truncate(time.Second).UTC().Format(time.RFC3339), why)
}

// left returns the rest of the back-off.
func (e entry) left(now int64) time.Duration {
	if e.until <= now || e.rest <= 0 {
		return 0
	}
	rest := e.rest
	if rest > longestRest.Microseconds() {
		rest = farthest.Microseconds()
	}
	return time.Duration(min(e.until-now, rest)) * time.Microsecond
}

// Rest records that the host of a asked for w.Wait from end. When Rest returns, other processes know it, also after a kill. It never
// shortens another back-off.
func (l *Locks) Rest(a canon.Authority, end time.Time, w Wish) error {
	if l.file == nil || w.Wait <= 0 {
		return nil
	}
	if w.Wait > longestRest {
		w.Wait = farthest
	}
	e := entry{hash: hash(a.String()), rest: max(w.Wait.Microseconds(), 1), status: uint16(w.Status)}
	e.until = end.UnixMicro() + e.rest
	for i, name := range fields {
		if name == w.Field {
			e.field = uint8(i)
		}
	}
	err := l.write(wishes, e, false)
	if err == nil {
		l.note(e)
		err = l.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("hostlock: record the delay that %s requires: %w", a, err)
	}
	return nil
}

// Resting returns the rest of the back-off of a, or a zero Wait.
func (l *Locks) Resting(a canon.Authority) (Wish, error) {
	if l.file == nil {
		return Wish{}, nil
	}
	h, now := hash(a.String()), time.Now().UnixMicro()
	e, err := l.find(wishes, h)
	left := e.left(now)
	if err == nil && left > 0 && e.until-now > left.Microseconds() { // or it would rest again at each look, until the clock has caught up
		mine := l.noted(e)
		e.until, e.rest = now+left.Microseconds(), left.Microseconds()
		if err = l.write(wishes, e, true); err == nil && mine {
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

// maxNoted bounds the back-offs that a process recognises as its own.
const maxNoted = 1 << 16

func (l *Locks) note(e entry) {
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

func (l *Locks) forget(h uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.rests, h)
}

// noted reports whether e is of this process.
func (l *Locks) noted(e entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.rests[e.hash]
	return ok && until == e.until
}

// exclusive calls do while no other process is in that bucket, of either table. It does not wait for a process that was
// stopped just there, so that an entry may be lost.
func (l *Locks) exclusive(n int64, do func() error) error {
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

const buckets = 1 << 16

// table is one of the two tables of the file: buckets of entries. Missing bytes are zero.
type table struct {
	from   int64 // its offset
	places int64 // entries of a bucket
	size   int64 // bytes of an entry
	locks  int64 // number of the first bucket, among those that are locked
	wished bool  // entries have a status, a field and a checksum
	lasts  func(e entry, now int64) time.Duration
}

// paces has the pace that each authority and address is due. Behind it, wishes has the back-offs that
// hosts asked for.
var (
	paces  = table{places: 4, size: 24, lasts: entry.wait}
	wishes = table{from: buckets * 4 * 24, places: 8, size: 32, locks: buckets, wished: true, lasts: entry.left}
)

// entry is the end of a rest in microseconds of wall time, and its initial length. The zero entry is free.
type entry struct {
	hash        uint64
	until, rest int64
	status      uint16 // of the response that asked for a wish
	field       uint8  // of its head, by its place in fields
}

// farthest bounds how far ahead a time may be.
const farthest = 24 * time.Hour

// up returns whole microseconds, never before t.
func up(t time.Time) int64 { return t.Add(time.Microsecond - 1).UnixMicro() }

// grain is the most that rounding may add to a rest.
const grain = 2

// wait returns the remaining time of the rest.
func (e entry) wait(now int64) time.Duration {
	if e.until <= now || e.rest <= 0 || e.rest > farthest.Microseconds() {
		return 0
	}
	return time.Duration(min(e.until-now, e.rest)) * time.Microsecond
}

func bucket(h uint64) int64 { return int64(h >> 48) }

// read returns the entries of a bucket. One with a wrong checksum is free, and whole is false then.
func (l *Locks) read(t table, n int64) (es []entry, whole bool, err error) {
	b := make([]byte, t.places*t.size)
	if _, err := l.file.ReadAt(b, t.from+n*int64(len(b))); err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	whole = true
	for at := range slices.Chunk(b, int(t.size)) {
		e := entry{
			hash: binary.LittleEndian.Uint64(at), until: int64(binary.LittleEndian.Uint64(at[8:])), rest: int64(binary.LittleEndian.Uint64(at[16:])),
		}
		if t.wished {
			e.status, e.field = binary.LittleEndian.Uint16(at[24:]), at[26]
			sound := crc32.ChecksumIEEE(at[:28]) == binary.LittleEndian.Uint32(at[28:]) && int(e.field) < len(fields)
			whole = whole && (sound || e.hash == 0)
			if !sound || e.hash == 0 {
				e = entry{}
			}
		}
		es = append(es, e)
	}
	return es, whole, nil
}

// find returns the entry of h, or zero.
func (l *Locks) find(t table, h uint64) (entry, error) {
	es, whole, err := l.read(t, bucket(h))
	if err == nil && !whole { // damaged, or just being written
		err = l.exclusive(t.locks+bucket(h), func() (err error) { es, _, err = l.read(t, bucket(h)); return err })
	}
	for _, e := range es {
		if e.hash == h {
			return e, err
		}
	}
	return entry{}, err
}

// store rests h from now, as its delay.
func (l *Locks) store(h uint64, now int64, rest time.Duration) error {
	e := entry{hash: h}
	if rest > 0 {
		e.rest = (rest + time.Microsecond - 1).Microseconds() // never short
		e.until = now + e.rest
	}
	return l.write(paces, e, true)
}

// write puts e into its bucket: over the entry of the same host, or else over the one that ends first. Unless instead is set, an entry of
// the same host that ends later stays.
func (l *Locks) write(t table, e entry, instead bool) error {
	n, now := bucket(e.hash), time.Now().UnixMicro()
	return l.exclusive(t.locks+n, func() error {
		es, _, err := l.read(t, n)
		if err != nil {
			return err
		}
		place := slices.IndexFunc(es, func(o entry) bool { return o.hash == e.hash })
		if place >= 0 && !instead && t.lasts(es[place], now) >= t.lasts(e, now) {
			return nil
		}
		if place < 0 {
			first := slices.MinFunc(es, func(a, b entry) int { return cmp.Compare(t.lasts(a, now), t.lasts(b, now)) })
			place = slices.Index(es, first)
		}
		b := binary.LittleEndian.AppendUint64(nil, e.hash)
		b = binary.LittleEndian.AppendUint64(b, uint64(e.until))
		b = binary.LittleEndian.AppendUint64(b, uint64(e.rest))
		if t.wished {
			b = append(binary.LittleEndian.AppendUint16(b, e.status), e.field, 0)
			b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
		}
		_, err = l.file.WriteAt(b, t.from+(n*t.places+int64(place))*t.size)
		return err
	})
}
