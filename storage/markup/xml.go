package markup

import (
	"slices"
	"strings"
)

// xmlScanner finds the start tags of an XML document.
type xmlScanner struct {
	s           string
	at          int
	found       []attribute
	whole       string               // the tag's name with its prefix
	instruction func(start, end int) // called for processing instructions
	end         func(name string)    // called for end tags, or nil
}

// next returns the next start tag, whose name has no prefix.
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

// IsPageElement reports whether an element, named in lower case, is one of HTML with references, and not of SVG.
func IsPageElement(name string) bool {
	switch name {
	case "a", "image", "script", "style":
		return false
	}
	return places[name] != nil
}

// instruction rewrites a processing instruction that links to a style sheet (Associating Style Sheets with XML documents
// 1.0).
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
		if new, ok := h.replace(Ref{Raw: decode(s[a.start:a.end]), Element: "xml-stylesheet", Attr: "href", Role: Style,
			Charset: h.charset}); ok {
			h.to(h.whole(&a, new))
		}
		return
	}
}

// doctypeEnd returns the end of a document type declaration whose text begins at i: it may have declarations in brackets,
// with quoted texts (XML 2.8).
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

// xhtmlDoc rewrites an XML page: "/>" ends any element, no element has raw text, and the meaning of an element depends on
// its ancestors.
type xhtmlDoc struct {
	htmlDoc
	open []string // open elements that affect their content
}

// XHTML rewrites an XML page (HTML Standard 14).
func XHTML(in []byte, o Options, visit Visit) ([]byte, error) {
	c := xmlCoding(in, o)
	return rewrite(in, o, visit, c, xmlDeclaration, func(w *work, text string, to sink) error {
		h := xhtmlDoc{htmlDoc: htmlDoc{doc: doc{work: w, base: o.URL}, s: text, to: to, charset: c.queries(), xml: true}}
		base := xmlScanner{s: text, instruction: func(int, int) {}}
		for t, ok := base.next(); ok; t, ok = base.next() {
			if a := t.attribute("href"); t.name == "base" && a != nil {
				h.base = BaseURL(Strip(decode(text[a.start:a.end])), o.URL)
				break
			}
		}
		h.self = h.base == o.URL
		x := xmlScanner{s: text, instruction: h.instruction, end: h.close}
		for t, ok := x.next(); ok && h.err == nil; t, ok = x.next() {
			h.enter(&t)
			h.xmlTag(&t, &x)
		}
		return nil
	})
}

// enter determines the namespace of a tag, and tracks its element.
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
		t.name = "" // only the HTML parser makes it an img
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

// foreign tracks SVG and MathML (HTML Standard 13.2.6.5), exactly if elements are closed in order.
type foreign struct{ open []alien }

// alien is an open foreign element.
type alien struct {
	name  string
	space byte // 's' for SVG, 'm' for MathML
	point bool // its content is HTML
}

// start tracks a start tag and reports whether it is foreign.
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
	// An annotation of a formula may contain SVG directly.
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

// closesAround reports whether an end tag without open foreign element closes an HTML element around, if elements are
// closed in order. Foreign content has no such names.
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
