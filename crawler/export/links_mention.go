package export

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"strings"

	"curtsy/crawler/extract"
)

// mention is one mention of a URL, as it is kept between the passes.
type mention struct {
	Kind               string // a word of the column
	Element, Attribute string
	Rel                string
	Text               string
	Written            string
	URL                string // empty without one
	Why                string // why it is no link; empty if it is one
	Repeated, NoFollow bool
	Rels               extract.Rels
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

// shortMention is a mention as it is written down: its URL without what the URL before has of it, and the reference without
// what the URL ends in.
type shortMention struct {
	M    mention
	Same int // bytes of the URL before that the URL begins with
	End  int // bytes at the end of the URL that the reference is
}

// coder writes and reads the mentions of one document.
type coder struct {
	last string // the URL before
	to   *gob.Encoder
	from *gob.Decoder
}

func newEncoder(document string, w io.Writer) *coder {
	return &coder{last: document, to: gob.NewEncoder(w)}
}

// newDecoder reads no further than the mentions if r is an io.ByteReader.
func newDecoder(document string, r io.Reader) *coder {
	return &coder{last: document, from: gob.NewDecoder(r)}
}

func (c *coder) encode(m mention) error {
	m.Rel, m.Written = cut(m.Rel, maxWritten), cut(m.Written, maxWritten)
	s := shortMention{M: m}
	if m.Written != "" && strings.HasSuffix(m.URL, m.Written) {
		s.M.Written, s.End = "", len(m.Written)
	}
	for s.Same < len(m.URL) && s.Same < len(c.last) && m.URL[s.Same] == c.last[s.Same] {
		s.Same++
	}
	if s.M.URL = m.URL[s.Same:]; m.URL != "" {
		c.last = m.URL
	}
	return c.to.Encode(&s)
}

// cut is s without what goes beyond n bytes.
func cut(s string, n int) string { return s[:min(len(s), n)] }

// errSpool says that what was written cannot be read back.
var errSpool = errors.New("links: a temporary file was changed")

// decode reads the next mention.
func (c *coder) decode() (mention, error) {
	var s shortMention
	if err := c.from.Decode(&s); err != nil {
		return s.M, fmt.Errorf("%w: %w", errSpool, err)
	}
	if s.Same < 0 || s.Same > len(c.last) || s.End < 0 || s.End > s.Same+len(s.M.URL) {
		return s.M, errSpool
	}
	if s.M.URL = c.last[:s.Same] + s.M.URL; s.M.URL != "" {
		c.last = s.M.URL
	}
	if s.End > 0 {
		s.M.Written = s.M.URL[len(s.M.URL)-s.End:]
	}
	return s.M, nil
}
