package extract

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"curtsy/storage/markup"
)

// style reads the style sheet in a style element. One of another type is none (HTML Standard 4.2.6).
func (w *walker) style(n *html.Node) {
	if t := attr(n, "type"); t != "" && !strings.EqualFold(t, "text/css") {
		return
	}
	var b strings.Builder
	text := ""
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type != html.TextNode:
		case c == n.LastChild && b.Len() == 0:
			text = c.Data // in HTML there is one text, which may be large: it is not copied
		default:
			b.WriteString(c.Data)
			text = b.String()
		}
	}
	if strings.ContainsAny(text, "(@") {
		w.sheet("style", "", text)
	}
}

// sheet reads a style sheet, or declarations, in the page.
func (w *walker) sheet(element, attr, text string) {
	if w.styled.find == nil {
		w.styled.find = markup.NewStyles(func(r markup.Ref) {
			if r.Element = w.styled.element; w.styled.attr != "" {
				r.Attr = w.styled.attr
			}
			w.mention(r)
		})
	}
	w.styled.element, w.styled.attr = element, attr
	w.styled.find.Find(restore(text), w.links.base)
}

// declarations reads the attributes of an element that hold style: the style attribute, and in SVG each property that
// may name a document (SVG 2, 6.6). Those that name none are cheap to tell.
func (w *walker) declarations(n *html.Node) {
	for _, a := range n.Attr {
		switch {
		case a.Namespace != "" || strings.IndexByte(a.Val, '(') < 0:
		case a.Key == "style", n.Namespace == "svg" && markup.IsPresentation(a.Key):
			w.sheet(wasTag(n), a.Key, a.Val)
		}
	}
}

// maxNested is how deep documents within attributes are read.
const maxNested = 3

// srcdoc reads the page within an iframe's attribute, whose references are relative to what those around it are
// relative to (HTML Standard 2.4.3, fallback base URL).
func (w *walker) srcdoc(n *html.Node) {
	if n.DataAtom != atom.Iframe || !has(n, "srcdoc") {
		return
	}
	if w.nested == maxNested {
		w.page.Unparsed = UnparsedNested
		return
	}
	doc, over, err := parsed(strings.NewReader(restore(attr(n, "srcdoc"))), &w.left)
	switch {
	case err != nil:
		w.page.Unparsed = UnparsedNested
		return
	case over != "":
		w.page.Unparsed = over
	}
	around, self, refs, titled := w.links.base, w.links.self, w.links.refs, w.titled
	if w.links.base, w.links.self = base(doc, around), false; w.links.base != around {
		w.links.refs = map[string]resolved{}
	}
	charset := w.links.charset
	w.nested++
	w.titled, w.links.charset = true, "" // a page in an attribute is in UTF-8 (HTML Standard 7.4.6)
	w.document(doc)
	w.nested--
	w.links.charset = charset
	w.links.base, w.links.self, w.links.refs, w.titled = around, self, refs, titled
}
