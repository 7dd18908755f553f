package repair

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"

	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/durable/meter"
)

// scan finds the values of a frontier in a file of which nothing else is believed: every page is looked at as if it
// were a leaf, and an element counts when its checksum proves journal and key. Free pages hold older copies. A value is
// never changed under its key, so copies are alike, with one exception: what a commit wrote that did not come to its
// end, under a key that the next commit used again. Hence what the last commit refers to comes first, keys beyond its
// counters are not believed, and of versions that differ none counts.
type scan struct {
	file     *os.File
	size     int64
	pageSize int64
	live     []owner // of pages that the last commit refers to
	counters map[layout.Journal]uint64
	values   map[layout.Journal]map[uint64]found
	pieces   map[[34]byte]found
	formats  map[uint32]int
	secrets  []found
	totals   []found
	epoch    uint64
	covered  int64 // values that were found reach to here
	salvage  *Salvage
}

// owner says what a page belongs to: nothing that counts, a journal or the blobs (their number in owners, plus two), or
// another part of what counts.
type owner uint8

const (
	nobody  owner = 0
	another owner = 1
)

func ownerOf(bucket string) owner {
	i := slices.Index(append(layout.Journals(), layout.BlobBucket), layout.Journal(bucket))
	if i < 0 {
		return another
	}
	return owner(i + 2)
}

// found says where a value is, its checksum included.
type found struct {
	at       int64
	n        int
	sum      uint32
	live     bool
	disputed bool
}

// maxValue bounds what is read as one value: a record with a text of megabytes.
const maxValue = layout.MaxBlock + 1<<20

func newScan(file *os.File, salvage *Salvage) (*scan, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	s := &scan{
		file: file, size: info.Size(), salvage: salvage, counters: map[layout.Journal]uint64{},
		values: map[layout.Journal]map[uint64]found{}, pieces: map[[34]byte]found{}, formats: map[uint32]int{},
	}
	for _, j := range layout.Journals() {
		s.values[j] = map[uint64]found{}
	}
	m, ok := dbfile.LastMeta(file)
	s.pageSize = int64(m.PageSize)
	if !ok {
		s.pageSize = s.guessPageSize()
	}
	s.live = make([]owner, (s.size+s.pageSize-1)/s.pageSize)
	salvage.Pages = int64(len(s.live))
	for i := range int64(2) {
		if p, ok := dbfile.ReadMeta(file, i*s.pageSize); !ok || int64(p.PageSize) != s.pageSize {
			salvage.MetaSpoilt = true
		}
	}
	if ok {
		s.walk(m.Root, another, true, 0)
	}
	return s, nil
}

// guessPageSize returns the size at which most pages say that they are where they are.
func (s *scan) guessPageSize() int64 {
	best, most := int64(4<<10), 0
	for size := int64(1 << 10); size <= 1<<16; size <<= 1 {
		right := 0
		for i := int64(2); i < min(s.size/size, 1000); i++ {
			if b := s.read(i*size, 16); b != nil && binary.NativeEndian.Uint64(b) == uint64(i) {
				right++
			}
		}
		if right > most {
			best, most = size, right
		}
	}
	return best
}

// read returns n bytes, or nil when they are not there.
func (s *scan) read(at int64, n int) []byte {
	if at < 0 || n < 0 || at+int64(n) > s.size {
		return nil
	}
	b := make([]byte, n)
	if _, err := s.file.ReadAt(b, at); err != nil {
		return nil
	}
	return b
}

