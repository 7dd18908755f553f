package trap

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"hash/fnv"
	"math/bits"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"curtsy/frontier/canon"
)

// leastWords is the minimum of words for comparing texts: pages of pictures have few, and are not copies.
const leastWords = 8

// Digester summarises the content of a page in two digests: of the words passed to Text, split at white
// space, and of the URLs passed to Embed.
//
//	text    the words in order, without the page's own URL (whole, without its scheme, path
//	        and query, path; as it is and percent-decoded; with or without the slash at the end) and the session ids
//	        in it; words that are then empty do not count
//	shape   the same, each word as its Template, "#" only once in a row; of a page with eight fractions or
//	        more, also these
//
// A URL of Embed counts whole in both, except for a session id of the page's own URL: pages that differ by their
// picture differ.
type Digester struct {
	own, ids []string // of the page's URL: its forms, each with a slash in it, and its session ids; longest first
	root     bool     // the page is its site's first: "/" is its path
	text     stream
	shape    stream // without a hash if it is left out
	words    int
	number   bool // the last word of shape was "#"
	measures measures
	hear     func(words string)
}

// NewDigester returns a Digester for the page at u. The shape is optional, and costs as much as the text.
func NewDigester(u canon.URL, shape bool) *Digester {
	d := &Digester{text: newStream(poured), own: make([]string, 0, 4), root: u.Path() == "/"}
	if shape {
		d.shape = newStream(2 * poured)
	}
	_, plain, _ := strings.Cut(u.String(), "://")
	for _, form := range [...]string{u.String(), plain, u.RequestURI(), u.Path()} {
		d.takeOut(form)
		if decoded, err := url.PathUnescape(form); err == nil && utf8.ValidString(decoded) {
			d.takeOut(decoded)
		}
	}
	d.ids = ids(u.RequestURI())
	for _, forms := range [...][]string{d.own, d.ids} {
		slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) })
	}
	return d
}

// Hear passes the digested words to a function, several at a time with one space between them. Package neardup compares pages by
// them.
func (d *Digester) Hear(to func(words string)) { d.hear = to }

// takeOut adds a form of the page's own URL, unless it has white space.
func (d *Digester) takeOut(form string) {
	for _, s := range []string{form, strings.TrimSuffix(form, "/")} {
		if len(s) > 1 && strings.Contains(s, "/") && !slices.Contains(d.own, s) {
			d.own = append(d.own, s)
		}
	}
}

// Text adds a piece of text, which ends at word boundaries.
func (d *Digester) Text(s string) {
	if len(d.ids) > 0 {
		d.wordwise(s)
		return
	}
	shape := d.shape.hash != nil
	for s = s[spaces(s):]; s != ""; s = s[spaces(s):] {
		end, words := plainWords(s, shape)
		if words == 0 {
			end = wordEnd(s)
			d.wordwise(s[:end])
		} else {
			d.words += words
			d.text.take(s[:end])
			if d.hear != nil {
				d.hear(s[:end])
			}
			if shape {
				d.shape.take(s[:end])
				d.number = false
			}
		}
		s = s[end:]
	}
}

func (d *Digester) wordwise(s string) {
	for word := range strings.FieldsSeq(s) {
		if word = d.without(word); word != "" {
			d.words++
			if d.hear != nil {
				d.hear(word)
			}
			d.add(word, true)
		}
	}
}

// Embed adds the URL of a resource that the page shows.
func (d *Digester) Embed(u canon.URL) {
	d.add(without(u.String(), d.ids), false)
}

// without removes the page's own URL from a word.
func (d *Digester) without(word string) string {
	if strings.IndexByte(word, '/') >= 0 {
		if d.root && word == "/" {
			return ""
		}
		word = without(word, d.own)
	}
	if len(word) >= idLength {
		word = without(word, d.ids)
	}
	return word
}

func without(s string, parts []string) string {
	for _, part := range parts {
		if strings.Contains(s, part) {
			s = strings.ReplaceAll(s, part, "")
		}
	}
	return s
}

// add hashes a word, and its template into the shape if folded.
func (d *Digester) add(word string, folded bool) {
	d.text.take(word)
	if d.shape.hash == nil {
		return
	}
	at := len(d.shape.buf)
	if folded {
		d.shape.buf = appendTemplate(d.shape.buf, word)
		d.measures.take(word)
	} else {
		d.shape.buf = append(d.shape.buf, word...)
	}
	number := string(d.shape.buf[at:]) == "#"
	if number && d.number {
		d.shape.buf = d.shape.buf[:at]
	} else {
		d.shape.buf = append(d.shape.buf, ' ')
	}
	d.number = number
	d.shape.pour()
}

// Digests returns both digests. The text is zero with too few words; the shape if it was left out.
func (d *Digester) Digests() (text, shape uint64) {
	if d.words >= leastWords {
		text = d.text.sum() | 1
	}
	if d.shape.hash != nil {
		shape = d.measures.into(d.shape.sum())
	}
	return text, shape
}

// stream hashes words, short ones together.
type stream struct {
	hash hash.Hash
	buf  []byte
	out  [sha256.Size]byte
}

const poured = 1 << 10 // bytes

func newStream(room int) stream { return stream{hash: sha256.New(), buf: make([]byte, 0, room)} }

// take adds words separated by single spaces, and a space.
func (s *stream) take(words string) {
	s.write(words)
	s.write(" ")
	s.pour()
}

func (s *stream) write(text string) {
	for {
		n := copy(s.buf[len(s.buf):cap(s.buf)], text)
		s.buf, text = s.buf[:len(s.buf)+n], text[n:]
		if text == "" {
			return
		}
		s.hash.Write(s.buf)
		s.buf = s.buf[:0]
	}
}

