package text

import (
	"bytes"
	"net/url"
	"strings"

	readability "codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
)

// article returns the main text of a lean page, or why there is none. The extractor is code of others on pages of
// others: what it panics about is no end of ours.
func article(lean []byte) (main, why string) {
	defer func() {
		if recover() != nil {
			main, why = "", NoExtract
		}
	}()
	doc, err := html.Parse(bytes.NewReader(lean))
	if err != nil {
		if strings.Contains(err.Error(), "exceeds 512") {
			return "", NoTree
		}
		return "", NoExtract
	}
	p := readability.NewParser()
	p.DisableJSONLD = true
	a, err := p.ParseAndMutate(doc, &url.URL{Scheme: "http", Host: "a.invalid", Path: "/"})
	switch {
	case err != nil:
		return "", NoExtract
	case a.Node == nil:
		return "", NoArticle
	}
	l := lines{most: MaxText}
	write(&l, a.Node)
	if main = l.String(); main == "" {
		return "", NoArticle
	}
	return main, ""
}

// write adds the text of a tree. A tree of the parser is at most 512 deep.
func write(l *lines, n *html.Node) {
	if n.Type == html.TextNode {
		l.text([]byte(n.Data))
		return
	}
	c := classOf(n.Data)
	if n.Type != html.ElementNode {
		c = inline
	}
	switch c {
	case silent:
		return
	case keeping:
		l.end()
		l.pre++
	case block:
		l.end()
	case cell:
		l.gap()
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		write(l, child)
	}
	switch c {
	case keeping:
		l.pre--
		l.end()
	case block:
		l.end()
	case cell:
		l.gap()
	}
}
