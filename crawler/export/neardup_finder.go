package export

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"curtsy/crawler/extract"
	"curtsy/crawler/trap"
	"curtsy/frontier/canon"
	"curtsy/storage/sorted"
	"curtsy/storage/spool"
	"curtsy/storage/tables"
)

const (
	neardupSimilar = 0.8 // least similarity of near-duplicates

	window = 32       // pages of a band to compare a page with
	usual  = 48 << 20 // bytes of memory

	payloadBand = 0 // before all others: pages with the same payload or digest need no comparison
	exactBand   = 1
	bandSize    = 1 + 8 // number of the band, and the hash that its pages share
)

var errTooMany = errors.New("neardup: more than 4,294,967,295 pages")

// neardupPage has the columns of each page.
type neardupPage struct {
	Key     string // url_surtkey
	URL     string
	Fetched time.Time
}

// sketchedPage is a capture of a page with its sketch. A copy gets its sketch from the page with the same payload.
type sketchedPage struct {
	Page    neardupPage
	Payload uint64 // its hash, or 0
	Digest  uint64
	Least   []byte // from Sketch.appendLeast
	Bands   []uint64
}

// finder finds similar pages among any number. One goroutine adds all pages, then calls All or Largest. External sorts order
// pages by payload, where a copy gets the sketch of its original; by URL, of which the last capture counts; by shared hashes,
// to compare pages and join them into sets; by set, to compare pages with the representative; and by cluster.
type finder struct {
	dir       string
	limit     int // bytes that each sorter holds
	added     int
	byPayload *sorted.Rows[sketchedPage]
	byURL     *sorted.Rows[sketchedPage]
	shared    *sorted.Sorter

	// By page number:
	sketches spool.Spool
	at       []int64 // offsets of the sketches
	digests  []uint64
	sets     sets

	short   int64 // pages with too few words
	orphans int64 // copies without an original
	buf     []byte
}

// newFinder returns a finder that uses about memory bytes (0 = usual), plus 24 for each page, and files in dir.
func newFinder(dir string, memory int) *finder {
	if memory <= 0 {
		memory = usual
	}
	f := &finder{dir: dir, limit: memory / 4, shared: sorted.New(dir, memory/2), sketches: spool.Spool{Dir: dir, Pattern: sorted.Prefix + "*"}}
	f.byPayload, f.byURL = sorted.NewRows[sketchedPage](dir, f.limit), sorted.NewRows[sketchedPage](dir, f.limit)
	return f
}

// Add adds a page, with a hash of its payload, or 0.
func (f *finder) Add(p neardupPage, s *Sketch, payload uint64) error {
	if s.Digest == 0 || len(s.least) == 0 {
		f.short++
		return nil
	}
	return f.add("page", sketchedPage{Page: p, Payload: payload, Digest: s.Digest, Least: s.appendLeast(nil), Bands: s.bands[:]})
}

// AddCopy adds a page whose payload is only archived with another page.
func (f *finder) AddCopy(p neardupPage, payload uint64) error {
	return f.add("the copy", sketchedPage{Page: p, Payload: payload})
}

// add stores a capture. With equal payloads, captures with a sketch sort before copies.
func (f *finder) add(kind string, p sketchedPage) error {
	if err := f.byPayload.Add(fmt.Sprintf("%016x %s", p.Payload, kind), p); err != nil {
		return fmt.Errorf("neardup: %w", err)
	}
	return nil
}

