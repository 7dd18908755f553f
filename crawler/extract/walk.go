package extract

import (
	"iter"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"curtsy/frontier/canon"
	"curtsy/storage/markup"
)

const (
	maxTitle = 1 << 10 // bytes
	maxAbout = 2 << 10
)

// walker reads a document into a page.
type walker struct {
	in     Input
	page   *Page
	links  collector
	left   budget // for pages within this one
	titled bool
	nested int  // documents around the present one
	framed bool // in a noframes element

	// The present style and its place.
	styled struct {
		find          *markup.Styles
		element, attr string
	}
}

// elements returns the elements of a document in order.
func elements(doc *goquery.Document) iter.Seq[*html.Node] {
	return func(yield func(*html.Node) bool) {
		root := doc.Nodes[0]
		for n := root; n != nil; n = behind(n, root, inert) {
			if n.Type == html.ElementNode && !yield(n) {
				return
			}
		}
	}
}

// behind returns the node after n within root, without the contents of nodes that skip reports; nil at the end.
func behind(n, root *html.Node, skip func(*html.Node) bool) *html.Node {
	if n.FirstChild != nil && !skip(n) {
		return n.FirstChild
	}
	for n != root && n.NextSibling == nil {
		n = n.Parent
	}
	if n == root {
		return nil
	}
	return n.NextSibling
}

// base returns the document base URL.
func base(doc *goquery.Document, own canon.URL) canon.URL {
	for n := range elements(doc) {
		if n.DataAtom != atom.Base || n.Namespace != "" || !has(n, "href") {
			continue
		}
		return markup.BaseURL(markup.Strip(restore(attr(n, "href"))), own)
	}
	return own
}

func (w *walker) document(doc *goquery.Document) {
	for n := range elements(doc) {
		if w.links.sink != nil {
			w.links.sink.element(n)
		}
		switch {
		case n.DataAtom == atom.Style && (n.Namespace == "" || n.Namespace == "svg"):
			w.style(n)
		case n.Namespace == "svg", n.Namespace == "math":
			w.foreign(n)
		case n.Namespace != "":
		case n.DataAtom == atom.A || n.DataAtom == atom.Area:
			if has(n, "href") {
				w.links.add(attr(n, "href"), Link{Element: wasTag(n), Attr: "href", Rel: relOf(attr(n, "rel"))})
			}
		case n.DataAtom == atom.Link:
			w.link(n)
		case n.DataAtom == atom.Meta:
			if wasTag(n) == n.Data {
				w.meta(n)
			}
		case n.DataAtom == atom.Title:
			w.title(n)
		case n.DataAtom == atom.Input:
			if strings.EqualFold(attr(n, "type"), "image") {
				w.requisite(n, map[string]bool{"src": false})
			}
		case n.DataAtom == atom.Script:
			w.requisite(n, markup.Requisites(n.Data))
			w.module(n)
		case n.DataAtom == atom.Noframes:
			w.noframes(n)
		default:
			if attrs := markup.Requisites(n.Data); attrs != nil {
				w.requisite(n, attrs)
			}
		}
		if len(n.Attr) > 0 {
			w.lazy(n)
			w.declarations(n)
			if n.Namespace == "" {
				w.srcdoc(n)
			}
		}
	}
}

func (w *walker) link(n *html.Node) {
	rel := attr(n, "rel")
	w.canonical(n, rel)
	l := Link{Element: "link", Rel: relOf(rel)}
	role := markup.LinkRole(rel)
	if role == markup.Service {
		if has(n, "href") {
			l.Attr = "href"
			w.links.inert(attr(n, "href"), l)
		}
		return
	}
	l.Embed = role.Requisite()
	for _, a := range n.Attr {
		switch a.Key {
		case "href":
			l.Attr = "href"
			w.links.add(a.Val, l)
		case "imagesrcset":
			l.Attr = "imagesrcset"
			w.srcset(a.Val, l)
		}
	}
}

// requisite reads attributes with requisites; the value in attrs marks image candidates.
func (w *walker) requisite(n *html.Node, attrs map[string]bool) {
	for _, a := range n.Attr {
		set, ok := attrs[a.Key]
		switch l := (Link{Embed: true, Element: n.Data, Attr: a.Key}); {
		case !ok:
		case set:
			w.srcset(a.Val, l)
		default:
			w.links.add(a.Val, l)
		}
	}
}

// module reads the imports of an inline module.
func (w *walker) module(n *html.Node) {
	if n.FirstChild == nil || !strings.EqualFold(markup.Strip(attr(n, "type")), "module") {
		return
	}
	o := markup.Options{URL: w.links.base}
	_ = markup.Find(markup.Module, []byte(restore(n.FirstChild.Data)), o, func(r markup.Ref) {
		r.Element = "script"
		w.mention(r)
	})
}

// noframes reads the content for browsers without frames, which is text to the parser.
func (w *walker) noframes(n *html.Node) {
	if n.FirstChild == nil || n.FirstChild.Type != html.TextNode || w.framed {
		return
	}
	doc, over, err := parsed(strings.NewReader(restore(n.FirstChild.Data)), &w.left)
	switch {
	case err != nil:
		w.page.Unparsed = UnparsedNested
		return
	case over != "":
		w.page.Unparsed = over
	}
	titled := w.titled
	w.framed, w.titled = true, true
	w.document(doc)
	w.framed, w.titled = false, titled
}

func (w *walker) srcset(value string, l Link) {
	markup.Candidates(value, func(start, end int) { w.links.add(value[start:end], l) })
}

