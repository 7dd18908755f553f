package text

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/transform"

	"curtsy/storage/charset"
	"curtsy/storage/coding"
	"curtsy/storage/mediatype"
)

// Bounds of what is read of a page and kept of its text.
const (
	MaxRead = 10 << 20 // bytes of a body, as for its links
	MaxText = 2 << 20  // bytes of a text

	headSize = 16 << 10 // bytes of a page that tell its encoding
)

// Input is a document as it was archived.
type Input struct {
	ContentType     string    // the field's value, as mediatype.Value has it; may be empty
	ContentLanguage string    // the field's value; may be empty
	Body            io.Reader // bytes with content codings removed; nil is an empty body
	WholeOnly       bool      // no main text is wanted, which is what costs
}

// Page is what a document has to be read. It is valid UTF-8 without control characters but the end of a line and, where
// a page keeps its white space, tabs.
type Page struct {
	Whole string // title and text; a block is a line
	Main  string // the part that is no frame, menu or notice; "" without one

	Cut    string // why Whole is not all of it: one of the Cut constants; "" if it is
	NoMain string // why Main is empty: one of the No constants but NoMost; "" if it is not

	// Share is the part of Whole that Main has, from 0 to 1; 0 without a main text. It is measured by the bytes outside of
	// links in lines that have more than 60 of them, which menus do not have; in all lines where those have under 300
	// together. What no main text has (noscript, SVG, MathML) does not count.
	Share float64

	Charset  string // the encoding's name in the Encoding Standard
	Declared declared
	Language Result // of Whole
}

// The values of Page.Cut.
const (
	CutLong  = "over 10 MiB"            // the rest of the body was not read
	CutText  = "over 2 MiB of text"     // the rest of the text is not kept
	CutAttrs = "over 131072 attributes" // the rest of the page was not read
)

// MainMissing returns NoMain, or NoMost where the main text has less than three quarters of the whole text.
func (p *Page) MainMissing() string {
	if p.Main != "" && p.Share < mostShare {
		return NoMost
	}
	return p.NoMain
}

// The values of Page.NoMain and Page.MainMissing.
const (
	NoPage     = "not a page"          // text/plain has a whole text alone; other types have none
	NoText     = "no text"             // the page has none at all
	NoArticle  = "no main text found"  // by the extractor
	NoTree     = "512 open elements"   // golang.org/x/net/html refuses to nest deeper
	NoElements = "over 20000 elements" // a larger tree is not built
	NoRoom     = "over 1 MiB of text"  // nor one of more text
	NoExtract  = "the extractor failed"
	NoMost     = "less than three quarters of the text" // there is a main text, with a Page.Share below 0.75
	NoWish     = "not asked for"                        // Input.WholeOnly
)

// Read reads a document that is HTML or plain text; any other has no text. No bytes are an error: one means that the
// body could not be read or that ctx is done.
func Read(ctx context.Context, in Input) (Page, error) {
	body := &coding.Limited{Ctx: ctx, R: in.Body, Left: MaxRead}
	if in.Body == nil {
		body.R = strings.NewReader("")
	}
	head := bufio.NewReaderSize(body, headSize)
	first, _ := head.Peek(headSize)
	media := mediatype.Parse(in.ContentType)
	plain := media.Name == "text/plain"
	if !plain && !media.IsPage(first) {
		return Page{NoMain: NoPage}, failed(body.Err)
	}
	c := charset.Page(in.ContentType, first)
	if media.IsXHTML() {
		c = charset.XML(in.ContentType, first)
	}
	page := Page{Charset: c.Name}
	_, _ = head.Discard(c.Mark)
	r := io.Reader(head)
	if c.Encoding != nil {
		r = transform.NewReader(head, c.Encoding.NewDecoder())
	}
	if plain {
		page.plain(r)
	} else {
		page.html(r, media.IsXHTML(), in.WholeOnly)
	}
	if page.Cut == "" && body.Over {
		page.Cut = CutLong
	}
	page.Declared.Header = languageTag(in.ContentLanguage)
	page.Language = Detect(page.Whole)
	return page, failed(body.Err)
}

// plain reads a text without markup.
func (p *Page) plain(r io.Reader) {
	l := lines{most: MaxText, pre: 1}
	b := bufio.NewReaderSize(r, 64<<10)
	for !l.over {
		line, err := b.ReadSlice('\n')
		l.text(line)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	p.Whole, p.NoMain = l.String(), NoPage
	if l.over {
		p.Cut = CutText
	}
}

// html reads a page.
func (p *Page) html(r io.Reader, xml, wholeOnly bool) {
	s := scan(r, xml, !wholeOnly)
	p.Whole, p.Cut, p.Declared = s.whole.String(), s.cut(), s.declared
	switch {
	case wholeOnly:
		p.NoMain = NoWish
	case p.Whole == "":
		p.NoMain = NoText
	case s.full != "":
		p.NoMain = s.full
	default:
		var main lines
		if main, p.NoMain = article(s.lean.Bytes(), &s.whole); p.NoMain == "" {
			p.Main, p.Share = main.String(), share(&main, &s.whole)
		}
	}
}

func failed(err error) error {
	if err != nil {
		err = fmt.Errorf("text: read a body: %w", err)
	}
	return err
}
