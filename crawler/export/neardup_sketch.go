package export

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
	"unicode"
	"unicode/utf8"

	"curtsy/crawler/extract"
	"curtsy/crawler/trap"
	"curtsy/frontier/canon"
)

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

// take takes words with one space between two.
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

// set is the set of all shingles, in order.
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

// newNeardupReader returns a Reader for the page at u.
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

// sketch is that of a set of shingles, in order.
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

// Similarity estimates how many of the shingles that two pages have together are in both (Jaccard's coefficient). It is
// exact when both have few of them, and else it is taken from the least hashes of both together (Broder 1997).
func (s *Sketch) Similarity(o *Sketch) float64 { return similarity(s.least, o.least) }

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

// appendLeast appends the hashes that two sketches are compared by.
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
