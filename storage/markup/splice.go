package markup

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"curtsy/storage/charset"
	"curtsy/storage/mediatype"
)

// edit replaces the text from start to end.
type edit struct {
	start, end int
	text       string
}

// sink takes edits in order, without overlap.
type sink func(edit)

// splicer writes a document with its edits and copies all other bytes.
type splicer struct {
	in   []byte
	c    coding
	out  []byte
	done int // bytes of in that are written or replaced
	at   cursor
	err  error
	most int // bytes of out; 0 = unlimited

	twin *splicer // makes the same edits in the text, for comparison; only for stateful encodings
}

// text returns the document's text, in which edits have their places. It shares the bytes of a document in UTF-8.
func (s *splicer) text() (string, error) {
	body := s.in[s.c.Mark:]
	s.done = s.c.Mark
	s.at = cursor{rest: body, src: s.c.Mark}
	if s.c.Encoding == nil {
		return unsafe.String(unsafe.SliceData(body), len(body)), nil
	}
	s.at.dec = s.c.Encoding.NewDecoder()
	text, _, err := transform.Bytes(s.c.Encoding.NewDecoder(), body)
	if err != nil {
		return "", fmt.Errorf("markup: decode a document as %s: %w", s.c.Name, err)
	}
	if s.c.Name == "iso-2022-jp" {
		s.twin = &splicer{in: text}
	}
	return unsafe.String(unsafe.SliceData(text), len(text)), nil
}

func (s *splicer) edit(e edit) {
	if s.err != nil {
		return
	}
	if s.most > 0 && len(s.out)+len(e.text) > s.most {
		s.err = ErrTooLarge
		return
	}
	if s.twin != nil {
		s.twin.edit(e)
	}
	var start, end int
	if start, s.err = s.place(e.start); s.err != nil {
		return
	}
	if end, s.err = s.place(e.end); s.err != nil {
		return
	}
	if s.out == nil {
		s.out = make([]byte, 0, len(s.in)+len(s.in)/8)
		s.out = append(s.out, s.in[:s.c.Mark]...)
	}
	s.out = append(s.out, s.in[s.done:start]...)
	s.done = end
	switch s.c.Name {
	case "utf-16be":
		for i := range len(e.text) {
			s.out = append(s.out, 0, e.text[i])
		}
	case "utf-16le":
		for i := range len(e.text) {
			s.out = append(s.out, e.text[i], 0)
		}
	default: // all others contain ASCII as it is
		s.out = append(s.out, e.text...)
	}
}

func (s *splicer) place(text int) (int, error) {
	if s.c.Encoding == nil {
		return s.c.Mark + text, nil
	}
	return s.at.to(text)
}

func (s *splicer) result() ([]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	if s.out == nil {
		return s.in, nil
	}
	s.out = append(s.out, s.in[s.done:]...)
	if s.twin == nil {
		return s.out, nil
	}
	// In a stateful encoding, an edit may have changed the meaning of the rest.
	want, _ := s.twin.result()
	got, _, err := transform.Bytes(s.c.Encoding.NewDecoder(), s.out[s.c.Mark:])
	if err != nil || !bytes.Equal(got, want) {
		return nil, fmt.Errorf("markup: write references into a document in %s: its escapes are within them", s.c.Name)
	}
	return s.out, nil
}

// cursor maps places in the text to bytes. It decodes again, since a table of all places would be larger than the document.
type cursor struct {
	dec       *encoding.Decoder
	rest      []byte // not decoded yet
	src, text int    // bytes before rest, and the length of their text
	buf       [1 << 12]byte
}

// slack is the distance to a place below which the cursor goes by single characters, since a decoder may read beyond its
// output.
const slack = 16

var errPlace = errors.New("markup: a place in the text is between no two characters of the document")

func (c *cursor) to(text int) (int, error) {
	for c.text < text {
		was := c.src
		var err error
		if n := min(len(c.buf), text-c.text-slack); n >= utf8.UTFMax {
			err = c.step(c.buf[:n], c.rest)
		} else {
			err = c.character(text - c.text)
		}
		if err != nil {
			return 0, err
		}
		if c.src == was {
			return 0, errPlace
		}
	}
	if c.text > text {
		return 0, errPlace
	}
	return c.src, nil
}

// character decodes until there is output, if possible at most that many bytes: some defects give output only with the
// next character.
func (c *cursor) character(most int) error {
	was := c.text
	for n := 1; c.text == was; n++ {
		if n > len(c.rest) {
			return errPlace
		}
		before := c.src
		if err := c.step(c.buf[:min(most, len(c.buf))], c.rest[:n]); err != nil {
			return err
		}
		if c.src == before && most < utf8.UTFMax {
			// Some decoders need room for the longest character.
			if err := c.step(c.buf[:], c.rest[:n]); err != nil {
				return err
			}
		}
		n -= c.src - before
	}
	return nil
}

