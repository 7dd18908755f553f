package extract

import (
	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// text hands over the text of a document, node by node in document order: the title's, and all but that of scripts,
// styles and templates.
func text(doc *goquery.Document, to func(string)) {
	root := doc.Nodes[0]
	for n := root; n != nil; {
		if n.Type == html.TextNode {
			to(restore(n.Data))
		}
		if n.FirstChild != nil && !silent(n) {
			n = n.FirstChild
			continue
		}
		for n != root && n.NextSibling == nil {
			n = n.Parent
		}
		n = n.NextSibling
	}
}

// silent reports whether what is in n is no text of the page. See elements for templates.
func silent(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style:
		return true
	case atom.Template:
		return n.Namespace == "" && !has(n, "shadowrootmode")
	}
	return false
}
