package markup

import "strings"

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

// endTag reads an end tag whose name begins at i.
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

// xmlTag rewrites a tag, and the style sheet behind it.
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
