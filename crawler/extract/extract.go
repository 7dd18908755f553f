package extract

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/sync/semaphore"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"curtsy/crawler/extract/prune"
	"curtsy/frontier/canon"
	"curtsy/storage/charset"
	"curtsy/storage/coding"
	"curtsy/storage/markup"
	"curtsy/storage/mediatype"
)

// MaxLinks bounds Page.Links; further links are counted (politeness rule 22).
const MaxLinks = 6000

// MaxParse bounds the bytes of a page that are read (politeness rule 15).
const MaxParse = 10 << 20

// Input is a page as it was fetched.
type Input struct {
	URL         canon.URL   // the fetch URL, and the base if the page names none
	ContentType string      // value of Content-Type, as mediatype.Value returns it; may be empty
	Header      http.Header // for X-Robots-Tag and Refresh; may be nil
	Body        io.Reader   // without content codings; nil is an empty body
	Size        int64       // bytes of Body; zero or less means unknown, and the page counts as large
	Turn        bool        // the caller holds the turn of Body, see Extractor.Turn
	Token       string      // the crawler's product token; directives for it and for "curtsy" bind

	// Previews lists the preview pictures of meta elements (og:image, twitter:image) as requisites.
	Previews bool

	// Text, if not nil, is called with the page's text, piece by piece in document order, including the title but not
	// scripts, styles and templates.
	Text func(string)

	// Mention, if not nil, is called with each mention of a URL in document order. It must not keep the strings.
	Mention func(Mention)
}

// Page is the content of a page. All text in it is the site's and hostile.
type Page struct {
	Title     string    // of the first title element, white space collapsed, at most 1 KiB
	About     string    // of the first meta element named description, white space collapsed, at most 2 KiB
	Canonical canon.URL // of the first link element with rel=canonical and a web URL; zero without one
	Base      canon.URL // for relative references; zero if the page names a base that is not on the web
	Charset   string    // the encoding's name in the Encoding Standard, lower case: "utf-8", "windows-1252"
	CharsetBy charset.Decider

	Links   []Link               // in document order, each once by key and kind, at most MaxLinks
	Repeats int                  // further mentions of the URLs in Links
	Refused map[canon.Reason]int // mentions that are not canonical URLs (mailto:, javascript:, malformed); nil if none
	Dropped int                  // mentions beyond MaxLinks

	Robots Directives

	// NeedsScript reports that the page is empty without its scripts (prune.NeedsScript). It is false for large pages.
	NeedsScript bool

	// Unparsed is the reason for missing links: all of them for UnparsedDeep, UnparsedBroken and UnparsedParts; those
	// after the first MaxParse bytes, MaxTags tags or markup.Max attributes for UnparsedLong, UnparsedTags and
	// UnparsedAttrs; perhaps some for UnparsedXML. Empty if none is missing.
	Unparsed string
}

// The values of Page.Unparsed, by which the crawler counts pages.
const (
	UnparsedDeep   = "512 open elements" // golang.org/x/net/html refuses to nest deeper
	UnparsedLong   = "over 10 MiB"
	UnparsedTags   = "over 131072 tags"
	UnparsedAttrs  = "over 131072 attributes"
	UnparsedBroken = "html parser failed"
	UnparsedNested = "page within an attribute"     // an iframe's srcdoc
	UnparsedParts  = "not what its media type says" // a web manifest that is not JSON
	UnparsedXML    = "not well-formed XML"          // a page in XML, which was also read as HTML
)

// Link is a mention of a URL.
type Link struct {
	URL     canon.URL
	Embed   bool   // a requisite: a browser fetches it to show the page
	Element string // "a", "img"; empty for a field of the header and in a style sheet
	Attr    string // "href", "srcset"; of meta "content"; the name of the field; in a style sheet "url", "import" …
	Rel     Rel    // of a, area and link
	Refresh bool   // by meta refresh or the Refresh field
}

// Shown reports whether the page shows the target of l: a picture, a film, another page, but no style sheet or script.
func (l *Link) Shown() bool { return l.Embed && l.Element != "link" && l.Element != "script" }

// Rel is the rel of a link (HTML Standard 4.6.7); of several mentions, the words that all have.
type Rel struct {
	NoFollow  bool // the author does not endorse it: it is not followed (politeness rule 19)
	UGC       bool // written by users of the site
	Sponsored bool // paid for

	// mentions has a bit for each set of these words that a mention had, the empty set first. Zero is one mention with the
	// fields' words.
	mentions uint8
}

