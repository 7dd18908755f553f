package text

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	readability "codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
)

// article returns the main text of a lean page, or why there is none. The extractor is code of others on pages of
// others: what it panics about is no end of ours.
func article(lean []byte) (main lines, why string) {
	defer func() {
		if recover() != nil {
			main, why = lines{}, NoExtract
		}
	}()
	doc, err := html.Parse(bytes.NewReader(lean))
	if err != nil {
		if strings.Contains(err.Error(), "exceeds 512") {
			return main, NoTree
		}
		return main, NoExtract
	}
	p := readability.NewParser()
	p.DisableJSONLD = true
	a, err := p.ParseAndMutate(doc, &url.URL{Scheme: "http", Host: "a.invalid", Path: "/"})
	switch {
	case err != nil:
		return main, NoExtract
	case a.Node == nil:
		return main, NoArticle
	}
	main.most = MaxText
	if write(&main, a.Node); len(main.b) == 0 {
		return main, NoArticle
	}
	return main, ""
}

const (
	mostShare = 0.75 // below which a main text lacks much
	fewBytes  = 300  // of long lines, below which all lines count
)

// share returns the part of the whole text that the main text has.
func share(main, whole *lines) float64 {
	part, _ := main.own()
	of, all := whole.own()
	if of < fewBytes {
		_, part = main.own()
		of = all
	}
	return min(float64(part)/float64(max(of, 1)), 1)
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
	outer := l.link
	l.link = outer || n.Data == "a" && slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "href" })
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		write(l, child)
	}
	l.link = outer
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
