package export

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
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
	// Similar is the similarity from which on two pages are near-duplicates.
	neardupSimilar = 0.8

	window = 32 // pages of a band that one is compared with
	usual  = 48 << 20

	payloadBand = 0 // before all others: captures of one payload, and pages with one digest, need not be compared
	exactBand   = 1
	bandSize    = 1 + 8 // the number of a band, and the hash that pages share in it
)

// errTooMany says that there are more pages than are told apart.
var errTooMany = errors.New("neardup: more than 4,294,967,295 pages")

// neardupPage is what the table says of a page beside its duplicates.
type neardupPage struct {
	Key     string // the URL for sorting: hosts from the right, as url_surtkey of the pages has it
	URL     string
	Fetched time.Time
}

// sketchedPage is a capture of a page with its sketch. A copy has none until the page is found whose payload it has.
type sketchedPage struct {
	Page    neardupPage
	Payload uint64 // a hash of it, or 0
	Digest  uint64
	Least   []byte // as Sketch.appendLeast has it
	Bands   []uint64
}

// finder finds the pages that are alike among any number. It is filled first and asked afterwards, by one goroutine. Pages are
// sorted by payload, where a copy takes the sketch of the page that has it; by URL, of which the last capture counts; by what
// they share, so that they are compared and put into sets; by set, the representative first, so that the others are compared
// with it; and by cluster, which is named after the representative.
type finder struct {
	dir       string
	limit     int // bytes that each sorter holds
	added     int
	byPayload *sorted.Rows[sketchedPage]
	byURL     *sorted.Rows[sketchedPage]
	shared    *sorted.Sorter

	// Of each page that counts, by its number:
	sketches spool.Spool
	at       []int64 // where its sketch begins
	digests  []uint64
	sets     sets

	short   int64 // pages of too few words
	orphans int64 // copies of what no page has
	buf     []byte
}

// newFinder returns a Finder that holds about so many bytes in memory, 24 bytes for each page apart, and the rest in files in
// dir; empty means the system's folder, zero 48 MiB.
func newFinder(dir string, memory int) *finder {
	if memory <= 0 {
		memory = usual
	}
	f := &finder{dir: dir, limit: memory / 4, shared: sorted.New(dir, memory/2), sketches: spool.Spool{Dir: dir, Pattern: sorted.Prefix + "*"}}
	f.byPayload, f.byURL = sorted.NewRows[sketchedPage](dir, f.limit), sorted.NewRows[sketchedPage](dir, f.limit)
	return f
}

// Add takes a page, with a hash of its payload, or 0. Of several with one URL the one that was fetched last counts.
func (f *finder) Add(p neardupPage, s *Sketch, payload uint64) error {
	if s.Digest == 0 || len(s.least) == 0 {
		f.short++
		return nil
	}
	return f.add("page", sketchedPage{Page: p, Payload: payload, Digest: s.Digest, Least: s.appendLeast(nil), Bands: s.bands[:]})
}

// AddCopy takes a page whose payload another page has, byte for byte, and that is archived with that one alone.
func (f *finder) AddCopy(p neardupPage, payload uint64) error {
	return f.add("the copy", sketchedPage{Page: p, Payload: payload})
}

// add keeps a capture. Those of one payload that have a sketch come before those that have none.
func (f *finder) add(kind string, p sketchedPage) error {
	if err := f.byPayload.Add(fmt.Sprintf("%016x %s", p.Payload, kind), p); err != nil {
		return fmt.Errorf("neardup: %w", err)
	}
	return nil
}

