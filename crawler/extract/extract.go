package extract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"
)

const (
	largeTree  = 512 << 10 // octets of input from which on a tree is large
	largeTrees = 2         // how many of those exist at once
	headSize   = 16 << 10  // octets read before the tree is built: encoding, and directives of a refused page
)

// Extractor reads pages. One serves a whole process and may be used concurrently.
type Extractor struct {
	large chan struct{} // holds a token per large tree
	heads sync.Pool     // of *[headSize]byte
}

// New returns an Extractor.
func New() *Extractor {
	return &Extractor{
		large: make(chan struct{}, largeTrees),
		heads: sync.Pool{New: func() any { return new([headSize]byte) }},
	}
}

// HTML reads a page. It waits while too many large pages are being read. An error means that the body could not be
// read or that ctx is done, never that something is wrong with the page.
func (x *Extractor) HTML(ctx context.Context, in Input) (Page, error) {
	if err := ctx.Err(); err != nil {
		return Page{}, failed(in, err)
	}
	if in.Body == nil {
		in.Body = strings.NewReader("")
	}
	buf := x.heads.Get().(*[headSize]byte)
	defer x.heads.Put(buf)
	src := &source{done: ctx.Done(), body: in.Body, left: MaxParse}
	n, whole := src.fill(buf[:])
	if !whole && (in.Size <= 0 || in.Size > largeTree) {
		release, err := x.largeTurn(ctx)
		if err != nil {
			return Page{}, failed(in, err)
		}
		defer release()
	}
	page := read(in, buf[:n], src)
	switch {
	case errors.Is(src.err, errDone):
		return Page{}, failed(in, ctx.Err())
	case src.err != nil:
		return Page{}, failed(in, src.err)
	}
	return page, nil
}

func failed(in Input, err error) error {
	return fmt.Errorf("extract: read the body of %s: %w", in.URL, err)
}

// read builds the tree of the page that begins with head and goes on with src, and reads it. What it returns is
// worth nothing if src failed meanwhile.
func read(in Input, head []byte, src *source) Page {
	e, c := detect(in.ContentType, head)
	page := Page{Base: in.URL, Charset: c.name, CharsetBy: c.by, Robots: HeaderDirectives(in.Header, in.Token)}
	head = head[c.mark:]

	input := newTame(decoded(e, io.MultiReader(bytes.NewReader(head), src)))
	doc, err := parsed(input)
	switch {
	case src.err != nil:
		return Page{}
	case err != nil:
		page.Unparsed = UnparsedBroken
		if strings.Contains(err.Error(), "exceeds 512") {
			page.Unparsed = UnparsedDeep
		}
		page.Robots.scan(decoded(e, bytes.NewReader(head)), in.Token)
		return page
	case input.over:
		page.Unparsed = UnparsedTags
	case src.over:
		page.Unparsed = UnparsedLong
	}
	page.Base = base(doc, in.URL)
	w := walker{in: in, page: &page, links: newCollector(in.URL, page.Base)}
	w.links.charset = c.name
	w.refreshField()
	w.document(doc)
	w.links.into(&page)
	if in.Text != nil {
		text(doc, in.Text)
	}
	return page
}

// parsed builds the tree of a page.
func parsed(input *tame) (*goquery.Document, error) {
	root, err := html.ParseWithOptions(input, html.ParseOptionEnableScripting(false))
	if err != nil {
		return nil, err
	}
	return goquery.NewDocumentFromNode(root), nil
}

// decoded returns r as UTF-8. A nil encoding means that it is.
func decoded(e encoding.Encoding, r io.Reader) io.Reader {
	if e == nil {
		return r
	}
	return transform.NewReader(r, e.NewDecoder())
}
