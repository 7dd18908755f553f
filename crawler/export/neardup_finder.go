package export

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"slices"
	"time"

	"curtsy/storage/sorted"
	"curtsy/storage/spool"
)

const (
	// Similar is the similarity from which on two pages are near-duplicates.
	neardupSimilar = 0.8

	window = 32 // pages of a band that one is compared with
	usual  = 48 << 20

	payloadBand = 0 // before all others: captures of one payload, and pages with one digest, need not be compared
	exactBand   = 1
)

// errTooMany says that there are more pages than are told apart.
var errTooMany = errors.New("neardup: more than 4,294,967,295 pages")

// neardupPage is what the table says of a page beside its duplicates.
type neardupPage struct {
	Key     string // the URL for sorting: hosts from the right, as url_surtkey of the pages has it
	URL     string
	Fetched time.Time
}

// finder finds the pages that are alike among any number. It is filled first and asked afterwards, by one goroutine.
type finder struct {
	dir    string
	limit  int // bytes that each sorter holds
	same   *sorted.Sorter
	shared *sorted.Sorter

	pages, sketches spool.Spool
	at              []int64           // where the sketch of each page begins
	digests         []uint64          // of each page
	source          map[uint32]uint32 // of each copy the page that has its payload
	sets            sets
	short           int64 // pages of too few words
	orphans         int64 // copies of what no page has

	buf []byte
}

// newFinder returns a Finder that holds about so many bytes in memory, 24 bytes for each page and 40 for each copy apart, and the rest in files in
// dir; empty means the system's folder for such files, zero 48 MiB.
func newFinder(dir string, memory int) *finder {
	if memory <= 0 {
		memory = usual
	}
	f := &finder{dir: dir, limit: memory / 4, source: map[uint32]uint32{}}
	f.same, f.shared = sorted.New(dir, f.limit), sorted.New(dir, memory/2)
	for _, s := range []*spool.Spool{&f.pages, &f.sketches} {
		s.Dir, s.Pattern = dir, sorted.Prefix+"*"
	}
	return f
}

// Add takes a page, with a hash of its payload, or 0. Of several with one URL the one that was fetched last counts.
func (f *finder) Add(p neardupPage, s *Sketch, payload uint64) error {
	if s.Digest == 0 || len(s.least) == 0 {
		f.short++
		return nil
	}
	n, err := f.add(p, s.Digest, s)
	if err == nil && payload != 0 {
		err = f.share(payloadBand, payload, original, n)
	}
	if err == nil {
		err = f.share(exactBand, s.Digest, original, n)
	}
	for i := 0; err == nil && i < len(s.bands); i++ {
		err = f.share(byte(exactBand+1+i), s.bands[i], original, n)
	}
	return err
}

// AddCopy takes a page whose payload another page has, byte for byte, and that is archived with that one alone.
func (f *finder) AddCopy(p neardupPage, payload uint64) error {
	n, err := f.add(p, 0, &Sketch{})
	if err != nil {
		return err
	}
	return f.share(payloadBand, payload, copied, n)
}

// add keeps a page, and returns its number.
func (f *finder) add(p neardupPage, digest uint64, s *Sketch) (n uint32, err error) {
	if len(f.at) == math.MaxUint32 {
		return 0, errTooMany
	}
	n = uint32(len(f.at)) //nolint:gosec // it is bounded
	f.at, f.digests = append(f.at, f.sketches.Size()), append(f.digests, digest)
	f.buf = s.appendLeast(f.buf[:0])
	if _, err := f.sketches.Write(f.buf); err != nil {
		return 0, fmt.Errorf("neardup: %w", err)
	}
	if err := json.NewEncoder(&f.pages).Encode(p); err != nil {
		return 0, fmt.Errorf("neardup: %w", err)
	}
	f.buf = appendURL(f.buf[:0], p, n)
	if err := f.same.Add(f.buf); err != nil {
		return 0, fmt.Errorf("neardup: %w", err)
	}
	return n, nil
}

const (
	bandSize = 1 + 8 // the number of a band, and the hash that pages share in it
	urlSize  = 16    // the hash of a URL

	original, copied = 0, 1 // what has a sketch comes first among those that share a payload
)

func (f *finder) share(band byte, hash uint64, kind byte, n uint32) error {
	f.buf = append(f.buf[:0], band)
	f.buf = binary.BigEndian.AppendUint64(f.buf, hash)
	f.buf = append(f.buf, kind)
	f.buf = binary.BigEndian.AppendUint32(f.buf, n)
	if err := f.shared.Add(f.buf); err != nil {
		return fmt.Errorf("neardup: %w", err)
	}
	return nil
}

// appendURL puts captures of one URL side by side, the last one last.
func appendURL(b []byte, p neardupPage, n uint32) []byte {
	h := fnv.New128a()
	h.Write([]byte(p.URL))
	b = h.Sum(b)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Fetched.UnixMicro())^1<<63)
	return binary.BigEndian.AppendUint32(b, n)
}

