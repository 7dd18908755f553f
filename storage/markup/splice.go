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
)

// edit puts text in the place of what stands from start to end.
type edit struct {
	start, end int
	text       string
}

// sink takes edits in order of their places, none overlapping another.
type sink func(edit)

// splicer writes a document with its edits: whatever no edit touches is copied as the bytes it was.
type splicer struct {
	in   []byte
	c    coding
	out  []byte
	done int // bytes of in that are written or replaced
	at   cursor
	err  error
	most int // bytes of out; 0: any number

	twin *splicer // makes the same edits in the text, to compare; of stateful encodings
}

// text returns the document as the text that edits are places in. It shares the bytes of a document in UTF-8.
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

// edit is a sink.
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
	default: // all others hold ASCII as it is
		s.out = append(s.out, e.text...)
	}
}

func (s *splicer) place(text int) (int, error) {
	if s.c.Encoding == nil {
		return s.c.Mark + text, nil
	}
	return s.at.to(text)
}

// result returns the document with all edits made.
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
	// Where bytes mean what an escape long before them says, a cut may have changed the meaning of the rest.
	want, _ := s.twin.result()
	got, _, err := transform.Bytes(s.c.Encoding.NewDecoder(), s.out[s.c.Mark:])
	if err != nil || !bytes.Equal(got, want) {
		return nil, fmt.Errorf("markup: write references into a document in %s: its escapes are within them", s.c.Name)
	}
	return s.out, nil
}

// cursor finds the bytes that a place in the text comes from. It decodes once more, for a table of all places would be
// larger than the document.
type cursor struct {
	dec       *encoding.Decoder
	rest      []byte // not decoded yet
	src, text int    // bytes before rest, and of the text they are
	buf       [1 << 12]byte
}

// slack is how near to a place the cursor goes in great steps: near it, one character at a time, since a decoder may
// read beyond what it writes.
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

// character decodes until something is written, and no more than so many bytes of text if it can: a defect may be
// written only along with what follows it.
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
			// Some decoders write only where the longest character has room.
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

// first returns a sink that makes e where its place comes, among the edits of others, and what makes it in the end.
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

// needsName reports whether it matters in which encoding the bytes are read.
func (c coding) needsName(in []byte) bool {
	switch c.Name {
	case "utf-16be", "utf-16le", "iso-2022-jp":
		return true
	case "replacement", "x-user-defined":
		return false // no document can say so
	}
	return !allASCII(in)
}

// allASCII looks at eight bytes at a time: every page is looked at whole.
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

// lead writes a byte order mark, which alone can tell UTF-16.
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

// reach is within how many bytes a browser looks for a page's charset (HTML Standard 4.2.5.5), less what is written.
const reach = 1024 - 64

// htmlDeclaration writes a meta element: as the first in the head, and before any other, which it overrules.
func htmlDeclaration(s, name string) edit {
	meta := `<meta charset="` + name + `">`
	z := scanner{s: s[:min(len(s), reach)]}
	at := doctypeAt(s)
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

// doctypeAt returns where a page's doctype ends; 0 if it has none. Behind anything else than it a page would be shown
// in quirks mode.
func doctypeAt(s string) int {
	if m := doctype().FindStringIndex(s[:min(len(s), reach)]); m != nil {
		return m[1]
	}
	return 0
}

// cssDeclaration writes a @charset. If there is another behind it, that is no more than a rule without meaning.
func cssDeclaration(_, name string) edit { return edit{0, 0, `@charset "` + name + `";`} }

var xmlVersion = regexp.MustCompile(`^<\?xml\s+version\s*=\s*(?:"[^"]*"|'[^']*')(\s+encoding\s*=\s*(?:"[^"]*"|'[^']*'))?`)

// xmlDeclaration writes the XML declaration, or the encoding in the one that there is.
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
