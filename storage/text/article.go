package text

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	readability "codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
)

// article returns the main text of a lean page with this whole text, or why there is none. A panic of the extractor costs
// the page its main text only.
func article(lean []byte, whole *lines) (main lines, why string) {
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
	if share(&main, whole) < mostShare {
		if body := document(lean, whole); body != nil {
			main = lines{most: MaxText}
			write(&main, body)
		}
	}
	return main, ""
}

// document returns the smallest element that has nine tenths of the long lines of a page, as the one around all sections of
// a chapter has; nil if that is the whole body, or if it contains forms, menus or other parts that are not the main text.
// The extractor chooses one section of such a page.
func document(lean []byte, whole *lines) (most *html.Node) {
	root, err := html.Parse(bytes.NewReader(lean))
	long, _ := whole.own()
	if err != nil || long < fewBytes {
		return nil
	}
	l := lines{most: MaxText, leave: func(n *html.Node, of int) {
		if most == nil && of*10 >= long*9 {
			most = n
		}
	}}
	write(&l, root)
	if most == nil || most.Data == "body" || most.Data == "html" {
		return nil
	}
	for n := range most.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "aside", "button", "footer", "form", "header", "input", "nav", "select", "textarea":
			return nil
		}
	}
	return most
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
	before, _ := l.own()
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
	if l.leave != nil && n.Type == html.ElementNode {
		after, _ := l.own()
		l.leave(n, after-before)
	}
}
