package extract

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/sync/semaphore"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"curtsy/crawler/extract/prune"
	"curtsy/storage/charset"
	"curtsy/storage/coding"
	"curtsy/storage/markup"
	"curtsy/storage/mediatype"
)

const (
	largeTree = 512 << 10 // bytes of input from which on a tree is large
	headSize  = 16 << 10  // bytes of a page that tell its encoding, and that are scanned for directives if it is refused
	usualPage = 64 << 10  // bytes of a page whose buffers are kept for others
)

// Extractor reads pages. One serves a whole process and may be used concurrently.
type Extractor struct {
	large   *semaphore.Weighted // of the bytes of large documents that are being read: MaxParse of them
	buffers sync.Pool           // of *buffers
}

// buffers is what is used anew for each page.
type buffers struct {
	body   []byte
	pruner prune.Pruner
}

// New returns an Extractor.
func New() *Extractor {
	return &Extractor{
		large:   semaphore.NewWeighted(MaxParse),
		buffers: sync.Pool{New: func() any { return &buffers{body: make([]byte, headSize)} }},
	}
}

// done gives buffers back. Those of a page larger than usual are let go of.
func (x *Extractor) done(b *buffers) {
	if small := b.pruner.Release(usualPage); small && len(b.body) <= usualPage {
		x.buffers.Put(b)
	}
}

// fill reads up to most bytes of src. Whole says that these are all.
func (b *buffers) fill(src *coding.Limited, size int64, most int) (body []byte, whole bool) {
	if enough := int(min(size, int64(most))) + 1; enough > len(b.body) { // one more, to see the end
		b.body = make([]byte, enough)
	}
	n := 0
	for {
		m, err := io.ReadFull(src, b.body[n:min(len(b.body), most)])
		if n += m; err != nil || n == most {
			return b.body[:n], err != nil
		}
		b.body = append(b.body, make([]byte, len(b.body))...)
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
	b := x.buffers.Get().(*buffers)
	defer x.done(b)
	src := &coding.Limited{Ctx: ctx, R: in.Body, Left: MaxParse}
	most := largeTree + 1 // with one more byte the page is large
	if in.Size <= 0 || in.Size > largeTree {
		most = headSize
	}
	body, whole := b.fill(src, in.Size, most)
	p := &b.pruner
	if !whole {
		if in.Size <= largeTree {
			in.Size = 0
		}
		release, err := x.turn(ctx, in)
		if err != nil {
			return Page{}, failed(in, err)
		}
		defer release()
		collect(in.Size)
		p = nil
	}
	page := read(in, body, src, p)
	if src.Err != nil {
		return Page{}, failed(in, src.Err)
	}
	return page, nil
}

func failed(in Input, err error) error {
	return fmt.Errorf("extract: read the body of %s: %w", in.URL, err)
}

// read reads the page that begins with head and goes on with src; a pruner says that it does not go on. The page is
// worth nothing if src failed meanwhile.
func read(in Input, head []byte, src *coding.Limited, p *prune.Pruner) Page {
	if mediatype.Parse(in.ContentType).IsXHTML() {
		return readXHTML(in, head, src)
	}
	c := charset.Page(in.ContentType, head[:min(len(head), headSize)])
	page := Page{Base: in.URL, Charset: c.Name, CharsetBy: c.By, Robots: HeaderDirectives(in.Header, in.Token)}
	head = head[c.Mark:]

	doc, over, err, left := (*goquery.Document)(nil), "", error(nil), newBudget()
	if p != nil && src.Err == nil {
		p.Anchors = in.Mention != nil
		if whole, err := decodedString(c.Encoding, head); err == nil {
			page.NeedsScript = prune.NeedsScript(whole)
			doc = pruned(p, whole)
		}
	}
	isPruned := doc != nil
	if !isPruned {
		doc, over, err = parsed(decoded(c.Encoding, io.MultiReader(bytes.NewReader(head), src)), &left)
	}
	switch {
	case src.Err != nil:
		return Page{}
	case err != nil:
		page.Unparsed = UnparsedBroken
		if strings.Contains(err.Error(), "exceeds 512") {
			page.Unparsed = UnparsedDeep
		}
		page.Robots.scan(decoded(c.Encoding, bytes.NewReader(head[:min(len(head), headSize)])), in.Token)
		return page
	case over != "":
		page.Unparsed = over
	case src.Over:
		page.Unparsed = UnparsedLong
	}
	w := walk(in, doc, &page, left)
	if !isPruned {
		w.text(doc)
	} else if in.Text != nil {
		p.Text(in.Text)
	}
	return page
}

// walk takes what a tree says into its page, which has its Charset already.
func walk(in Input, doc *goquery.Document, page *Page, left budget) *walker {
	page.Base = base(doc, in.URL)
	w := &walker{in: in, page: page, left: left}
	w.collect(page.Base)
	w.links.charset = page.Charset
	w.refreshField()
	w.document(doc)
	w.links.into(page)
	return w
}

// budget is what may still be read of a page and of the pages within it, whose trees exist at once.
type budget struct{ tags, attrs int }

func newBudget() budget { return budget{MaxTags, markup.Max} }

// parsed builds the tree of a page. Over says that it had more tags or attributes than are left, and that the tree has
// the first of them; it is empty when it has all.
func parsed(r io.Reader, left *budget) (doc *goquery.Document, over string, err error) {
	limit := markup.New(r, left.attrs)
	input := newTagLimit(limit)
	input.left = left.tags
	defer func() { left.tags, left.attrs = max(input.left, 0), max(limit.Left(), 0) }()
	root, err := html.ParseWithOptions(input, html.ParseOptionEnableScripting(false))
	if err != nil {
		return nil, "", err
	}
	switch {
	case limit.Over():
		over = UnparsedAttrs
	case input.over:
		over = UnparsedTags
	}
	return goquery.NewDocumentFromNode(root), over, nil
}

// pruned builds the tree of a page without the parts that no link depends on; nil if that cannot be.
func pruned(p *prune.Pruner, page string) *goquery.Document {
	if strings.Count(page, "<") > MaxTags || !p.Prune(page) {
		return nil
	}
	left := newBudget()
	doc, over, err := parsed(bytes.NewReader(p.Out), &left)
	if err != nil || over != "" {
		return nil // less deep, or less, it may be with all that ends what is open
	}
	return doc
}

// decoded returns r as UTF-8. A nil encoding means that it is.
func decoded(e encoding.Encoding, r io.Reader) io.Reader {
	if e == nil {
		return r
	}
	return transform.NewReader(r, e.NewDecoder())
}

// decodedString is decoded for a page that is there.
func decodedString(e encoding.Encoding, page []byte) (string, error) {
	if e == nil {
		return string(page), nil
	}
	all, err := e.NewDecoder().Bytes(page)
	return string(all), err
}
