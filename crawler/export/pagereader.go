package export

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"curtsy/crawler/extract"
	"curtsy/crawler/neardup"
	"curtsy/frontier/canon"
	"curtsy/storage/mediatype"
)

// Page is what the body of a capture says.
type Page struct {
	extract.Page
	Detected   string // media type by the first bytes, or the server's; empty without a body
	Is         bool   // it is a page, and was read; else only Detected is known
	TextLength int64  // bytes of its text, the words joined by single spaces
	Sketch     neardup.Sketch
	Main, All  string // languages
}

const (
	maxPage   = extract.MaxParse + 1
	smallPage = 512 << 10 // up to which a page is read at once, so that its size is known
	maxSample = 32 << 10  // bytes of text by which a language is told
)

// pageReader measures the text of a page.
type pageReader struct {
	length int64
	sample []byte
	most   int
	says   *neardup.Reader // nil for what is no web address
}

func (p *pageReader) begin(in *Inputs, u canon.URL) {
	*p = pageReader{sample: p.sample[:0]}
	if in.Language != nil {
		p.most = maxSample
	}
	if !u.IsZero() {
		p.says = neardup.NewReader(u)
	}
}

func (p *pageReader) text(s string) {
	for word := range strings.FieldsSeq(s) {
		if p.length > 0 {
			p.length++
		}
		p.length += int64(len(word))
		if len(p.sample)+len(word) < p.most {
			p.sample = append(append(p.sample, word...), ' ')
		}
	}
	if p.says != nil {
		p.says.Text(s)
	}
}

// Page reads the body.
func (c *Capture) Page(ctx context.Context) (p Page, err error) {
	body, err := c.Body(maxPage)
	if body == nil {
		return p, err
	}
	in := bufio.NewReaderSize(body, mediatype.MaxSniff)
	_, p.Detected, p.Is = c.media(in)
	if !p.Is {
		return p, nil
	}
	r := c.r
	r.page.begin(r.in, c.URL())
	input := extract.Input{
		URL: c.URL(), ContentType: mediatype.Value(c.Answer.Header), Header: c.Answer.Header, Text: r.page.text,
	}
	if err := r.fill(&input, in); err != nil {
		return Page{}, err
	}
	p.Page, err = r.pages.HTML(ctx, input)
	if err != nil {
		return Page{}, fmt.Errorf("export: %w", err)
	}
	if p.Unparsed != "" {
		c.amiss(ProblemUnparsed)
	}
	p.TextLength = r.page.length
	if r.page.says != nil {
		p.Sketch = r.page.says.Sketch(p.Links)
	}
	if r.in.Language != nil {
		p.Main, p.All = r.in.Language(whole(r.page.sample))
	}
	return p, nil
}

// fill gives a page to in: a small one whole, with its size, which spares its reader much.
func (r *reader) fill(in *extract.Input, body io.Reader) error {
	if r.body == nil {
		r.body = make([]byte, smallPage)
	}
	n, err := io.ReadFull(body, r.body)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		in.Body, in.Size = bytes.NewReader(r.body[:n]), int64(n)
	case err != nil:
		return fmt.Errorf("export: %w", err)
	default:
		in.Body = io.MultiReader(bytes.NewReader(r.body), &upTo{body})
	}
	return nil
}

// upTo ends where a body is longer than what is read of a page: the extractor says so by itself.
type upTo struct{ r io.Reader }

func (u *upTo) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// whole is a text without what was cut within a character at its end.
func whole(b []byte) string {
	for len(b) > 0 && !utf8.Valid(b[max(0, len(b)-utf8.UTFMax):]) && !utf8.RuneStart(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return string(b)
}

// sniffed is the media type by the first bytes of a body, and the server's where they do not tell; empty without a body.
func sniffed(t mediatype.Type, head []byte) string {
	if len(head) == 0 {
		return ""
	}
	if s := mediatype.Sniff(head); s != "" {
		return s
	}
	if t.Name != "" {
		return t.Name
	}
	if utf8.Valid(head) && bytes.IndexByte(head, 0) < 0 {
		return "text/plain"
	}
	return "application/octet-stream"
}
