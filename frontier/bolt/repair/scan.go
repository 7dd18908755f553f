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
