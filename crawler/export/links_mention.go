package export

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"curtsy/crawler/extract"
)

// mention is one mention of a URL, as it is kept between the passes.
type mention struct {
	kind               string // one of kinds
	element, attribute string
	rel                string
	text               string
	written            string
	url                string // empty without one
	why                string // why it is no link; empty if it is one
	repeated, nofollow bool
	rels               extract.Rels
}

// kinds are the kinds of mentions by their numbers.
var kinds = [...]string{kindLink, kindEmbed, kindRefresh, kindRedirect, kindUnread}

func numberOf(kind string) byte {
	for i, k := range kinds {
		if k == kind {
			return byte(i)
		}
	}
	panic("links: no kind of mention: " + kind)
}

func relsOf(r extract.Rel) (set extract.Rels) {
	for _, word := range []struct {
		is  bool
		rel extract.Rels
	}{{r.NoFollow, extract.RelNoFollow}, {r.UGC, extract.RelUGC}, {r.Sponsored, extract.RelSponsored}} {
		if word.is {
			set |= word.rel
		}
	}
	return set
}

// The bits of the first byte of a mention, above the three of its kind.
const (
	bitRepeated = 1 << (3 + iota)
	bitNoFollow
	bitEnd  // the reference is the end of the URL, of the length that follows
	bitSame // it is the URL
)

// coder writes and reads the mentions of one document: texts with their lengths in front, URLs by what they have of the
// one before.
type coder struct {
	last string
	b    []byte
}

// encode returns m in bytes that hold until the next one.
func (c *coder) encode(m *mention) []byte {
	written := cut(m.written, maxWritten)
	flags := numberOf(m.kind)
	if m.repeated {
		flags |= bitRepeated
	}
	if m.nofollow {
		flags |= bitNoFollow
	}
	switch {
	case m.url == "" || written == "":
	case written == m.url:
		flags |= bitSame
	case strings.HasSuffix(m.url, written):
		flags |= bitEnd
	}
	b := append(c.b[:0], flags, byte(m.rels))
	for _, s := range []string{m.element, m.attribute, cut(m.rel, maxWritten), m.text, m.why} {
		b = appendText(b, s)
	}
	same := 0
	for same < len(m.url) && same < len(c.last) && m.url[same] == c.last[same] {
		same++
	}
	b = binary.AppendUvarint(b, uint64(same))
	b = appendText(b, m.url[same:])
	switch {
	case flags&bitSame != 0:
	case flags&bitEnd != 0:
		b = binary.AppendUvarint(b, uint64(len(written)))
	default:
		b = appendText(b, written)
	}
	if m.url != "" {
		c.last = m.url
	}
	c.b = b
	return b
}

// cut is s without what goes beyond n bytes.
func cut(s string, n int) string { return s[:min(len(s), n)] }

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// errSpool says that what was written cannot be read back.
var errSpool = errors.New("links: a temporary file was changed")

// maxText bounds what is read back.
const maxText = 64 << 10

func readText(in *bufio.Reader) (string, error) {
	n, err := binary.ReadUvarint(in)
	if err != nil || n > maxText {
		return "", errors.Join(errSpool, err)
	}
	if n == 0 {
		return "", nil
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(in, b); err != nil {
		return "", fmt.Errorf("%w: %w", errSpool, err)
	}
	return string(b), nil
}

// decode reads the next mention.
func (c *coder) decode(in *bufio.Reader, m *mention) error {
	var first [2]byte
	if _, err := io.ReadFull(in, first[:]); err != nil || int(first[0]&7) >= len(kinds) {
		return errors.Join(errSpool, err)
	}
	flags := first[0]
	*m = mention{kind: kinds[flags&7], repeated: flags&bitRepeated != 0, nofollow: flags&bitNoFollow != 0, rels: extract.Rels(first[1])}
	for _, s := range []*string{&m.element, &m.attribute, &m.rel, &m.text, &m.why} {
		var err error
		if *s, err = readText(in); err != nil {
			return err
		}
	}
	same, err := binary.ReadUvarint(in)
	if err != nil || same > uint64(len(c.last)) {
		return errors.Join(errSpool, err)
	}
	rest, err := readText(in)
	if err != nil {
		return err
	}
	if m.url = c.last[:same] + rest; m.url != "" {
		c.last = m.url
	}
	switch {
	case flags&bitSame != 0:
		m.written = m.url
	case flags&bitEnd != 0:
		n, err := binary.ReadUvarint(in)
		if err != nil || n > uint64(len(m.url)) {
			return errors.Join(errSpool, err)
		}
		m.written = m.url[uint64(len(m.url))-n:]
	default:
		m.written, err = readText(in)
	}
	return err
}
