package main

import (
	"bytes"
	"net/url"

	"golang.org/x/net/html"
)

// bareLinks parses a page and resolves what its links lead to: what the loop cannot do without, and goquery left out. A
// loop that takes much more processor time than this and the fetching is no yardstick.
func bareLinks(base *url.URL, page []byte) (links []string, err error) {
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, err
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data != "a" {
			continue
		}
		for _, a := range n.Attr {
			if a.Key != "href" {
				continue
			}
			if to, err := base.Parse(a.Val); err == nil {
				to.Fragment = ""
				links = append(links, to.String())
			}
			break
		}
	}
	return links, nil
}
