package extract

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strings"

	"curtsy/crawler/sitemap"
	"curtsy/frontier/canon"
	"curtsy/storage/coding"
	"curtsy/storage/markup"
	"curtsy/storage/mediatype"
	"curtsy/storage/script"
)

// Parts reads what a style sheet, an SVG document, a web manifest, a script, another document in XML or a feed names. It waits as HTML does, and errs as HTML
// does. Title, Base, Charset and text are those of pages alone.
func (x *Extractor) Parts(ctx context.Context, in Input, kind Kind) (Page, error) {
	if err := ctx.Err(); err != nil {
		return Page{}, failed(in, err)
	}
	page := Page{Base: in.URL, Robots: HeaderDirectives(in.Header, in.Token)}
	if in.Body == nil {
		return page, nil
	}
	release, err := x.turn(ctx, in)
	if err != nil {
		return Page{}, failed(in, err)
	}
	defer release()
	if kind == KindFeed {
		return x.readFeed(ctx, in, page)
	}
	src := &coding.Limited{Ctx: ctx, R: in.Body, Left: MaxParse}
	body, err := octets(src, in.Size)
	switch {
	case err != nil:
		return Page{}, failed(in, err)
	case src.Over:
		page.Unparsed = UnparsedLong
	}
	w := walker{in: in, page: &page}
	w.collect(in.URL)
	o := markup.Options{URL: in.URL, ContentType: in.ContentType}
	if err := markup.Find(rewriters[kind], body, o, w.mention); err != nil && page.Unparsed == "" {
		page.Unparsed = UnparsedParts
	}
	w.links.into(&page)
	return page, nil
}

// rewriters read the documents that are no pages.
var rewriters = map[Kind]markup.Rewriter{KindStyle: markup.CSS, KindSVG: markup.SVG, KindScript: markup.Module,
	KindXML: markup.XML, KindManifest: markup.Manifest}

// Turn waits until a document of so many bytes may be read: large ones of more than MaxParse bytes together are never
// read at once. Small ones do not wait. Whoever calls it sets Input.Turn, so that HTML does not wait again.
func (x *Extractor) Turn(ctx context.Context, size int64) (release func(), err error) {
	weight := min(size, MaxParse)
	switch {
	case size <= 0: // not known
		weight = MaxParse
	case size <= largeTree:
		return func() {}, nil
	}
	if err := x.large.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	return func() {
		collect(size)
		x.large.Release(weight)
	}, nil
}

// collect frees what was read of a large document before more is read, of this one or the next: a collection under way
// would count it as alive.
func collect(size int64) {
	if size <= 0 || size > MaxParse/2 {
		runtime.GC()
	}
}

// turn is Turn for a document whose reader may have its turn.
func (x *Extractor) turn(ctx context.Context, in Input) (release func(), err error) {
	if in.Turn {
		return func() {}, nil
	}
	return x.Turn(ctx, in.Size)
}