func (s *stream) pour() {
	if len(s.buf) >= poured {
		s.hash.Write(s.buf)
		s.buf = s.buf[:0]
	}
}

func (s *stream) sum() uint64 {
	s.hash.Write(s.buf)
	s.buf = s.buf[:0]
	return Shape(s.hash.Sum(s.out[:0]))
}

// Shape returns the shape of a body other than HTML from its digest.
func Shape(sum []byte) uint64 { return binary.BigEndian.Uint64(sum) }

// leastMeasures is the minimum of fractions for a page of data: render times and prices in advertisements make no page new.
const leastMeasures = 8

// measures digests the fractions of a page of data, which is new each day with the same words. Whole numbers do not count, since a
// calendar has only those.
type measures struct {
	n   int
	sum uint64
}

func (m *measures) take(word string) {
	if !isMeasure(word) {
		return
	}
	m.n++
	h := fnv.New64a()
	h.Write([]byte(word))
	m.sum = (m.sum ^ h.Sum64()) * 0x9e3779b97f4a7c15
}

func (m *measures) into(shape uint64) uint64 {
	if m.n < leastMeasures {
		return shape
	}
	return shape ^ m.sum
}

// isMeasure reports whether a word is a fraction, or a number in groups of thousands, perhaps with a sign or a unit: digits on both
// sides of one point or comma, which are not a day and a month.
func isMeasure(word string) bool {
	at := strings.IndexAny(word, ".,")
	if at < 1 || at == len(word)-1 || !digit(word[at-1]) || !digit(word[at+1]) {
		return false
	}
	begin, end := at, at+1
	for begin > 0 && digit(word[begin-1]) {
		begin--
	}
	for end < len(word) && digit(word[end]) {
		end++
	}
	if strings.ContainsAny(word[:begin], "0123456789") || strings.ContainsAny(word[end:], "0123456789") {
		return false // a date, a time, an address, a version
	}
	return !small(word[begin:at]) || !small(word[at+1:end])
}

// small reports whether digits may be a day or a month.
func small(digits string) bool { return len(digits) == 1 || len(digits) == 2 && digits <= "31" }

// Most of the input is words, and nearly all of them are plain: ASCII, one space between
// two, no slash that the page's own URL could be found by, no digit that a shape leaves out. They are read many at a
// time.

// plainWords returns the length and number of words at the beginning of s that are plain: without a slash, separated by
// single spaces, and followed by white space or the end; with templates, also without digits and "#". White space is
// that of strings.Fields.
func plainWords(s string, templates bool) (end, words int) {
	i, spaces := plainOctets(s, templates)
	for ; i < len(s); i++ {
		switch octets[s[i]] {
		case plain:
			continue
		case number:
			if !templates {
				continue
			}
		case space:
			if i == 0 || s[i-1] == ' ' { // no word before it
				return max(i-1, 0), spaces
			}
			if s[i] == ' ' {
				spaces++
				continue
			}
			return i, spaces + 1
		}
		for i > 0 && s[i-1] != ' ' { // the word that it is in
			i--
		}
		return max(i-1, 0), spaces
	}
	if i > 0 && s[i-1] == ' ' {
		return i - 1, spaces
	}
	return i, spaces + 1
}

// plainOctets is plainWords for eight bytes at a time, as far as those are plain with no two spaces in a row.
func plainOctets(s string, templates bool) (n, spaces int) {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	var before uint64 = 0x80 // a leading space has no word before it
	for ; n+8 <= len(s); n += 8 {
		w := eight(s[n:])
		if w&highs != 0 {
			break
		}
		// With the high bits clear no sum below carries into the next byte.
		graphic := w + (0x80-' ')*ones      // high: not below a space
		noSlash := w ^ '/'*ones + 0x7f*ones // high: no slash
		space := ^(w ^ ' '*ones + 0x7f*ones) & highs
		if graphic&noSlash&highs != highs || space&(space<<8|before) != 0 {
			break
		}
		if templates {
			digit := (w + (0x80-'0')*ones) &^ (w + (0x7f-'9')*ones)
			noHash := w ^ '#'*ones + 0x7f*ones
			if (digit|^noHash)&highs != 0 {
				break
			}
		}
		before = space >> 56
		spaces += bits.OnesCount64(space)
	}
	return n, spaces
}

// eight returns the first 8 bytes of s, little-endian.
func eight(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// spaces returns the length of leading ASCII white space.
func spaces(s string) (n int) {
	for n < len(s) && octets[s[n]] == space {
		n++
	}
	return n
}

// wordEnd returns the end of ASCII white space after the beginning of s, which may have several words.
func wordEnd(s string) (n int) {
	for n < len(s) && octets[s[n]] != space {
		n++
	}
	return n
}

type octet uint8

const (
	plain  octet = iota
	number       // a digit, or "#"
	space        // of ASCII
	other        // a slash, or a byte that may begin white space beyond ASCII
)

// octets has the class of each byte. White space beyond ASCII begins with one of four bytes of UTF-8: U+0085, U+00A0;
// U+1680; U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F; U+3000.
var octets = [256]octet{
	'\t': space, '\n': space, '\v': space, '\f': space, '\r': space, ' ': space,
	'0': number, '1': number, '2': number, '3': number, '4': number, '5': number, '6': number, '7': number, '8': number,
	'9': number, '#': number,
	'/': other, 0xc2: other, 0xe1: other, 0xe2: other, 0xe3: other,
}