func (f *finder) find(ctx context.Context) error {
	var page sketchedPage // the first with its payload
	for row, err := range f.byPayload.All() {
		p := row.Value
		switch {
		case err != nil:
			return fmt.Errorf("neardup: %w", err)
		case p.Digest != 0 && p.Payload != page.Payload:
			page = p
		case p.Digest == 0 && p.Payload == page.Payload:
			p.Digest, p.Least, p.Bands = page.Digest, page.Least, page.Bands
		}
		f.added++
		order := fmt.Sprintf("%s\x01%016x %012d", p.Page.URL, uint64(p.Page.Fetched.UnixMicro())^1<<63, f.added) //nolint:gosec // for its order
		if err := f.byURL.Add(order, p); err != nil {
			return fmt.Errorf("neardup: %w", err)
		}
	}
	if err := errors.Join(f.byPayload.Close(), f.each(ctx, f.number)); err != nil {
		return err
	}
	f.sets = newSets(len(f.at))
	w := &around{f: f}
	for b, err := range f.shared.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("neardup: %w", err)
		}
		if !bytes.Equal(w.band, b[:bandSize]) {
			w.band, w.n = append(w.band[:0], b[:bandSize]...), 0
		}
		if err := w.take(binary.BigEndian.Uint32(b[bandSize:])); err != nil {
			return err
		}
	}
	return f.shared.Close()
}

// each calls see for the pages that count, with their numbers, and counts orphans.
func (f *finder) each(ctx context.Context, see func(n uint32, p *sketchedPage) error) error {
	var last sketchedPage
	n := uint32(0)
	f.orphans = 0
	give := func() error {
		switch {
		case last.Page.URL == "":
			return nil
		case last.Digest == 0:
			f.orphans++
			return nil
		case n == math.MaxUint32:
			return errTooMany
		}
		n++
		return see(n-1, &last)
	}
	for row, err := range f.byURL.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && row.Value.Page.URL != last.Page.URL {
			err = give()
		}
		if err != nil {
			return fmt.Errorf("neardup: %w", err)
		}
		last = row.Value
	}
	return give()
}

// number stores the sketch of a page under its number, and its shared hashes.
func (f *finder) number(n uint32, p *sketchedPage) error {
	f.at, f.digests = append(f.at, f.sketches.Size()), append(f.digests, p.Digest)
	if _, err := f.sketches.Write(p.Least); err != nil {
		return err
	}
	for band, hash := range slices.Concat([]uint64{p.Payload, p.Digest}, p.Bands) {
		if hash == 0 && band == payloadBand {
			continue
		}
		f.buf = binary.BigEndian.AppendUint64(append(f.buf[:0], byte(band)), hash)
		f.buf = binary.BigEndian.AppendUint32(f.buf, n)
		if err := f.shared.Add(f.buf); err != nil {
			return err
		}
	}
	return nil
}

