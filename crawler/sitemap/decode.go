package sitemap

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"curtsy/storage/charset"
	"curtsy/storage/mediatype"
)

// sniffed is how many bytes decide encoding and format.
const sniffed = 1 << 10

var (
	errBinary = errors.New("it is neither XML nor text")

	declaration = regexp.MustCompile(`^\s*<\?xml\s[^>]*\?>`)
	// declared matches the encoding in an XML declaration (XML 1.0 2.8).
	declared = regexp.MustCompile(`^\s*<\?xml[^>]*?\sencoding\s*=\s*["']\s*([A-Za-z0-9._:-]+)`)
)

// decode decodes characters and reports whether the first that is not blank begins XML.
func decode(octets io.Reader, contentType string) (r *clean, isXML bool, err error) {
	b := bufio.NewReaderSize(octets, 4<<10)
	head, _ := b.Peek(sniffed)
	e, mark := encodingOf(head, contentType)
	_, _ = b.Discard(mark)
	text := &clean{r: b, base: int64(mark)}
	if e != nil {
		text.r = bufio.NewReaderSize(transform.NewReader(b, e.NewDecoder()), 4<<10)
		text.base = 0
	}
	head, _ = text.r.Peek(sniffed)
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	if bytes.HasPrefix(trimmed, []byte("<")) {
		return text, true, nil
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return nil, false, errBinary
	}
	return text, false, nil
}

// encodingOf returns the encoding, nil for UTF-8, and the length of the byte order mark.
func encodingOf(head []byte, contentType string) (e encoding.Encoding, mark int) {
	c, ok := charset.Marked(head)
	switch {
	case ok:
		return c.Encoding, c.Mark
	case bytes.HasPrefix(head, []byte("<\x00")): // XML 1.0 F.1
		c, _ = charset.Of("utf-16le")
		return c.Encoding, 0
	case bytes.HasPrefix(head, []byte("\x00<")):
		c, _ = charset.Of("utf-16be")
		return c.Encoding, 0
	}
	labels := []string{mediatype.Parse(contentType).Charset}
	if m := declared.FindSubmatch(head); m != nil {
		labels = append(labels, string(m[1]))
	}
	for _, label := range labels {
		// UTF-16 is a false claim for a file that reads as ASCII.
		if c, ok := charset.Of(label); ok && !strings.HasPrefix(strings.ToLower(label), "utf-16") {
			return c.Encoding, 0
		}
	}
	return nil, 0
}

// clean reads characters. Invalid bytes, and characters that XML 1.0 2.2 does not allow, become spoil bytes.
type clean struct {
	r    *bufio.Reader
	base int64 // bytes of the file before the first one of r

	pending [utf8.UTFMax]byte // the present character
	from, n int
	read    int64 // bytes returned
	token   int   // bytes of the present token
	long    bool  // a token was too long
}

// spoil replaces an invalid byte. DEL is allowed in XML, but not in URLs.
const spoil = 0x7F

// spoilt reports whether an address has a character that was replaced, here or by a decoder.
func spoilt(s string) bool {
	return strings.IndexByte(s, spoil) >= 0 || strings.Contains(s, "\uFFFD")
}

// undefined matches an undefined entity.
var undefined = regexp.MustCompile(`&[A-Za-z][A-Za-z0-9._-]*;`)

// around reports whether a character around an address is not part of it: white space, and characters without width.
func around(r rune) bool { return unicode.IsSpace(r) || r == '\u200B' || r == '\uFEFF' }

var errToken = errors.New("sitemap: a token is too long")

func (c *clean) begin() { c.token = 0 }

func (c *clean) ReadByte() (byte, error) {
	if c.token >= maxToken {
		c.long = true
		return 0, errToken
	}
	if c.from == c.n {
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	b := c.pending[c.from]
	c.from++
	c.read++
	c.token++
	return b, nil
}

func (c *clean) fill() error {
	b, err := c.r.ReadByte()
	if err != nil {
		return err
	}
	c.from, c.n = 0, 1
	if b < utf8.RuneSelf {
		if b < ' ' && b != '\t' && b != '\n' && b != '\r' {
			b = spoil
		}
		c.pending[0] = b
		return nil
	}
	if err := c.r.UnreadByte(); err != nil {
		return err
	}
	r, size, err := c.r.ReadRune()
	if err != nil {
		return err
	}
	if r == utf8.RuneError && size == 1 || r == 0xFFFE || r == 0xFFFF {
		c.n = size
		for i := range size {
			c.pending[i] = spoil
		}
		return nil
	}
	c.n = utf8.EncodeRune(c.pending[:], r)
	return nil
}

// Read is required by encoding/xml, which uses ReadByte.
func (c *clean) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		if p[n], err = c.ReadByte(); err == nil {
			n++
		}
	}
	if n > 0 {
		err = nil
	}
	return n, err
}

// offset is the position in the file.
func (c *clean) offset() int64 { return c.base + c.read }