// walk marks the pages that the last commit refers to, as far as they can be read.
func (s *scan) walk(id uint64, of owner, root bool, level int) {
	b := []byte(nil)
	if id >= 2 && id < uint64(len(s.live)) && s.live[id] == nobody && level <= dbfile.MaxLevels {
		b = s.read(int64(id)*s.pageSize, int(s.pageSize))
	}
	order := binary.NativeEndian
	if b == nil || order.Uint64(b) != id {
		s.salvage.LostPages++
		return
	}
	flags, count := order.Uint16(b[8:]), int(order.Uint16(b[10:]))
	if flags != dbfile.Branch && flags != dbfile.Leaf {
		s.salvage.LostPages++
		return
	}
	s.live[id] = of
	for i := range min(count, int(s.pageSize-dbfile.HeaderSize)/dbfile.ElementSize) {
		e := b[dbfile.HeaderSize+i*dbfile.ElementSize:]
		if flags == dbfile.Branch {
			s.walk(order.Uint64(e[8:]), of, root, level+1)
			continue
		}
		x := dbfile.ParseElement(e)
		at := int64(id)*s.pageSize + int64(dbfile.HeaderSize+i*dbfile.ElementSize) + int64(x.Pos)
		if x.Flags != dbfile.Bucket || x.Key > 34 {
			continue
		}
		if v := s.read(at, int(x.Key)+16); v != nil {
			if root {
				s.counters[layout.Journal(v[:x.Key])] = order.Uint64(v[x.Key+8:])
			}
			if page := order.Uint64(v[x.Key:]); page != 0 {
				s.walk(page, ownerOf(string(v[:x.Key])), false, level+1)
			}
		}
	}
}

// all looks at all pages, and then decides which values count.
func (s *scan) all(ctx context.Context) error {
	meter.Of(ctx, int64(len(s.live)))
	for i := range s.live {
		if err := ctx.Err(); err != nil {
			return err
		}
		meter.Add(ctx, 1)
		at := int64(i) * s.pageSize
		if at < s.covered && s.live[i] == nobody {
			continue // it goes on with a value, whose bytes a site may have chosen
		}
		b := s.read(at, int(min(s.pageSize, s.size-at)))
		if b == nil {
			return fmt.Errorf("read page %d: the disk does not give it", i)
		}
		s.page(at, b, s.live[i], 0)
	}
	trusted := !s.salvage.MetaSpoilt
	intact := trusted && s.salvage.LostPages+s.salvage.Spoilt == 0
	for j, values := range s.values {
		last, known := s.counters[j]
		maps.DeleteFunc(values, func(seq uint64, f found) bool {
			if f.disputed && !intact {
				s.salvage.Ambiguous++
			}
			return f.disputed || !f.live && (intact || trusted && known && seq > last)
		})
	}
	return nil
}

// each calls f for the values of a journal that were found, in order, with their bodies.
func (s *scan) each(ctx context.Context, j layout.Journal, f func(seq uint64, body []byte) error) error {
	for _, seq := range slices.Sorted(maps.Keys(s.values[j])) {
		if err := ctx.Err(); err != nil {
			return err
		}
		v := s.values[j][seq]
		b := s.read(v.at, v.n-4)
		if b == nil {
			return fmt.Errorf("read %s: value %d: the disk does not give it a second time", j, seq)
		}
		if err := f(seq, b); err != nil {
			return err
		}
	}
	return nil
}

// gaps returns how many keys are missing between from and the last, of a journal of which none is ever dropped.
func (s *scan) gaps(j layout.Journal, from uint64) int64 {
	last, n := from, int64(0)
	for seq := range s.values[j] {
		if seq > from {
			last = max(last, seq)
			n++
		}
	}
	if c, ok := s.counters[j]; ok && !s.salvage.MetaSpoilt && c > last && c-last < uint64(s.size) {
		last = c // the counter itself has no checksum
	}
	return int64(last-from) - n
}

