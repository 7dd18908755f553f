package markup

import (
	"slices"
	"strings"

	"curtsy/frontier/canon"
)

// runXML goes through a document in XML that holds SVG. Elements are told by their names, whatever their prefixes, and
// so is a page's element in it (foreignObject). A document that is not well formed is read as far as it goes.
func (h *htmlDoc) runXML() {
	h.self = h.base == h.o.URL
	x := xmlScanner{s: h.s, instruction: h.instruction}
	for t, ok := x.next(); ok && h.err == nil; t, ok = x.next() {
		t.svg = !IsPageElement(t.name)
		t.foreign = t.svg
		h.xmlTag(&t, &x)
	}
}

// xmlScanner goes through the start tags of a document in XML.
type xmlScanner struct {
	s           string
	at          int
	found       []attribute
	whole       string               // name of the tag, with its prefix
	instruction func(start, end int) // told of processing instructions
	end         func(name string)    // told of end tags, if not nil
}

// next returns the next start tag, whose name is without its prefix.
func (x *xmlScanner) next() (t tag, ok bool) {
	for {
		i := strings.IndexByte(x.s[x.at:], '<')
		if i < 0 {
			return t, false
		}
		i += x.at
		switch rest := x.s[i:]; {
		case strings.HasPrefix(rest, "<!--"):
			x.at = Behind(x.s, i+len("<!--"), "-->")
		case strings.HasPrefix(rest, "<![CDATA["):
			x.at = Behind(x.s, i, "]]>")
		case strings.HasPrefix(rest, "<!"):
			x.at = doctypeEnd(x.s, i+2)
		case strings.HasPrefix(rest, "<?"):
			x.at = Behind(x.s, i, "?>")
			x.instruction(i, x.at)
		case strings.HasPrefix(rest, "</"):
			x.endTag(i + 2)
		case len(rest) < 2 || !isNameStart(rest[1]):
			x.at = i + 1
		default:
			if t, ok = readTag(x.s, i, true, x.found); ok {
				x.found, x.at, x.whole = t.found, t.end, t.name
				t.name = unprefixed(t.name)
			}
			return t, ok
		}
	}
}

func (x *xmlScanner) endTag(i int) {
	x.at = i
	for x.at < len(x.s) && x.s[x.at] != '>' && x.s[x.at] != '<' && !IsSpace(x.s[x.at]) {
		x.at++
	}
	if x.end != nil {
		x.end(unprefixed(lower(x.s[i:x.at])))
	}
}

func unprefixed(name string) string { return name[strings.IndexByte(name, ':')+1:] }

func isNameStart(c byte) bool { return IsLetter(c) || c == '_' || c == ':' || c >= 0x80 }

func (h *htmlDoc) xmlTag(t *tag, x *xmlScanner) {
	if t.name == "style" && !t.closed {
		t.body = RawEnd(h.s, t.end, x.whole)
		x.at = t.body
	}
	h.tag(t)
}

// IsPageElement reports whether an element, whose name is in small letters, is one of HTML that refers to something, and
// none of SVG.
func IsPageElement(name string) bool {
	switch name {
	case "a", "image", "script", "style":
		return false
	}
	return places[name] != nil
}

// instruction rewrites a processing instruction, from start to end, that links to a style sheet (Associating Style
// Sheets with XML documents 1.0).
func (h *htmlDoc) instruction(start, end int) {
	const target = "<?xml-stylesheet"
	if !strings.HasPrefix(h.s[start:], target) {
		return
	}
	s := strings.TrimSuffix(h.s[:end], "?>")
	for at := start + len(target); ; {
		a, ok := nextAttribute(s, min(at, len(s)))
		if !ok {
			return
		}
		if at = a.after; a.keyIn(s) != "href" {
			continue
		}
		if new, ok := h.ask(Ref{Raw: decode(s[a.start:a.end]), Element: "xml-stylesheet", Attr: "href", Role: Style,
			Charset: h.charset}); ok {
			h.to(h.whole(&a, new))
		}
		return
	}
}

// doctypeEnd returns where a document type declaration ends, whose text begins at i: it may have declarations in
// brackets, with texts in quotes (XML 2.8).
func doctypeEnd(s string, i int) int {
	deep := 0
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\'':
			n := strings.IndexByte(s[i+1:], c)
			if n < 0 {
				return len(s)
			}
			i += n + 1
		case strings.HasPrefix(s[i:], "<!--"):
			i = Behind(s, i+len("<!--"), "-->") - 1
		case c == '[':
			deep++
		case c == ']':
			deep--
		case c == '>' && deep <= 0:
			return i + 1
		}
	}
	return len(s)
}

// xhtmlDoc rewrites a page in XML: as the parser of XML reads it, in which "/>" ends any element, no element has raw
// text, and what an element is depends on where it stands.
type xhtmlDoc struct {
	htmlDoc
	open []string // elements that are not closed, of those that change what is in them
}