// foreign reads an element of SVG 2 or MathML. href wins over xlink:href, its old name.
func (w *walker) foreign(n *html.Node) {
	l := Link{Element: wasTag(n), Attr: "href", Embed: n.Namespace == "svg"}
	if l.Element == "a" || !l.Embed {
		l.Embed, l.Rel = false, relOf(attr(n, "rel"))
	}
	if has(n, "href") {
		w.links.add(attr(n, "href"), l)
		return
	}
	for _, a := range n.Attr {
		if a.Namespace == "xlink" && a.Key == "href" {
			l.Attr = "xlink:href"
			w.links.add(a.Val, l)
			return
		}
	}
}

func (w *walker) meta(n *html.Node) {
	content := restore(attr(n, "content"))
	name := attr(n, "name")
	w.page.Robots.meta(name, content, w.in.Token)
	if w.page.About == "" && w.nested == 0 && strings.EqualFold(name, "description") {
		w.page.About = words(content, maxAbout)
	}
	if w.in.Previews && (markup.IsPreview(attr(n, "property")) || markup.IsPreview(attr(n, "name")) ||
		markup.IsPreview(attr(n, "itemprop"))) {
		w.links.add(content, Link{Element: "meta", Attr: "content", Embed: true})
	}
	if strings.EqualFold(attr(n, "http-equiv"), "refresh") {
		w.refresh(content, Link{Element: "meta", Attr: "content", Refresh: true})
	}
}

func (w *walker) refreshField() {
	for _, value := range w.in.Header.Values("Refresh") {
		w.refresh(value, Link{Attr: "Refresh", Refresh: true})
	}
}

func (w *walker) refresh(value string, l Link) {
	if start, end, _, ok := markup.RefreshURL(value); ok {
		w.links.add(value[start:end], l)
	}
}

func (w *walker) title(n *html.Node) {
	if w.titled {
		return
	}
	w.titled = true
	text := restore(goquery.NewDocumentFromNode(n).Text())
	w.page.Title = words(text, maxTitle)
}

// canonical reads the page's canonical URL (RFC 6596).
func (w *walker) canonical(n *html.Node, rel string) {
	if !w.page.Canonical.IsZero() || w.nested > 0 || len(rel) < len("canonical") {
		return
	}
	for token := range strings.FieldsFuncSeq(rel, isSpace) {
		if strings.EqualFold(token, "canonical") {
			if u, err := w.page.Base.Resolve(markup.Strip(restore(attr(n, "href")))); err == nil {
				w.page.Canonical = u
			}
			return
		}
	}
}

// words collapses white space and cuts text after most bytes.
func words(text string, most int) string {
	return bounded(strings.Join(strings.Fields(text[:min(len(text), 4*most)]), " "), most)
}

// attr returns the value of an attribute without a namespace; "" if missing.
func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return true
		}
	}
	return false
}

// bounded returns a copy of s that is valid UTF-8 of at most n bytes.
func bounded(s string, n int) string {
	return strings.Clone(strings.ToValidUTF8(s[:min(len(s), n)], ""))
}

// text passes the text of a document to Input.Text.
func (w *walker) text(doc *goquery.Document) {
	root := doc.Nodes[0]
	for n := root; n != nil && w.in.Text != nil; n = behind(n, root, silent) {
		if n.Type == html.TextNode {
			w.in.Text(restore(n.Data))
		}
	}
}

// silent reports whether the contents of n are not text of the page.
func silent(n *html.Node) bool {
	return n.DataAtom == atom.Script || n.DataAtom == atom.Style || inert(n)
}

// inert reports whether n is a template that is not a declarative shadow root (HTML Standard 4.12.3).
func inert(n *html.Node) bool {
	return n.DataAtom == atom.Template && n.Namespace == "" && !has(n, "shadowrootmode")
}

// lazy reads the attributes of lazy loading scripts.
func (w *walker) lazy(n *html.Node) {
	for _, a := range n.Attr {
		if a.Namespace != "" || !strings.HasPrefix(a.Key, "data-") {
			continue
		}
		l := Link{Embed: true, Element: wasTag(n), Attr: a.Key}
		switch form := markup.LazyAttr(a.Key); {
		case form == 0:
		case form == markup.LazySet:
			w.srcset(a.Val, l)
		case form == markup.LazyStyle && strings.Contains(strings.ToLower(a.Val), "url("):
			w.sheet(l.Element, a.Key, a.Val)
		default:
			w.links.add(a.Val, l)
		}
	}
}

// style reads a style element, unless it has another type (HTML Standard 4.2.6).
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
			text = c.Data // HTML has one text, which may be large: do not copy it
		default:
			b.WriteString(c.Data)
			text = b.String()
		}
	}
	if strings.ContainsAny(text, "(@") {
		w.sheet("style", "", text)
	}
}

// sheet reads an inline style sheet or declarations.
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

// declarations reads the style attribute, and in SVG the presentation attributes (SVG 2, 6.6).
func (w *walker) declarations(n *html.Node) {
	for _, a := range n.Attr {
		switch {
		case a.Namespace != "" || strings.IndexByte(a.Val, '(') < 0:
		case a.Key == "style", n.Namespace == "svg" && markup.IsPresentation(a.Key):
			w.sheet(wasTag(n), a.Key, a.Val)
		}
	}
}

const maxNested = 3 // documents within attributes

// srcdoc reads the page in an iframe's attribute. Its fallback base URL is that of the page around (HTML Standard 2.4.3).
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

func isSpace(r rune) bool { return strings.ContainsRune(markup.Space, r) }