// page looks at b, which is at that place of the file, as a leaf. A page can hold a small bucket whole, in a value.
func (s *scan) page(at int64, b []byte, of owner, level int) {
	count := 0 // of the elements that must be values
	if len(b) >= dbfile.HeaderSize && of > another && binary.NativeEndian.Uint16(b[8:]) == dbfile.Leaf {
		count = int(binary.NativeEndian.Uint16(b[10:]))
	}
	slots, sound := s.slots(at, b, level)
	for i := 0; i < max(slots, count) && dbfile.HeaderSize+(i+1)*dbfile.ElementSize <= len(b); i++ {
		from := dbfile.HeaderSize + i*dbfile.ElementSize
		x := dbfile.ParseElement(b[from:])
		if x.Flags > dbfile.Bucket || x.Key == 0 || x.Key > 34 || x.Value > maxValue || x.Pos > 1<<30 {
			s.spoilt(i < count)
			continue
		}
		start, n := from+int(x.Pos), int(x.Key+x.Value)
		kv := []byte(nil)
		if start+n <= len(b) {
			kv = b[start : start+n]
		} else if kv = s.read(at+int64(start), n); kv == nil {
			s.spoilt(i < count)
			continue
		}
		k, v := kv[:x.Key:x.Key], kv[x.Key:]
		place := found{at: at + int64(start) + int64(x.Key), n: len(v), live: of != nobody}
		if x.Flags == dbfile.Bucket {
			if len(v) > 16+dbfile.HeaderSize && level == 0 {
				inner := nobody
				if of != nobody {
					inner = ownerOf(string(k))
				}
				s.page(place.at+16, v[16:], inner, 1)
			}
			continue
		}
		is := s.element(k, v, place)
		s.spoilt(!is && i < count)
		if is && sound && level == 0 {
			s.covered = max(s.covered, place.at+int64(place.n))
		}
	}
}

// slots returns how many elements to look for in a page, and whether its head is sound. In a sound one only the
// elements that it counts are looked at: what is behind them are values, and in a value a site could have put what
// looks like an element. In a spoilt one all are that there may be.
func (s *scan) slots(at int64, b []byte, level int) (n int, sound bool) {
	if len(b) < dbfile.HeaderSize+dbfile.ElementSize {
		return 0, false
	}
	order := binary.NativeEndian
	id, flags, count := order.Uint64(b), order.Uint16(b[8:]), int(order.Uint16(b[10:]))
	if level == 0 && id != uint64(at/s.pageSize) {
		return len(b) / dbfile.ElementSize, false
	}
	switch {
	case flags == dbfile.Branch:
		return 0, true
	case flags == dbfile.Leaf && int(dbfile.ParseElement(b[dbfile.HeaderSize:]).Pos) == count*dbfile.ElementSize:
		// The first value is behind the last element.
		return count, true
	}
	return len(b) / dbfile.ElementSize, false
}

func (s *scan) spoilt(is bool) {
	if is {
		s.salvage.Spoilt++
	}
}

// element notes a value if it proves to be one.
func (s *scan) element(k, v []byte, f found) bool {
	bucket, ok := layout.Recognise(k, v)
	if !ok {
		return false
	}
	f.sum = layout.SumOf(v)
	switch bucket {
	case layout.MetaBucket:
		switch string(k) {
		case layout.FormatKey:
			s.formats[binary.BigEndian.Uint32(v)]++
		case layout.SecretKey:
			s.secrets = append(s.secrets, f)
		case layout.TotalsKey:
			s.totals = append(s.totals, f)
		case layout.EpochKey:
			s.epoch = max(s.epoch, binary.BigEndian.Uint64(v))
		}
	case layout.BlobBucket:
		s.pieces[[34]byte(k)] = better(s.pieces[[34]byte(k)], f)
	default:
		values, seq := s.values[layout.Journal(bucket)], binary.BigEndian.Uint64(k)
		values[seq] = better(values[seq], f)
	}
	return true
}

// better returns the one of two finds that counts.
func better(old, f found) found {
	switch {
	case old.n == 0:
		return f
	case old.sum == f.sum && old.n == f.n:
		old.live = old.live || f.live
		return old
	case f.live && !old.live:
		return f
	case old.live && !f.live:
		return old
	}
	old.disputed = true
	return old
}