// least reads the hashes of a page's sketch.
func (f *finder) least(n uint32, into []uint32) ([]uint32, error) {
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

// around is the last pages of a band. Comparing only with these bounds the cost for bands with very many pages.
type around struct {
	f     *finder
	band  []byte
	pages [window]near
	n     int // pages taken, including those overwritten
	own   []uint32
}

// near is a page with the hashes of its sketch.
type near struct {
	page  uint32
	least []uint32
}

// take joins a page with similar ones of its band. Of pages with the same payload or digest only the first is compared.
func (w *around) take(page uint32) error {
	sets := &w.f.sets
	if w.band[0] <= exactBand {
		if w.n > 0 {
			sets.join(w.pages[0].page, page)
			sets.twin(page)
		}
		w.pages[0].page, w.n = page, 1
		return nil
	}
	if sets.isTwin(page) {
		return nil
	}
	own, err := w.f.least(page, w.own)
	if err != nil {
		return err
	}
	for i := range min(w.n, window) {
		o := &w.pages[i]
		if sets.root(o.page) != sets.root(page) && similarity(own, o.least) >= neardupSimilar {
			sets.join(o.page, page)
		}
	}
	o := &w.pages[w.n%window]
	w.own, *o = o.least, near{page, own}
	w.n++
	return nil
}

// Orphans returns how many copies had no original. It is valid after All.
func (f *finder) Orphans() int64 { return f.orphans }

// Short returns how many pages had too few words to compare.
func (f *finder) Short() int64 { return f.short }

func (f *finder) Close() error {
	return errors.Join(f.byPayload.Close(), f.byURL.Close(), f.shared.Close(), f.sketches.Close())
}

// All yields the pages with duplicates, cluster by cluster in the order of the table. An error comes last. Call it once.
func (f *finder) All(ctx context.Context) iter.Seq2[member, error] {
	return func(yield func(member, error) bool) {
		if err := f.find(ctx); err != nil {
			yield(member{}, err)
			return
		}
		f.members(ctx, yield)
	}
}

// cluster summarises a cluster.
type cluster struct {
	Representative string
	Size, Copies   int64    // pages, and exact copies
	Least          float64  // similarity to the representative
	Others         []string // URLs of the first other pages
}

// Largest returns the n largest clusters, the number of clusters, and that of pages in them. Call it once, instead of All.
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

// kind relates a page to the representative of its cluster.
type kind string

const (
	representative kind = "representative" // the page to compare with
	exact          kind = "exact"          // same digest as the representative: a copy, as in trap:copy
	Near           kind = "near"           // any other
)

// member is a page with duplicates.
type member struct {
	neardupPage
	Cluster        uint64 // hash of the representative's URL
	Size           int64  // pages of the cluster
	Representative string // its URL
	Kind           kind
	Similarity     float64 // to the representative
	Digest         uint64
}

type setPage struct {
	Set, N, Size uint32
	Page         neardupPage
}

// members yields the pages of all sets of at least two. It sorts them by set, with the representative first, for comparison,
// and then by cluster, which the representative names.
func (f *finder) members(ctx context.Context, yield func(member, error) bool) {
	bySet, byCluster := sorted.NewRows[setPage](f.dir, f.limit), sorted.NewRows[member](f.dir, f.limit)
	defer func() { _ = errors.Join(bySet.Close(), byCluster.Close()) }() // their files are unnamed
	err := f.gather(ctx, bySet)
	if err == nil {
		err = f.compare(ctx, bySet, byCluster)
	}
	if err != nil {
		yield(member{}, err)
		return
	}
	for row, err := range byCluster.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(member{}, fmt.Errorf("neardup: %w", err))
			return
		}
		if !yield(row.Value, nil) {
			return
		}
	}
}

// gather sorts the pages with duplicates by set. The representative is the shortest URL, or the first of equal length.
func (f *finder) gather(ctx context.Context, bySet *sorted.Rows[setPage]) error {
	sizes := make([]uint32, len(f.at))
	for n := range sizes {
		sizes[f.sets.root(uint32(n))]++ //nolint:gosec // bounded
	}
	return f.each(ctx, func(n uint32, p *sketchedPage) error {
		set := f.sets.root(n)
		if sizes[set] < 2 {
			return nil
		}
		return bySet.Add(fmt.Sprintf("%08x%08x%s", set, len(p.Page.URL), p.Page.URL), setPage{set, n, sizes[set], p.Page})
	})
}

// compare compares the pages of each set with its first.
func (f *finder) compare(ctx context.Context, bySet *sorted.Rows[setPage], byCluster *sorted.Rows[member]) error {
	var first member
	var firstLeast, least []uint32
	root := uint64(math.MaxUint64)
	for row, err := range bySet.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("neardup: %w", err)
		}
		p := row.Value
		if least, err = f.least(p.N, least); err != nil {
			return err
		}
		digest := f.digests[p.N]
		m := member{neardupPage: p.Page, Size: int64(p.Size), Digest: digest, Similarity: 1}
		if uint64(p.Set) != root {
			root = uint64(p.Set)
			m.Kind, m.Representative, m.Cluster = representative, m.URL, fnv1a(m.URL)
			first, firstLeast, least = m, least, firstLeast
		} else {
			m.Kind, m.Representative, m.Cluster = Near, first.URL, first.Cluster
			if digest == first.Digest {
				m.Kind = exact
			} else {
				m.Similarity = similarity(firstLeast, least)
			}
		}
		if err := byCluster.Add(fmt.Sprintf("%016x%s\x01%s", m.Cluster, m.Key, m.URL), m); err != nil {
			return fmt.Errorf("neardup: %w", err)
		}
	}
	return nil
}

