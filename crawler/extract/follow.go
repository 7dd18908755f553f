package extract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"curtsy/crawler/extract/pdf"
	"curtsy/storage/mediatype"
)

// Follow says in which documents links are read beside those of KindOf. The zero Follow has none.
type Follow struct {
	PDF, Feed bool
}

// FollowWords are what ParseFollow reads.
func FollowWords() []string { return []string{"pdf", "feed"} }

// ParseFollow reads a list of FollowWords.
func ParseFollow(words []string) (f Follow, err error) {
	for _, w := range words {
		switch w {
		case "pdf":
			f.PDF = true
		case "feed":
			f.Feed = true
		default:
			return f, fmt.Errorf("%q is no kind of document: write %s", w, strings.Join(FollowWords(), " or "))
		}
	}
	return f, nil
}

// KindOf tells what a body is, as the function KindOf does. A PDF file has the media type of one; or it has none, or that
// of what is not told, and begins as one does. A feed has the media type of one; or one that other documents have, too, and
// its root is that of a feed.
func (f Follow) KindOf(contentType, path string, head []byte) Kind {
	kind := KindOf(contentType, path, head)
	if kind != 0 && kind != KindXML {
		return kind
	}
	switch t := mediatype.Parse(contentType); t.Name {
	case "application/pdf", "application/x-pdf":
		kind = KindPDF
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
		switch {
		case bytes.HasPrefix(head, []byte("%PDF-")):
			kind = KindPDF
		case isFeed(head):
			kind = KindFeed
		}
	}
	if kind == KindPDF && !f.PDF || kind == KindFeed && !f.Feed {
		return KindOf(contentType, path, head)
	}
	return kind
}

// elementPDF is what the links of PDF files are told to stand in.
const elementPDF = "pdf"

// readPDF reads the links of a PDF file. Nothing of what a browser fetches by itself is among them.
func (x *Extractor) readPDF(ctx context.Context, in Input, page Page) (Page, error) {
	src := &source{done: ctx.Done(), body: in.Body, left: pdf.MaxSize}
	body, err := octets(src, in.Size)
	switch {
	case errors.Is(err, errDone):
		return Page{}, failed(in, ctx.Err())
	case err != nil:
		return Page{}, failed(in, err)
	case src.over:
		page.Unparsed = pdf.UnreadLarge
		return page, nil
	}
	r, err := pdf.Find(ctx, body)
	if err != nil {
		return Page{}, failed(in, err)
	}
	page.Unparsed = r.Unread
	w := walker{in: in, page: &page}
	w.collect(in.URL)
	for _, uri := range r.Links {
		w.links.add(uri, Link{Element: elementPDF, Attr: "URI"})
	}
	w.links.into(&page)
	return page, nil
}