// XHTML rewrites a page in XML (HTML Standard 14).
func XHTML(in []byte, o Options, visit Visit) ([]byte, error) {
	c := xmlCoding(in, o)
	return rewrite(in, o, visit, c, xmlDeclaration, func(w *work, text string, to sink) error {
		h := xhtmlDoc{htmlDoc: htmlDoc{doc: doc{work: w, base: o.URL}, s: text, to: to, charset: c.queries(), xml: true}}
		h.run()
		return nil
	})
}

func (h *xhtmlDoc) run() {
	h.base = h.pageBase()
	h.self = h.base == h.o.URL
	x := xmlScanner{s: h.s, instruction: h.instruction, end: h.close}
	for t, ok := x.next(); ok && h.err == nil; t, ok = x.next() {
		h.enter(&t)
		h.xmlTag(&t, &x)
	}
}

func (h *xhtmlDoc) pageBase() canon.URL {
	x := xmlScanner{s: h.s, instruction: func(int, int) {}}
	for t, ok := x.next(); ok; t, ok = x.next() {
		if a := t.attribute("href"); t.name == "base" && a != nil {
			return BaseURL(Strip(decode(h.s[a.start:a.end])), h.o.URL)
		}
	}
	return h.o.URL
}

// enter says what a tag is of, and what is in its element.
func (h *xhtmlDoc) enter(t *tag) {
	around := ""
	if n := len(h.open); n > 0 {
		around = h.open[n-1]
	}
	switch {
	case t.name == "svg":
		t.svg = true
	case around == "svg":
		t.svg = !IsPageElement(t.name)
	case t.name == "math" || around == "math":
		t.foreign = true
	case t.name == "image":
		t.name = "" // only the parser of HTML makes it an img
	}
	t.foreign = t.foreign || t.svg
	switch t.name {
	case "svg", "math", "foreignobject", "annotation-xml":
		if !t.closed && len(h.open) < maxOpen {
			h.open = append(h.open, t.name)
		}
	}
}

func (h *xhtmlDoc) close(name string) {
	for i, open := range slices.Backward(h.open) {
		if open == name {
			h.open = h.open[:i]
			return
		}
	}
}

// foreign follows where SVG and MathML begin and end (HTML Standard 13.2.6.5), as far as that can be told without a
// tree: exactly where elements are closed in order.
type foreign struct{ open []alien }

// alien is an open foreign element.
type alien struct {
	name  string
	space byte // 's' of SVG, 'm' of MathML
	point bool // what is in it is HTML
}

func (f *foreign) inside() bool { return len(f.open) > 0 }

// start takes a start tag, and reports whether it is of a foreign element.
func (f *foreign) start(t *tag) bool {
	if n := len(f.open); n > 0 && !f.open[n-1].point {
		if !breaksOut(t) {
			f.push(t, f.open[n-1].space)
			return true
		}
		for len(f.open) > 0 && !f.open[len(f.open)-1].point {
			f.open = f.open[:len(f.open)-1]
		}
	}
	switch t.name {
	case "svg":
		f.push(t, 's')
	case "math":
		f.push(t, 'm')
	default:
		return false
	}
	return true
}

func (f *foreign) push(t *tag, space byte) {
	// An annotation of a formula may hold SVG at once.
	if n := len(f.open); t.name == "svg" && n > 0 && f.open[n-1].name == "annotation-xml" {
		space = 's'
	}
	t.svg = space == 's'
	if t.closed || len(f.open) == maxOpen {
		return
	}
	a := alien{name: t.name, space: space}
	switch t.name {
	case "foreignobject", "desc", "title":
		a.point = space == 's'
	case "mi", "mo", "mn", "ms", "mtext":
		a.point = space == 'm'
	case "annotation-xml":
		a.point = space == 'm' && t.attribute("encoding") != nil
	case "style", "script":
		return // see scanner.startTag
	}
	f.open = append(f.open, a)
}

func (f *foreign) end(name string) {
	for i := len(f.open) - 1; i >= 0; i-- {
		if f.open[i].name == name {
			f.open = f.open[:i]
			return
		}
	}
	n := len(f.open)
	if n == 0 || f.open[n-1].point || !closesAround(name) {
		return
	}
	for len(f.open) > 0 && !f.open[len(f.open)-1].point {
		f.open = f.open[:len(f.open)-1]
	}
}

// cut closes all but the first n elements.
func (f *foreign) cut(n int) { f.open = f.open[:min(n, len(f.open))] }

func breaksOut(t *tag) bool {
	switch t.name {
	case "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed", "h1", "h2",
		"h3", "h4",
		"h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s", "small",
		"span",
		"strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var":
		return true
	case "font":
		return t.attribute("color") != nil || t.attribute("face") != nil || t.attribute("size") != nil
	}
	return false
}

// closesAround reports whether an end tag that matches no open foreign element closes one of HTML around them, in pages
// whose elements are closed in order. The names are of elements that foreign content has not.
func closesAround(name string) bool {
	switch name {
	case "article", "aside", "body", "button", "dd", "details", "div", "dl", "dt", "figcaption", "figure", "footer",
		"form", "h1", "h2",
		"h3", "h4", "h5", "h6", "header", "html", "label", "li", "main", "nav", "ol", "p", "br", "section", "span", "table",
		"tbody",
		"td", "th", "thead", "tr", "ul":
		return true
	}
	return false
}