// find puts the pages together. It may be called once.
func (f *finder) find(ctx context.Context) error {
	f.sets = newSets(len(f.at))
	var last []byte
	for b, err := range f.same.All() {
		if err != nil {
			return fmt.Errorf("neardup: %w", err)
		}
		if len(last) > 0 && bytes.Equal(last[:urlSize], b[:urlSize]) {
			f.sets.drop(binary.BigEndian.Uint32(last[urlSize+8:]))
		}
		last = append(last[:0], b...)
	}
	w := f.newWindow()
	for b, err := range f.shared.All() {
		if err != nil {
			return fmt.Errorf("neardup: %w", err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n := binary.BigEndian.Uint32(b[bandSize+1:])
		if !bytes.Equal(w.band, b[:bandSize]) {
			w.begin(b[:bandSize])
		}
		switch {
		case b[0] == payloadBand:
			w.payload(n, b[bandSize] == copied)
		case f.sets.skipped(n):
		default:
			if err := w.take(n); err != nil {
				return err
			}
		}
	}
	return errors.Join(f.same.Close(), f.shared.Close())
}

// payload joins pages of one payload. A page that does not count is of use if a copy of it does: it stands for that one where
// pages are compared.
func (w *around) payload(n uint32, isCopy bool) {
	sets, gone := &w.f.sets, w.f.sets.dropped(n)
	first := &w.pages[0].page
	switch {
	case !isCopy && w.n == 0, !isCopy && !gone && sets.dropped(*first):
		*first, w.n = n, 1
	case gone:
	case w.n == 0:
		sets.drop(n)
		w.f.orphans++
	default:
		if isCopy {
			w.f.source[n] = *first
			sets.revive(*first)
		}
		if isCopy || !sets.dropped(*first) {
			sets.join(*first, n)
		}
	}
}

// least reads the hashes of a page's sketch.
func (f *finder) least(n uint32, into []uint32) ([]uint32, error) {
	if from, ok := f.source[n]; ok {
		n = from
	}
	end := f.sketches.Size()
	if int(n)+1 < len(f.at) {
		end = f.at[n+1]
	}
	var b [4 * kept]byte
	part := b[:end-f.at[n]]
	if _, err := f.sketches.ReadAt(part, f.at[n]); err != nil {
		return nil, fmt.Errorf("neardup: %w", err)
	}
	return readLeast(part, into), nil
}

// around are the last pages of a band, which the next one is compared with: a band that very many pages share costs no
// more for each of them.
type around struct {
	f     *finder
	band  []byte
	pages [window]near
	n     int // pages taken, those that are forgotten among them
	own   []uint32
}

// near is a page with the hashes of its sketch, once they are needed.
type near struct {
	page  uint32
	least []uint32
	read  bool
}

func (f *finder) newWindow() *around { return &around{f: f} }

func (w *around) begin(band []byte) { w.band, w.n = append(w.band[:0], band...), 0 }

func (w *around) take(page uint32) error {
	sets := &w.f.sets
	if w.band[0] == exactBand {
		if w.n > 0 {
			sets.join(w.pages[0].page, page)
		}
		w.pages[0].page, w.n = page, 1
		return nil
	}
	own, read := w.own, false
	for i := range min(w.n, window) {
		o := &w.pages[i]
		if sets.root(o.page) == sets.root(page) {
			continue
		}
		var err error
		if !read {
			if own, err = w.f.least(page, own); err != nil {
				return err
			}
			read = true
		}
		if !o.read {
			if o.least, err = w.f.least(o.page, o.least); err != nil {
				return err
			}
			o.read = true
		}
		if similarity(own, o.least) >= neardupSimilar {
			sets.join(o.page, page)
		}
	}
	o := &w.pages[w.n%window]
	o.page, o.read = page, read
	o.least, w.own = own, o.least
	w.n++
	return nil
}

// Orphans is how many copies were of no page that was added; it is known when All is over.
func (f *finder) Orphans() int64 { return f.orphans }

// Short is how many pages had too few words to be compared.
func (f *finder) Short() int64 { return f.short }

// Close takes the Finder's files off the disk.
func (f *finder) Close() error {
	return errors.Join(f.same.Close(), f.shared.Close(), f.pages.Close(), f.sketches.Close())
}

// All returns the pages that have duplicates, cluster by cluster in the order of the table. An error is the last. It may be
// called once.
func (f *finder) All(ctx context.Context) iter.Seq2[member, error] {
	return func(yield func(member, error) bool) {
		if err := f.find(ctx); err != nil {
			yield(member{}, err)
			return
		}
		f.members(ctx, yield)
	}
}

// cluster is a cluster in short.
type cluster struct {
	Representative string
	Size, Copies   int64    // pages; those that are exact
	Least          float64  // similarity to the representative
	Others         []string // URLs of other pages, the first of them
}

// Largest returns the n largest clusters, how many clusters there are, and how many pages are in them. Like All it may be
// called once, instead of that.
func (f *finder) Largest(ctx context.Context, n, others int) (largest []cluster, clusters, pages int64, err error) {
	var c cluster
	var id uint64
	end := func() {
		if c.Size == 0 {
			return
		}
		at, _ := slices.BinarySearchFunc(largest, c, func(a, b cluster) int {
			return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Representative, b.Representative))
		})
		if largest = slices.Insert(largest, at, c); len(largest) > n {
			largest = largest[:n]
		}
	}
	for m, err := range f.All(ctx) {
		if err != nil {
			return nil, 0, 0, err
		}
		if c.Size == 0 || m.Cluster != id {
			end()
			clusters++
			id, c = m.Cluster, cluster{Representative: m.Representative, Size: m.Size, Least: 1}
		}
		pages++
		c.Least = min(c.Least, m.Similarity)
		if m.Kind == exact {
			c.Copies++
		}
		if m.Kind != representative && len(c.Others) < others {
			c.Others = append(c.Others, m.URL)
		}
	}
	end()
	return largest, clusters, pages, nil
}