// Rels is a set of the words of a Rel.
type Rels uint8

// The words.
const (
	RelNoFollow Rels = 1 << iota
	RelUGC
	RelSponsored
)

// ParseRels parses a list of words: nofollow, ugc, sponsored; or only "none", the empty set.
func ParseRels(words []string) (Rels, error) {
	if len(words) == 1 && words[0] == "none" {
		return 0, nil
	}
	var set Rels
	for _, w := range words {
		switch w {
		case "nofollow":
			set |= RelNoFollow
		case "ugc":
			set |= RelUGC
		case "sponsored":
			set |= RelSponsored
		default:
			return 0, fmt.Errorf("extract: rel %q: write nofollow, ugc, sponsored, or only none", w)
		}
	}
	return set, nil
}

// Followed reports whether a crawl that follows links with the words of set follows the link: some mention of it has no
// other word.
func (r Rel) Followed(set Rels) bool {
	for said := range Rels(8) {
		if r.sets()&(1<<said) != 0 && said&^set == 0 {
			return true
		}
	}
	return false
}

// sets returns mentions, never zero.
func (r Rel) sets() uint8 {
	if r.mentions != 0 {
		return r.mentions
	}
	return 1 << r.Rels()
}

// Rels returns the words of r as a set.
func (r Rel) Rels() (set Rels) {
	if r.NoFollow {
		set |= RelNoFollow
	}
	if r.UGC {
		set |= RelUGC
	}
	if r.Sponsored {
		set |= RelSponsored
	}
	return set
}

func (r Rel) and(o Rel) Rel {
	return Rel{r.NoFollow && o.NoFollow, r.UGC && o.UGC, r.Sponsored && o.Sponsored, r.sets() | o.sets()}
}

func relOf(rel string) (r Rel) {
	for token := range strings.FieldsFuncSeq(rel, isSpace) {
		switch {
		case strings.EqualFold(token, "nofollow"):
			r.NoFollow = true
		case strings.EqualFold(token, "ugc"):
			r.UGC = true
		case strings.EqualFold(token, "sponsored"):
			r.Sponsored = true
		}
	}
	return r
}

const (
	largeTree = 512 << 10 // bytes of the largest page that is not large
	headSize  = 16 << 10  // bytes of a page that decide its encoding, and that are scanned for directives if it is refused
	usualPage = 64 << 10  // bytes of a page whose buffers are kept
)

// Extractor reads pages. It may be used concurrently; one serves a whole process.
type Extractor struct {
	large   *semaphore.Weighted // MaxParse bytes of large documents at once
	buffers sync.Pool           // of *buffers
}

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

// done returns buffers to the pool, except those of a page larger than usual.
func (x *Extractor) done(b *buffers) {
	if small := b.pruner.Release(usualPage); small && len(b.body) <= usualPage {
		x.buffers.Put(b)
	}
}

// fill reads up to most bytes of src. whole reports that these are all.
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

// HTML reads a page. It waits while too many large pages are being read. An error means that the body could not be read
// or that ctx is done.
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

// read reads the page head + src. With a pruner head is the whole page. The result is invalid if src failed.
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
		whole, err := head, error(nil)
		if c.Encoding != nil {
			whole, err = c.Encoding.NewDecoder().Bytes(head)
		}
		if err == nil {
			text := string(whole)
			page.NeedsScript = prune.NeedsScript(text)
			doc = pruned(p, text)
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

// walk reads a tree into its page, which has its Charset already.
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

// budget bounds the rest of a page, and of the pages within it, whose trees exist at once.
type budget struct{ tags, attrs int }

func newBudget() budget { return budget{MaxTags, markup.Max} }

// parsed builds the tree of a page. over is which budget was exceeded; the tree then lacks the rest of the page.
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

// pruned builds the tree of a pruned page; nil if that is impossible.
func pruned(p *prune.Pruner, page string) *goquery.Document {
	if strings.Count(page, "<") > MaxTags || !p.Prune(page) {
		return nil
	}
	left := newBudget()
	doc, over, err := parsed(bytes.NewReader(p.Out), &left)
	if err != nil || over != "" {
		return nil // the whole page may be less deep, because pruning removes end tags
	}
	return doc
}

// decoded returns r as UTF-8. A nil encoding is UTF-8.
func decoded(e encoding.Encoding, r io.Reader) io.Reader {
	if e == nil {
		return r
	}
	return transform.NewReader(r, e.NewDecoder())
}