// octets reads all that src allows; there should be about size. One that turns out to be large is given room for the
// largest at once: a buffer that is doubled is held twice.
func octets(src io.Reader, size int64) ([]byte, error) {
	var b bytes.Buffer
	if size <= 0 {
		if _, err := io.CopyN(&b, src, largeTree); errors.Is(err, io.EOF) {
			return b.Bytes(), nil
		} else if err != nil {
			return nil, err
		}
		size = MaxParse
	}
	collect(size)
	b.Grow(int(min(size, MaxParse)) + bytes.MinRead)
	if _, err := b.ReadFrom(src); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// mention takes a requisite or a link that package markup found.
func (w *walker) mention(r markup.Ref) {
	embed := r.Role.Requisite() || r.Role == markup.Lazy
	taken := embed || r.Role == markup.Link
	if !taken && w.links.tell == nil {
		return
	}
	ref := r.Raw
	if r.Base != w.links.base { // a document within has its own
		u, err := r.URL()
		if err != nil {
			w.mentionRefused(r, canon.ReasonOf(err), taken, embed)
			return
		}
		ref = u.String()
	}
	if len(ref) <= canon.MaxLength { // else it is refused, and need not be kept apart from the whole document
		ref = strings.Clone(ref)
	}
	l := Link{Element: strings.Clone(r.Element), Attr: strings.Clone(r.Attr), Embed: embed, Rel: relOf(r.Rel)}
	if !taken {
		w.links.inert(ref, l)
		return
	}
	w.links.collect(restore(r.Raw), markup.Strip(restore(ref)), l)
}

// mentionRefused takes a mention whose reference is no canonical URL.
func (w *walker) mentionRefused(r markup.Ref, reason canon.Reason, taken, embed bool) {
	if taken {
		w.links.refuse(reason)
	}
	if t := w.links.tell; t != nil {
		fate := Refused
		if !taken {
			fate = Inert
		}
		t.hand(&w.links, restore(r.Raw), r.Raw, Link{Element: r.Element, Attr: r.Attr, Embed: embed}, fate, 0, reason)
	}
}

// Kind is a kind of document that names others.
type Kind uint8

// The kinds. The zero Kind is that of what is not read.
const (
	KindPage     Kind = iota + 1 // HTML, for Extractor.HTML
	KindStyle                    // a style sheet; this one and the others are for Extractor.Parts
	KindSVG                      // an SVG document
	KindManifest                 // a web manifest
	KindScript                   // a script, which may import others
	KindXML                      // any other document in XML, which may name a style sheet
	KindFeed                     // a feed of RSS, Atom or JSON Feed; likewise
)

// KindOf tells what a body is: by its media type; where the server names none, by its first bytes, as IsHTML does, or
// else by the extension of the path it was asked for by. A type that is named is believed, but for web manifests, since
// servers rarely know them.
func KindOf(contentType, path string, head []byte) Kind {
	t := mediatype.Parse(contentType)
	if t.IsPage(head) {
		return KindPage
	}
	name := strings.ToLower(path[strings.LastIndexByte(path, '/')+1:])
	switch t.Name {
	case "text/css":
		return KindStyle
	case "image/svg+xml":
		return KindSVG
	case "application/manifest+json":
		return KindManifest
	case "text/xml", "application/xml", "text/xsl", "application/xslt+xml":
		return KindXML
	case "", "application/json", "text/json", "text/plain", "application/octet-stream":
		if strings.HasSuffix(name, ".webmanifest") || name == "manifest.json" {
			return KindManifest
		}
	}
	switch {
	case script.IsJavaScript(t.Name, name):
		return KindScript
	case !t.Unnamed():
	case strings.HasSuffix(name, ".css"):
		return KindStyle
	case strings.HasSuffix(name, ".svg"):
		return KindSVG
	}
	return 0
}

// IsHTML reports whether a body is a page for Extractor.HTML: by its media type, text/html or application/xhtml+xml,
// and where the server names none, by its first bytes (up to 512 are used).
func IsHTML(contentType string, head []byte) bool { return mediatype.Parse(contentType).IsPage(head) }

// Follow says in which documents links are read beside those of KindOf. The zero Follow has none.
type Follow struct {
	Feed bool
}

// FollowWords are what ParseFollow reads.
func FollowWords() []string { return []string{"feed"} }

// ParseFollow reads a list of FollowWords.
func ParseFollow(words []string) (f Follow, err error) {
	for _, w := range words {
		switch w {
		case "feed":
			f.Feed = true
		default:
			return f, fmt.Errorf("%q is not a kind of document: write feed", w)
		}
	}
	return f, err
}

// KindOf tells what a body is, as the function KindOf does. A feed has the media type of one; or one
// that other documents have, too, and its root is that of a feed.
func (f Follow) KindOf(contentType, path string, head []byte) Kind {
	kind := KindOf(contentType, path, head)
	if kind != 0 && kind != KindXML {
		return kind
	}
	switch t := mediatype.Parse(contentType); t.Name {
	case "application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json":
		kind = KindFeed
	case "text/xml", "application/xml":
		if isFeed(head) {
			kind = KindFeed
		}
	case "application/json":
		if isJSONFeed(head) {
			kind = KindFeed
		}
	case "", "application/octet-stream":
		if isFeed(head) {
			kind = KindFeed
		}
	}
	if kind == KindFeed && !f.Feed {
		return KindOf(contentType, path, head)
	}
	return kind
}

// elementFeed is what the links of feeds are told to stand in.
const elementFeed = "feed"

// The reasons for which not all of a feed is read, beside "feed: " and a finding of package sitemap.
const (
	UnparsedJSONFeed = "feed: damaged JSON"
	UnparsedNoFeed   = "feed: no feed"
)

var (
	// feedRoot finds the root element of a feed behind declarations and comments. The name of RDF is that of RSS 1.0.
	feedRoot = regexp.MustCompile(`(?is)^\x{FEFF}?(?:\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>]*>)*<(?:[a-z0-9]+:)?(?:rss|feed|rdf)[\s>]`)

	// jsonFeed finds what a JSON Feed has to say of itself (https://www.jsonfeed.org/version/1.1/, "version").
	jsonFeed = regexp.MustCompile(`"version"\s*:\s*"https?:(?:\\?/){2}(?:www\.)?jsonfeed\.org(?:\\?/)version`)
)

func isFeed(head []byte) bool     { return feedRoot.Match(head) }
func isJSONFeed(head []byte) bool { return jsonFeed.Match(head) }

// readFeed reads the links of a feed. Nothing of what a browser fetches by itself is among them.
func (x *Extractor) readFeed(ctx context.Context, in Input, page Page) (Page, error) {
	src := &coding.Limited{Ctx: ctx, R: in.Body, Left: MaxParse}
	w := walker{in: in, page: &page}
	w.collect(in.URL)
	b := bufio.NewReaderSize(src, 512)
	var err error
	if head, _ := b.Peek(512); bytes.HasPrefix(bytes.TrimLeft(head, "\xEF\xBB\xBF \t\r\n"), []byte("{")) { // how it failed is in src
		_, _ = b.Discard(bytes.IndexByte(head, '{'))
		w.jsonFeed(b)
	} else {
		err = w.xmlFeed(b)
	}
	switch {
	case src.Err != nil && !errors.Is(src.Err, io.EOF):
		return Page{}, failed(in, src.Err)
	case err != nil:
		return Page{}, failed(in, err)
	case src.Over:
		page.Unparsed = UnparsedLong
	}
	w.links.into(&page)
	return page, nil
}

func (w *walker) led(url string) { w.links.add(url, Link{Element: elementFeed, Attr: "link"}) }

// xmlFeed reads RSS and Atom as a sitemap is read, which a feed may serve as.
func (w *walker) xmlFeed(body io.Reader) error {
	report, err := sitemap.Read(sitemap.Input{
		URL: w.in.URL, ContentType: w.in.ContentType, Body: body,
		Also: func(base canon.URL, ref string) {
			if u, err := base.Resolve(ref); err == nil {
				ref = u.String()
			}
			w.led(ref)
		},
	}, func(e sitemap.Entry) error {
		w.led(e.URL.String())
		return nil
	})
	if err != nil {
		return err
	}
	for reason, n := range report.Refused {
		switch reason {
		case sitemap.ReasonNoURL, sitemap.ReasonSecond: // an entry that is read as a whole where it stands, and one that leads somewhere
		case sitemap.ReasonTooMany:
			w.links.dropped += n
		default:
			for range n {
				w.links.refuse(canon.Reason(reason))
			}
		}
	}
	switch {
	case report.Finding != nil && report.Finding.Reason == sitemap.FoundNoMap, report.Format != sitemap.RSS && report.Format != sitemap.Atom:
		w.page.Unparsed = UnparsedNoFeed
	case report.Finding != nil:
		w.page.Unparsed = "feed: " + report.Finding.Reason
	}
	return nil
}

// jsonFeed reads a JSON Feed.
func (w *walker) jsonFeed(body io.Reader) {
	var feed struct {
		Next  string `json:"next_url"`
		Items []struct {
			URL         string `json:"url"`
			External    string `json:"external_url"`
			Attachments []struct {
				URL string `json:"url"`
			} `json:"attachments"`
		} `json:"items"`
	}
	if err := json.NewDecoder(body).Decode(&feed); err != nil {
		w.page.Unparsed = UnparsedJSONFeed // a fault of the body is in its source
	}
	for _, item := range feed.Items {
		urls := []string{item.URL, item.External}
		for _, a := range item.Attachments {
			urls = append(urls, a.URL)
		}
		for _, url := range urls {
			if url != "" {
				w.led(url)
			}
		}
	}
	if feed.Next != "" {
		w.led(feed.Next)
	}
}

// Scripts calls found with what the scripts in a page, or a script or JSON of its own, name that looks like a file: with
// the name, and with each URL that it may mean. The page that loads a script may be zero. It waits as HTML does, and errs as
// HTML does.
func (x *Extractor) Scripts(
	ctx context.Context, in Input, kind Kind, page canon.URL, found func(name string, u canon.URL),
) (script.Cut, error) {
	if in.Body == nil {
		return "", ctx.Err()
	}
	release, err := x.turn(ctx, in)
	if err != nil {
		return "", failed(in, err)
	}
	defer release()
	src := &coding.Limited{Ctx: ctx, R: in.Body, Left: script.MaxRead}
	body, err := octets(src, in.Size)
	if err != nil {
		return "", failed(in, err)
	}
	cut := script.Cut("")
	read := func(text []byte, at, page canon.URL) {
		why := script.Find(text, func(name string) {
			for u := range script.Places(name, at, page) {
				found(strings.Clone(name), u)
			}
		})
		if why != "" {
			cut = why
		}
	}
	if kind != KindPage {
		if read(body, in.URL, page); src.Over {
			cut = script.CutLong
		}
		return cut, nil
	}
	o := markup.Options{URL: in.URL, ContentType: in.ContentType, Script: func(text, kind string, base canon.URL) {
		if script.IsElement(kind) {
			read([]byte(text), base, canon.URL{})
		}
	}}
	// Others say what the page is besides, and that it cannot be read.
	_ = markup.Find(markup.HTML, body, o, func(markup.Ref) {})
	return cut, nil
}
