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
	"curtsy/storage/mediatype"
	"curtsy/storage/spool"
	pagetext "curtsy/storage/text"
)

// Page is what the body of a capture says.
type Page struct {
	extract.Page
	Detected   string // media type by the first bytes, or the server's; empty without a body
	Is         bool   // it is a page, and was read; else only Detected and, of plain text, Language are known
	TextLength int64  // bytes of its text, the words joined by single spaces
	Sketch     Sketch
	Language   pagetext.Result // as the table text has it; none with Inputs.NoLanguage
}

const (
	maxPage   = extract.MaxParse + 1
	smallPage = 512 << 10 // up to which the extractor is told the size of a page
)

// Page reads the body.
func (c *Capture) Page(ctx context.Context) (p Page, err error) {
	body, err := c.Body(maxPage)
	if body == nil {
		return p, err
	}
	in := bufio.NewReaderSize(body, mediatype.MaxSniff)
	_, p.Detected, p.Is = c.media(in)
	r := c.r
	if !p.Is {
		if c.isPlain() && !r.in.NoLanguage {
			p.Language, err = c.language(ctx, in)
		}
		return p, err
	}
	var says *Reader // nil for what is no web address
	if u := c.URL(); !u.IsZero() {
		says = newNeardupReader(u)
	}
	input := extract.Input{
		URL: c.URL(), ContentType: mediatype.Value(c.Answer.Header), Header: c.Answer.Header,
		Text: func(s string) {
			for word := range strings.FieldsSeq(s) {
				if p.TextLength > 0 {
					p.TextLength++
				}
				p.TextLength += int64(len(word))
			}
			if says != nil {
				says.Text(s)
			}
		},
	}
	if err := r.fill(&input, in); err != nil {
		return Page{}, err
	}
	release, err := r.pages.Turn(ctx, input.Size)
	if err != nil {
		return Page{}, fmt.Errorf("export: %w", err)
	}
	defer release()
	input.Turn = true
	if !r.in.NoLanguage {
		read := spool.Spool{Dir: r.in.temp}
		defer func() { err = errors.Join(err, read.Close()) }()
		if p.Language, err = c.language(ctx, io.TeeReader(input.Body, &read)); err != nil {
			return Page{}, err
		}
		input.Body = io.MultiReader(read.Section(), input.Body)
	}
	p.Page, err = r.pages.HTML(ctx, input)
	if err != nil {
		return Page{}, fmt.Errorf("export: %w", err)
	}
	if p.Unparsed != "" {
		c.amiss(ProblemUnparsed)
	}
	if says != nil {
		p.Sketch = says.Sketch(p.Links)
	}
	return p, nil
}

// language detects the language of the body in its whole text.
func (c *Capture) language(ctx context.Context, body io.Reader) (pagetext.Result, error) {
	p, err := pagetext.Read(ctx, c.textInput(body, true))
	return p.Language, err
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
