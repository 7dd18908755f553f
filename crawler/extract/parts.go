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

// Parts reads the references of a document of a kind other than KindPage. It waits and errs as HTML does. Title, Base,
// Charset and text are only for pages.
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

var rewriters = map[Kind]markup.Rewriter{KindStyle: markup.CSS, KindSVG: markup.SVG, KindScript: markup.Module,
	KindXML: markup.XML, KindManifest: markup.Manifest}

// Turn waits until a document of size bytes may be read: large ones of at most MaxParse bytes together are read at once.
// Small ones do not wait. The caller then sets Input.Turn, so that HTML does not wait again.
func (x *Extractor) Turn(ctx context.Context, size int64) (release func(), err error) {
	weight := min(size, MaxParse)
	switch {
	case size <= 0:
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

// collect frees memory of a large document before more is read: a collection under way would count it as alive.
func collect(size int64) {
	if size <= 0 || size > MaxParse/2 {
		runtime.GC()
	}
}

// turn is Turn unless the caller has it.
func (x *Extractor) turn(ctx context.Context, in Input) (release func(), err error) {
	if in.Turn {
		return func() {}, nil
	}
	return x.Turn(ctx, in.Size)
}

// octets reads src, of about size bytes. A large one gets a buffer of the full size at once: growing needs it twice.
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

// mention takes a reference that package markup found.
func (w *walker) mention(r markup.Ref) {
	embed := r.Role.Requisite() || r.Role == markup.Lazy
	taken := embed || r.Role == markup.Link
	if !taken && w.links.sink == nil {
		return
	}
	ref := r.Raw
	if r.Base != w.links.base { // of a nested document
		u, err := r.URL()
		if err != nil {
			w.mentionRefused(r, canon.ReasonOf(err), taken, embed)
			return
		}
		ref = u.String()
	}
	if len(ref) <= canon.MaxLength { // else it is refused and not kept
		ref = strings.Clone(ref)
	}
	l := Link{Element: strings.Clone(r.Element), Attr: strings.Clone(r.Attr), Embed: embed, Rel: relOf(r.Rel)}
	if !taken {
		w.links.inert(ref, l)
		return
	}
	w.links.collect(restore(r.Raw), markup.Strip(restore(ref)), l)
}

func (w *walker) mentionRefused(r markup.Ref, reason canon.Reason, taken, embed bool) {
	if taken {
		w.links.refuse(reason)
	}
	if t := w.links.sink; t != nil {
		fate := Refused
		if !taken {
			fate = Inert
		}
		t.hand(&w.links, restore(r.Raw), r.Raw, Link{Element: r.Element, Attr: r.Attr, Embed: embed}, fate, 0, reason)
	}
}

// Kind is a kind of document with references.
type Kind uint8

// The kinds. A document of the zero Kind is not read.
const (
	KindPage  Kind = iota + 1 // HTML, for Extractor.HTML
	KindStyle                 // this and the others are for Extractor.Parts
	KindSVG
	KindManifest
	KindScript // may import others
	KindXML    // any other document in XML, which may have a style sheet
	KindFeed   // RSS, Atom or JSON Feed
)

// KindOf returns the kind of a body: by its media type; where the server names none, by its first bytes, as IsHTML does,
// or else by the extension of its path. Web manifests are also recognized by name, since servers rarely know their type.
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

// IsHTML reports whether a body is a page for Extractor.HTML: by its media type, text/html or application/xhtml+xml, or
// without one by its first bytes (up to 512 are used).
func IsHTML(contentType string, head []byte) bool { return mediatype.Parse(contentType).IsPage(head) }

// Follow selects documents whose links are followed besides those of KindOf.
type Follow struct {
	Feed bool
}

// FollowWords returns the words of ParseFollow.
func FollowWords() []string { return []string{"feed"} }

// ParseFollow parses a list of FollowWords.
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

// KindOf is the function KindOf with feeds, recognized by media type, or for a general media type by their root.
func (f Follow) KindOf(contentType, path string, head []byte) Kind {
	kind := KindOf(contentType, path, head)
	if kind != 0 && kind != KindXML {
		return kind
	}
	switch t := mediatype.Parse(contentType); t.Name {
	case "application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json":
		kind = KindFeed
	case "text/xml", "application/xml", "", "application/octet-stream":
		if feedRoot.Match(head) {
			kind = KindFeed
		}
	case "application/json":
		if jsonFeed.Match(head) {
			kind = KindFeed
		}
	}
	if kind == KindFeed && !f.Feed {
		return KindOf(contentType, path, head)
	}
	return kind
}

// elementFeed is the Link.Element of feeds.
const elementFeed = "feed"

// The values of Page.Unparsed for feeds, besides "feed: " and a finding of package sitemap.
const (
	UnparsedJSONFeed = "feed: damaged JSON"
	UnparsedNoFeed   = "feed: no feed"
)

var (
	// feedRoot matches the root element of a feed after declarations and comments. RDF is RSS 1.0.
	feedRoot = regexp.MustCompile(`(?is)^\x{FEFF}?(?:\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>]*>)*<(?:[a-z0-9]+:)?(?:rss|feed|rdf)[\s>]`)

	// jsonFeed matches the version of a JSON Feed (https://www.jsonfeed.org/version/1.1/).
	jsonFeed = regexp.MustCompile(`"version"\s*:\s*"https?:(?:\\?/){2}(?:www\.)?jsonfeed\.org(?:\\?/)version`)
)

// readFeed reads the links of a feed, none of which is a requisite.
func (x *Extractor) readFeed(ctx context.Context, in Input, page Page) (Page, error) {
	src := &coding.Limited{Ctx: ctx, R: in.Body, Left: MaxParse}
	w := walker{in: in, page: &page}
	w.collect(in.URL)
	b := bufio.NewReaderSize(src, 512)
	var err error
	if head, _ := b.Peek(512); bytes.HasPrefix(bytes.TrimLeft(head, "\xEF\xBB\xBF \t\r\n"), []byte("{")) { // src has the error
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

// xmlFeed reads RSS and Atom as package sitemap does.
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
		case sitemap.ReasonNoURL, sitemap.ReasonSecond: // no link is missing
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
		w.page.Unparsed = UnparsedJSONFeed // src has an error of the body
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

// Scripts calls found with each name in the scripts of a page, or in a script or JSON document, that looks like a file, and
// each URL that it may mean. page, which loads a script, may be zero. It waits and errs as HTML does.
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
	_ = markup.Find(markup.HTML, body, o, func(markup.Ref) {})
	return cut, nil
}