func (c *cursor) step(dst, src []byte) error {
	written, read, err := c.dec.Transform(dst, src, len(src) == len(c.rest))
	c.rest, c.src, c.text = c.rest[read:], c.src+read, c.text+written
	if err != nil && !errors.Is(err, transform.ErrShortDst) && !errors.Is(err, transform.ErrShortSrc) {
		return fmt.Errorf("markup: decode a document: %w", err)
	}
	return nil
}

// first returns a sink that inserts e in its place among other edits, and a function that inserts it at the end.
func first(e edit, to sink) (sink, func()) {
	made := false
	flush := func() {
		if !made {
			made = true
			to(e)
		}
	}
	return func(other edit) {
		if other.start >= e.end {
			flush()
		}
		to(other)
	}, flush
}

// needsName reports whether the bytes depend on the encoding.
func (c coding) needsName(in []byte) bool {
	switch c.Name {
	case "utf-16be", "utf-16le", "iso-2022-jp":
		return true
	case "replacement", "x-user-defined":
		return false // a document cannot declare it
	}
	return !allASCII(in)
}

// allASCII checks eight bytes at a time, since it reads every page.
func allASCII(in []byte) bool {
	for ; len(in) >= 8; in = in[8:] {
		if binary.LittleEndian.Uint64(in)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range in {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// lead writes a byte order mark, the only declaration of UTF-16.
func (s *splicer) lead() bool {
	mark := "\xFE\xFF"
	switch s.c.Name {
	case "utf-16le":
		mark = "\xFF\xFE"
	case "utf-16be":
	default:
		return false
	}
	s.out = append(make([]byte, 0, len(s.in)+len(s.in)/8), mark...)
	return true
}

// reach is how far a browser looks for a page's charset (HTML Standard 4.2.5.5), less the declaration.
const reach = 1024 - 64

// htmlDeclaration writes a meta element first in the head, which overrides any other.
func htmlDeclaration(s, name string) edit {
	meta := `<meta charset="` + name + `">`
	z := scanner{s: s[:min(len(s), reach)]}
	at := 0
	if m := doctype().FindStringIndex(z.s); m != nil {
		at = m[1] // before the doctype it would cause quirks mode
	}
	z.at = at
	for _, want := range []string{"html", "head"} {
		was := z
		t, ok := z.next()
		if !ok || t.name != want && t.name != "head" {
			z = was
			continue
		}
		at = t.end
	}
	return edit{at, at, meta}
}

var doctype = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)^(?:\s+|<!--.{0,500}?-->)*<!doctype[^>]*>`)
})

// cssDeclaration writes a @charset. Another one after it has no effect.
func cssDeclaration(_, name string) edit { return edit{0, 0, `@charset "` + name + `";`} }

var xmlVersion = regexp.MustCompile(`^<\?xml\s+version\s*=\s*(?:"[^"]*"|'[^']*')(\s+encoding\s*=\s*(?:"[^"]*"|'[^']*'))?`)

// xmlDeclaration writes the XML declaration, or the encoding into an existing one.
func xmlDeclaration(s, name string) edit {
	encoding := ` encoding="` + name + `"`
	m := xmlVersion.FindStringSubmatchIndex(s[:min(len(s), reach)])
	switch {
	case m == nil && strings.HasPrefix(s, "<?xml") && len(s) > 5 && IsSpace(s[5]):
		return edit{len("<?xml"), len("<?xml"), ` version="1.0"` + encoding}
	case m == nil:
		return edit{0, 0, `<?xml version="1.0"` + encoding + `?>`}
	case m[2] >= 0:
		return edit{m[2], m[3], encoding}
	}
	return edit{m[1], m[1], encoding}
}

// coding is the charset of a document, and whether the document declares it, if that matters.
type coding struct {
	charset.Charset
	declared bool
}

// queries returns the charset of the document's queries, as in Ref.Charset.
func (c coding) queries() string {
	if c.Encoding == nil {
		return ""
	}
	return c.Name
}

func htmlCoding(in []byte, o Options) coding {
	c := coding{Charset: charset.Page(o.ContentType, in)}
	switch {
	case c.By == charset.ByMark:
		c.declared = true
	case o.Declare && c.needsName(in): // otherwise told is not used
		own := c.Charset
		if c.By == charset.ByHeader {
			own = charset.Page("", in)
		}
		c.declared = c.Name == own.Name && metaNames(in, c.Name)
	}
	return c
}

// metaNames reports whether every browser reads a page without Content-Type in that encoding, not by a guess.
func metaNames(in []byte, name string) bool {
	head := in[:min(len(in), 1024)]
	for _, m := range metaCharset.FindAllSubmatch(head, -1) {
		if c, ok := charset.Of(string(m[1])); ok && c.Name == name {
			return true
		}
	}
	return false
}

// metaCharset finds a candidate for a meta element's charset, which DetermineEncoding has confirmed.
var metaCharset = regexp.MustCompile(`(?i)charset\s*=\s*["']?\s*([-_.:a-z0-9]+)`)

// cssCoding determines the charset of a style sheet (CSS Syntax 3.2): byte order mark, Content-Type, @charset, UTF-8.
// That of the linking document is unknown here.
func cssCoding(in []byte, o Options) coding {
	if c, ok := charset.Marked(in); ok {
		return coding{c, true}
	}
	own, named := atCharset(in)
	if c, ok := charset.Of(mediatype.Parse(o.ContentType).Charset); ok {
		return coding{c, named && own.Name == c.Name}
	}
	if named {
		return coding{own, true}
	}
	return coding{Charset: plainUTF8}
}

var plainUTF8 = charset.Charset{Name: "utf-8"}

// atCharset parses a @charset rule, which counts only in this spelling at the start (3.2).
func atCharset(in []byte) (c charset.Charset, ok bool) {
	const begin = `@charset "`
	rest, found := bytes.CutPrefix(in[:min(len(in), 1024)], []byte(begin))
	if !found {
		return c, false
	}
	label, _, found := bytes.Cut(rest, []byte(`";`))
	if !found {
		return c, false
	}
	if c, ok = charset.Of(string(label)); ok && strings.HasPrefix(c.Name, "utf-16") {
		return plainUTF8, true // in UTF-16 the rule would be unreadable
	}
	return c, ok
}

// xmlCoding determines the charset of an XML document like package extract.
func xmlCoding(in []byte, o Options) coding {
	c := coding{Charset: charset.XML(o.ContentType, in), declared: true}
	own, named := charset.Of(mediatype.Declared(in))
	switch {
	case c.By == charset.ByHeader:
		c.declared = named && own.Name == c.Name || !named && c.Encoding == nil
	case c.By == charset.ByXML && named:
		c.declared = mediatype.Wide(in) == "" // not every browser accepts a wide declaration
	}
	return c
}

// EncodeQuery returns a reference with its query encoded as a browser sends it: in the document's charset, with character
// references for characters that it lacks (URL Standard 5.1, percent-encode after encoding; HTML Standard 2.4.3,
// encoding-parse a URL). UTF-16 and "" count as UTF-8. The rest of a URL, and references in style sheets, are always
// UTF-8.
func EncodeQuery(ref, charsetName string) string {
	from := strings.IndexByte(ref, '?')
	if charsetName == "" || charsetName == "utf-8" || from < 0 || strings.IndexFunc(ref[from:], func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return ref
	}
	query, fragment := ref[from+1:], ""
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		if i < from {
			return ref // the question mark belongs to the fragment
		}
		query, fragment = ref[from+1:i], ref[i:]
	}
	c, ok := charset.Of(charsetName)
	if !ok || c.Encoding == nil || strings.HasPrefix(c.Name, "utf-16") || c.Name == "replacement" {
		return ref
	}
	if r := japanese[c.Name]; r != nil {
		query = r.Replace(query)
	}
	return ref[:from+1] + encodedQuery(query, c.Encoding) + fragment
}

// japanese has the output of the Encoding Standard's encoders (12.2.2, 12.3.2, 13.2) for characters that x/text rejects: a
// full-width minus sign, and ASCII "\\" and "~" for yen sign and overline.
var japanese = map[string]*strings.Replacer{
	"shift_jis":   strings.NewReplacer("\u2212", "\uFF0D", "\u00A5", "\\", "\u203E", "~"),
	"euc-jp":      strings.NewReplacer("\u2212", "\uFF0D", "\u00A5", "\\", "\u203E", "~"),
	"iso-2022-jp": strings.NewReplacer("\u2212", "\uFF0D"),
}

// encodedQuery encodes runs of characters at once, since some charsets shift between states.
func encodedQuery(query string, e encoding.Encoding) string {
	var b strings.Builder
	run := 0
	flush := func(to int) {
		octets, _ := e.NewEncoder().String(query[run:to]) // each character has been encoded before
		for i := range len(octets) {
			// the query percent-encode set (URL Standard 1.3, for special schemes)
			if c := octets[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"#<>'`, c) >= 0 {
				fmt.Fprintf(&b, "%%%02X", c)
			} else {
				b.WriteByte(c)
			}
		}
	}
	one := e.NewEncoder()
	for i, r := range query {
		if r < 0x80 {
			continue
		}
		one.Reset()
		// The encoder writes character references itself, with bytes that would end a parameter.
		if s, err := one.String(string(r)); err != nil || strings.HasPrefix(s, "&#") {
			flush(i)
			fmt.Fprintf(&b, "%%26%%23%d%%3B", r)
			run = i + len(string(r))
		}
	}
	flush(len(query))
	return b.String()
}