// Row returns the row of tables.Duplicates.
func (m *member) Row() tables.Row {
	return tables.Row{
		tables.Text(fmt.Sprintf("%016x", m.Cluster)),
		tables.Long(m.Size),
		tables.Text(m.Key),
		tables.Text(m.URL),
		tables.Instant(m.Fetched),
		tables.Text(m.Representative),
		tables.Text(string(m.Kind)),
		tables.Float(m.Similarity),
		tables.Text(fmt.Sprintf("%016x", m.Digest)),
	}
}

// sets are disjoint sets of pages (Galler and Fischer 1964). The lowest page number in a set identifies it.
type sets struct {
	above []uint32 // for each page one of its set with a lower number, or itself
	twins []uint64 // bits: pages represented by a lower number
}

func newSets(n int) sets {
	s := sets{above: make([]uint32, n), twins: make([]uint64, n/64+1)}
	for i := range s.above {
		s.above[i] = uint32(i)
	}
	return s
}

func (s *sets) twin(n uint32)        { s.twins[n/64] |= 1 << (n % 64) }
func (s *sets) isTwin(n uint32) bool { return s.twins[n/64]>>(n%64)&1 == 1 }

func (s *sets) root(n uint32) uint32 {
	for s.above[n] != n {
		s.above[n] = s.above[s.above[n]]
		n = s.above[n]
	}
	return n
}

func (s *sets) join(a, b uint32) {
	a, b = s.root(a), s.root(b)
	s.above[max(a, b)] = min(a, b)
}

const (
	width    = 4       // words of a shingle
	maxWords = 1 << 18 // words of a page that count: the first ones
)

// shingler makes the shingles of a text word by word.
type shingler struct {
	last   [width]uint64 // hashes of the last words; the next goes to words % width
	words  int
	hashes []uint64 // of the shingles, in the order of the text
}

// apart splits text into words: at spaces, and around each character of a script without spaces between words.
func apart(words string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from := 0
		cut := func(at, next int) bool {
			word := words[from:at]
			from = next
			return word == "" || yield(word)
		}
		for at := 0; at < len(words); {
			if c := words[at]; c < utf8.RuneSelf {
				if at++; c == ' ' && !cut(at-1, at) {
					return
				}
				continue
			}
			r, n := utf8.DecodeRuneInString(words[at:])
			unspaced := r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
				unicode.Khmer, unicode.Myanmar)
			if unspaced && (!cut(at, at) || !cut(at+n, at+n)) {
				return
			}
			at += n
		}
		cut(len(words), len(words))
	}
}

func (s *shingler) word(word string) {
	if s.words == maxWords {
		return
	}
	s.last[s.words%width] = fnv1a(word)
	s.words++
	if s.words < width {
		return
	}
	var h uint64
	for i := range width { // the oldest first
		h = h*multiplier + s.last[(s.words+i)%width]
	}
	s.hashes = append(s.hashes, mix(h))
}

func (s *shingler) set() []uint64 {
	slices.Sort(s.hashes)
	return slices.Compact(s.hashes)
}

// multiplier makes the order of words count: 2^64 divided by the golden ratio, odd.
const multiplier = 0x9e3779b97f4a7c15

// fnv1a is FNV-1a of 64 bits. The standard library's costs an additional call for each word.
func fnv1a(word string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * 0x100000001b3
	}
	return h
}