// find puts the pages together. It may be called once.
func (f *finder) find(ctx context.Context) error {
	var page sketchedPage // the first of its payload
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

// each gives the pages that count to see, with their numbers. Copies of what no page has are counted.
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

// number keeps the sketch of a page under its number, and what it shares with others.
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

// around are the last pages of a band, which the next one is compared with: a band that very many pages share costs no
// more for each of them.
type around struct {
	f     *finder
	band  []byte
	pages [window]near
	n     int // pages taken, those that are forgotten among them
	own   []uint32
}

// near is a page with the hashes of its sketch.
type near struct {
	page  uint32
	least []uint32
}

// take joins a page with those of its band that are like it. Of pages of one payload or digest, only the first is compared.
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

// Orphans is how many copies were of no page that was added; it is known when All is over.
func (f *finder) Orphans() int64 { return f.orphans }

// Short is how many pages had too few words to be compared.
func (f *finder) Short() int64 { return f.short }

// Close takes the Finder's files off the disk.
func (f *finder) Close() error {
	return errors.Join(f.byPayload.Close(), f.byURL.Close(), f.shared.Close(), f.sketches.Close())
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

// kind is what a page is to the representative of its cluster.
type kind string

// Kinds of pages in a cluster.
const (
	representative kind = "representative" // the page that the others are held against
	exact          kind = "exact"          // its digest is the representative's: a copy, as trap:copy has it
	Near           kind = "near"           // anything else
)

// member is a page that has duplicates.
type member struct {
	neardupPage
	Cluster        uint64 // a hash of the representative's URL
	Size           int64  // pages of the cluster
	Representative string // its URL
	Kind           kind
	Similarity     float64 // to the representative
	Digest         uint64
}

// setPage is a page in its set.
type setPage struct {
	Set, N, Size uint32
	Page         neardupPage
}

// members yields the pages of all sets that have two at least. They are put in order twice: by set, the representative
// first, to hold the others against it; then by cluster, which is named after the representative.
func (f *finder) members(ctx context.Context, yield func(member, error) bool) {
	bySet, byCluster := sorted.NewRows[setPage](f.dir, f.limit), sorted.NewRows[member](f.dir, f.limit)
	defer func() { _ = errors.Join(bySet.Close(), byCluster.Close()) }() // what they leave has no name
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

// gather puts the pages that have duplicates in the order of their sets. The shortest URL of a set comes first, the first
// by its bytes among several.
func (f *finder) gather(ctx context.Context, bySet *sorted.Rows[setPage]) error {
	sizes := make([]uint32, len(f.at))
	for n := range sizes {
		sizes[f.sets.root(uint32(n))]++ //nolint:gosec // it is bounded
	}
	return f.each(ctx, func(n uint32, p *sketchedPage) error {
		set := f.sets.root(n)
		if sizes[set] < 2 {
			return nil
		}
		return bySet.Add(fmt.Sprintf("%08x%08x%s", set, len(p.Page.URL), p.Page.URL), setPage{set, n, sizes[set], p.Page})
	})
}

// compare holds the pages of each set against the first of it.
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
			m.Kind, m.Representative, m.Cluster = representative, m.URL, clusterOf(m.URL)
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

// clusterOf names the cluster of a representative: FNV-1a of 64 bits.
func clusterOf(url string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(url))
	return h.Sum64()
}

// Row is the row of a member in tables.Duplicates.
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

// sets are disjoint sets of pages (Galler and Fischer 1964). The number of a set is the least of its pages'.
type sets struct {
	above []uint32 // of each page one of its set with a lower number, or itself
	twins []uint64 // bits: pages for which one with a lower number is compared
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
	// Width is how many words a shingle has.
	width = 4
	// MaxWords is how many words of a page are compared: its first.
	maxWords = 1 << 18
)

// shingler makes the shingles of a text, word by word.
type shingler struct {
	last   [width]uint64 // the hashes of the last words; the place of the next is words % Width
	words  int
	hashes []uint64 // of the shingles, in the order of the text
}

func (s *shingler) take(words string) {
	for word := range apart(words) {
		s.word(word)
	}
}

// apart takes words apart: at spaces, and around each character of a script that puts no space between words.
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
			if unspaced(r) && (!cut(at, at) || !cut(at+n, at+n)) {
				return
			}
			at += n
		}
		cut(len(words), len(words))
	}
}

// unspaced reports whether r is of a script that is written without a space between two words.
func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar)
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

// multiplier puts the words of a shingle in their places: 2^64 divided by the golden ratio, odd.
const multiplier = 0x9e3779b97f4a7c15

// fnv1a is the hash of a word: FNV-1a of 64 bits. The standard library's costs a call for each word more.
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

// Reader reads one page: its text piece by piece, as extract.Input.Text has it, and what it shows.
type Reader struct {
	says     *trap.Digester
	shingles shingler
}

func newNeardupReader(u canon.URL) *Reader {
	r := &Reader{says: trap.NewDigester(u, false)}
	r.says.Hear(r.shingles.take)
	return r
}

// Text takes a piece of the page's text.
func (r *Reader) Text(s string) { r.says.Text(s) }

// Sketch is what is kept of a page with these links, of which those count that it shows. The Reader is of no use afterwards.
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
	bands       = 25  // of which two pages must share one to be compared
	neardupRows = 5   // minima of a band
)

// Sketch is what is kept of a page to compare it with others.
type Sketch struct {
	// Digest is that of the text that trap:copy compares: the same for pages that say the same word for word and show the
	// same pictures. Zero says that the page has too few words to be compared.
	Digest uint64
	// Simhash is Charikar's of the shingles. Zero for a page without one.
	Simhash uint64
	// Words is how many there are, MaxWords at most, and Shingles how many distinct ones.
	Words, Shingles int

	least []uint32      // the least hashes of its shingles, the upper halves, in order
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
	s.bands = bandsOf(minima(set))
	return s
}

// simhash is the similarity hash of a set (Charikar 2002): each bit is what most members have there; zero when as many
// have one as the other.
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

// minima are MinHashes of a set that is not empty, by one permutation (Li, Owen and Zhang 2012): each hash falls into a
// bin by its lower half, and the least upper half of a bin counts. A bin that stays empty borrows from another, which is
// chosen by its own number alone (Shrivastava 2017), so that two sets that are alike borrow alike.
func minima(set []uint64) (least [bands * neardupRows]uint64) {
	for i := len(set) - 1; i >= 0; i-- { // in order of the upper half: the least of a bin comes last
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

func bandsOf(least [bands * neardupRows]uint64) (b [bands]uint64) {
	for i := range b {
		for _, m := range least[i*neardupRows : (i+1)*neardupRows] {
			b[i] = mix(b[i]*multiplier + m)
		}
	}
	return b
}

// similarity estimates how many of the shingles that two pages have together are in both (Jaccard's coefficient). It is
// exact when both have few of them, and else it is taken from the least hashes of both together (Broder 1997).
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
