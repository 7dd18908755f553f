package markup

import (
	"slices"

	"curtsy/frontier/canon"
)

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

// pageBase is that of pages in HTML.
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

// close takes an end tag.
func (h *xhtmlDoc) close(name string) {
	for i, open := range slices.Backward(h.open) {
		if open == name {
			h.open = h.open[:i]
			return
		}
	}
}
