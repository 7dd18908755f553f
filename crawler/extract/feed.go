package extract

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"

	"curtsy/crawler/sitemap"
	"curtsy/frontier/canon"
	"curtsy/storage/coding"
)

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