// mix is the last step of MurmurHash3 (Appleby): each bit of x changes about half of the bits of the result.
func mix(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Reader makes the sketch of one page from its text and its visible links.
type Reader struct {
	says     *trap.Digester
	shingles shingler
}

func newNeardupReader(u canon.URL) *Reader {
	r := &Reader{says: trap.NewDigester(u, false)}
	r.says.Hear(func(words string) {
		for word := range apart(words) {
			r.shingles.word(word)
		}
	})
	return r
}

// Text adds a piece of text, as from extract.Input.Text.
func (r *Reader) Text(s string) { r.says.Text(s) }

// Sketch returns the sketch of the page with these links, of which the visible ones count. Do not use the Reader afterwards.
func (r *Reader) Sketch(links []extract.Link) Sketch {
	for i := range links {
		if links[i].Shown() {
			r.says.Embed(links[i].URL)
		}
	}
	digest, _ := r.says.Digests()
	return sketch(r.shingles.set(), r.shingles.words, digest)
}

const (
	kept        = 256 // hashes of a sketch, at most
	bands       = 25  // two pages must share one to be compared
	neardupRows = 5   // minima of a band
)

// Sketch represents a page for comparison.
type Sketch struct {
	// Digest is that of trap:copy: equal for pages with the same words and pictures; zero for pages with too few words.
	Digest uint64
	// Simhash is Charikar's, of the shingles. Zero for a page without any.
	Simhash uint64
	// Words counts the words, at most maxWords, and Shingles the distinct shingles.
	Words, Shingles int

	least []uint32      // the upper halves of the least shingle hashes, sorted
	bands [bands]uint64 // hashes of the minima
}

func sketch(set []uint64, words int, digest uint64) Sketch {
	s := Sketch{Digest: digest, Simhash: simhash(set), Words: words, Shingles: len(set)}
	if digest == 0 || len(set) == 0 {
		return s
	}
	s.least = make([]uint32, 0, min(kept, len(set)))
	for _, h := range set {
		if len(s.least) == kept {
			break
		}
		if u := uint32(h >> 32); len(s.least) == 0 || s.least[len(s.least)-1] != u {
			s.least = append(s.least, u)
		}
	}
	least := minima(set)
	for i := range s.bands {
		for _, m := range least[i*neardupRows : (i+1)*neardupRows] {
			s.bands[i] = mix(s.bands[i]*multiplier + m)
		}
	}
	return s
}

// simhash is the similarity hash of a set (Charikar 2002): each bit is that of most members, and zero in a tie.
func simhash(set []uint64) (sum uint64) {
	var ones [64]int
	for _, h := range set {
		for ; h != 0; h &= h - 1 {
			ones[bits.TrailingZeros64(h)]++
		}
	}
	for i, n := range ones {
		if 2*n > len(set) {
			sum |= 1 << i
		}
	}
	return sum
}

// minima returns MinHashes of a non-empty set by one permutation (Li, Owen and Zhang 2012): the lower half of a hash selects
// a bin, and the least upper half in a bin counts. An empty bin borrows from another, selected only by its own number
// (Shrivastava 2017), so that similar sets borrow alike.
func minima(set []uint64) (least [bands * neardupRows]uint64) {
	for i := len(set) - 1; i >= 0; i-- { // descending, so that the least of a bin comes last
		bin := (set[i] & 0xffffffff) * uint64(len(least)) >> 32
		least[bin] = set[i]>>32 | 1<<32
	}
	whole := least
	for bin := range least {
		for try := uint64(1); least[bin] == 0; try++ {
			least[bin] = whole[mix(uint64(bin)<<32|try)%uint64(len(least))]
		}
	}
	return least
}

// similarity estimates the Jaccard coefficient of two pages from their least hashes (Broder 1997); exact for few shingles.
func similarity(a, b []uint32) float64 {
	both, union := 0, 0
	for i, j := 0, 0; union < kept && (i < len(a) || j < len(b)); union++ {
		switch {
		case j == len(b) || i < len(a) && a[i] < b[j]:
			i++
		case i == len(a) || a[i] > b[j]:
			j++
		default:
			both, i, j = both+1, i+1, j+1
		}
	}
	if union == 0 {
		return 0
	}
	return float64(both) / float64(union)
}

func (s *Sketch) appendLeast(b []byte) []byte {
	for _, h := range s.least {
		b = binary.LittleEndian.AppendUint32(b, h)
	}
	return b
}

func readLeast(b []byte, into []uint32) []uint32 {
	into = slices.Grow(into[:0], len(b)/4)
	for ; len(b) >= 4; b = b[4:] {
		into = append(into, binary.LittleEndian.Uint32(b))
	}
	return into
}
