package export

import (
	"iter"
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
