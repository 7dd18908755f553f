package markup

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"curtsy/frontier/canon"
	"curtsy/storage/charset"
	"curtsy/storage/script"
)

// ErrTooLarge is the error for a document that would exceed Options.Most.
var ErrTooLarge = errors.New("markup: the document would be larger than the limit with its new references")

// Visit decides on each reference, in document order. If replace is true, the replacement is written in its place: a
// non-empty URL reference, relative or absolute, in the characters 0x21 to 0x7E.
type Visit func(Ref) (replacement string, replace bool)

// Rewriter rewrites a document of one kind.
type Rewriter func(in []byte, o Options, visit Visit) ([]byte, error)

// Options describe a document and further changes in it. The zero value of all but URL changes nothing beyond Visit.
type Options struct {
	URL         canon.URL // of the document; also its base if it names none
	ContentType string    // Content-Type field, perhaps with a charset

	RemoveBase   bool // remove href of base elements, after Ref.Base was resolved with it
	RemovePolicy bool // remove ping and attributionsrc, which send requests, and CSP meta elements that block local files
	Declare      bool // declare the charset if only Content-Type or context does
	Previews     bool // visit og:image, twitter:image, msapplication-TileImage and others, see IsPreview

	// Most bounds the output in bytes, 0 = unlimited: replacements may be longer, and a page decides how many there are.
	// A larger document is ErrTooLarge.
	Most int

	// Removed, if not nil, gets each removed attribute and each reference in an unreadable place.
	Removed func(Removal)

	// Script, if not nil, gets the text of each script element of an HTML page with its type and base (see
	// script.IsElement).
	Script func(text, kind string, base canon.URL)

	// For a Survey: calls for the text and each tag; references into the document itself are visited.
	began     func(w *work, text string)
	anchors   func(*htmlDoc, *tag)
	withinToo bool
}

type Removal struct {
	Element, Attr string
	Value         string // as written
}

// HTML rewrites a page. As in all functions here, Refs and the result share the memory of in. An error means that
// something cannot be written, not that the page is invalid.
func HTML(in []byte, o Options, visit Visit) ([]byte, error) {
	c := htmlCoding(in, o)
	return rewrite(in, o, visit, c, htmlDeclaration, func(w *work, text string, to sink) error {
		h := htmlDoc{doc: doc{work: w, base: o.URL}, s: text, to: to, charset: c.queries()}
		h.run()
		return nil
	})
}

// CSS rewrites a style sheet.
func CSS(in []byte, o Options, visit Visit) ([]byte, error) {
	return rewrite(in, o, visit, cssCoding(in, o), cssDeclaration, func(w *work, text string, to sink) error {
		d := doc{work: w, base: o.URL, self: true}
		w.inSheet = true
		d.styles(text, Ref{Role: Embed}, to)
		return nil
	})
}

// SVG rewrites an XML document that contains SVG.
func SVG(in []byte, o Options, visit Visit) ([]byte, error) {
	return rewrite(in, o, visit, xmlCoding(in, o), xmlDeclaration, func(w *work, text string, to sink) error {
		h := htmlDoc{doc: doc{work: w, base: o.URL, self: true}, s: text, to: to}
		x := xmlScanner{s: text, instruction: h.instruction}
		// Names decide, whatever their prefixes, also on elements of a page (foreignObject).
		for t, ok := x.next(); ok && h.err == nil; t, ok = x.next() {
			t.svg = !IsPageElement(t.name)
			t.foreign = t.svg
			h.xmlTag(&t, &x)
		}
		return nil
	})
}

// XML rewrites any XML document: the style sheets that it names, and those that an XSLT style sheet includes (XSLT 1.0,
// 2.6).
func XML(in []byte, o Options, visit Visit) ([]byte, error) {
	return rewrite(in, o, visit, xmlCoding(in, o), xmlDeclaration, func(w *work, text string, to sink) error {
		h := htmlDoc{doc: doc{work: w, base: o.URL, self: true}, s: text, to: to}
		x := xmlScanner{s: text, instruction: h.instruction}
		for t, ok := x.next(); ok && h.err == nil; t, ok = x.next() {
			a := t.attribute("href")
			if a == nil || x.whole != "xsl:import" && x.whole != "xsl:include" {
				continue
			}
			h.setPlace(a.start, false)
			h.attribute(a, plainURL, Ref{Element: x.whole, Attr: "href", Role: Style})
		}
		return nil
	})
}

// Manifest rewrites a web manifest (W3C Web Application Manifest). Invalid JSON is an error: no browser reads it either.
func Manifest(in []byte, o Options, visit Visit) ([]byte, error) {
	c, ok := charset.Marked(in)
	if !ok || c.Encoding != nil {
		c = plainUTF8 // RFC 8259 8.1
	}
	return rewrite(in, o, visit, coding{c, true}, nil, func(w *work, text string, to sink) error {
		m := manifest{doc: doc{work: w, base: o.URL}, text: text, to: to}
		if err := m.run(); err != nil {
			return fmt.Errorf("markup: read the web manifest %s: %w", o.URL, err)
		}
		return nil
	})
}

func rewrite(in []byte, o Options, visit Visit, c coding,
	declare func(text, name string) edit, read func(*work, string, sink) error) ([]byte, error) {
	s := splicer{in: in, c: c, most: o.Most}
	text, err := s.text()
	if err != nil {
		return nil, err
	}
	w := &work{o: o, visit: visit}
	if o.began != nil {
		o.began(w, text)
	}
	to := sink(func(e edit) {
		s.edit(e)
		w.err = cmp.Or(w.err, s.err) // ends the visits
	})
	flush := func() {}
	if o.Declare && !c.declared && c.needsName(in) && !s.lead() {
		to, flush = first(declare(text, c.Name), to)
	}
	if err := read(w, text, to); err != nil {
		return nil, err
	}
	if w.err != nil {
		return nil, w.err
	}
	flush()
	return s.result()
}

// Styles finds the references in all style sheets and declarations of a document.
type Styles struct{ work work }

// NewStyles returns a Styles that calls found with each reference.
func NewStyles(found func(Ref)) *Styles {
	return &Styles{work{inSheet: true, visit: func(r Ref) (string, bool) {
		found(r)
		return "", false
	}}}
}

// Find reads a style sheet or declarations, without a copy of it as CSS makes.
func (s *Styles) Find(text string, base canon.URL) {
	s.work.o.URL = base
	d := doc{work: &s.work, base: base, self: true}
	d.styles(text, Ref{Role: Embed}, func(edit) {})
}

// Find calls found with the references in a document that rewrite (HTML, CSS, …) would visit.
func Find(rewrite Rewriter, in []byte, o Options, found func(Ref)) error {
	o.RemoveBase, o.RemovePolicy, o.Declare, o.Removed = false, false, false, nil
	_, err := rewrite(in, o, func(r Ref) (string, bool) {
		found(r)
		return "", false
	})
	return err
}

// Module rewrites the static imports of a module, and its exports from others.
func Module(in []byte, o Options, visit Visit) ([]byte, error) {
	c, ok := charset.Marked(in)
	if !ok {
		c = plainUTF8 // HTML Standard 8.1.4.2
	}
	return rewrite(in, o, visit, coding{c, true}, nil, func(w *work, text string, to sink) error {
		d := doc{work: w, base: o.URL}
		d.imports(text, Ref{}, to)
		return nil
	})
}

// imports edits the references of a module, with r as template.
func (d *doc) imports(text string, r Ref, to sink) {
	r.Attr, r.Role = "import", Script
	script.Imports([]byte(text), func(start, end int, url string) {
		r.Raw = url
		if new, replace := d.replace(r); replace {
			if isLocal(new) && !strings.HasPrefix(new, ".") && !strings.HasPrefix(new, "/") && !strings.HasPrefix(new, "data:") {
				new = "./" + new // otherwise it names a package
			}
			to(edit{start, end, jsonString(new)})
		}
	})
}

type work struct {
	o     Options
	visit Visit
	err   error

	// For a Survey: the place of an attribute, or a style sheet, in which each reference has its own place.
	at      int
	inSheet bool

	sheet sheet // the current one
}

// doc is a document, also within another.
type doc struct {
	*work
	base canon.URL // of references
	self bool      // base is the document's own URL: "#top" stays in it
}

// replace returns the replacement of a reference. It does not visit references into the document itself and those
// without a web resource (data:, javascript:).
func (d *doc) replace(r Ref) (replacement string, replace bool) {
	ref := Strip(r.Raw)
	follows := !r.Role.Requisite() && r.Role != Lazy && r.Role != Preview // a browser fetches nothing for an empty src
	if d.err != nil || isInner(ref) || (ref == "" || ref[0] == '#') && (d.self && !d.o.withinToo || !follows) {
		return "", false
	}
	if r.Base = d.base; r.Role == Base {
		r.Base = d.o.URL
	}
	replacement, replace = d.visit(r)
	if !replace {
		return "", false
	}
	if err := writable(replacement); err != nil {
		d.err = fmt.Errorf("markup: replace %q in %s: %w", excerpt(ref), d.o.URL, err)
		return "", false
	}
	return replacement, true
}

// isInner reports whether the scheme of a reference names no resource elsewhere.
func isInner(ref string) bool {
	scheme, _, ok := strings.Cut(ref[:min(len(ref), len("javascript:"))], ":")
	if !ok {
		return false
	}
	switch strings.ToLower(scheme) {
	case "data", "javascript", "about", "blob":
		return true
	}
	return false
}

// isLocal reports whether a reference is relative to the document's path, or data.
func isLocal(ref string) bool {
	if strings.HasPrefix(ref, "data:") {
		return true
	}
	end := strings.IndexAny(ref, ":/?#")
	return end < 0 || ref[end] != ':' && !strings.HasPrefix(ref, "//")
}

func writable(s string) error {
	if s == "" {
		return fmt.Errorf("the replacement is empty; name the document itself by its file")
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return fmt.Errorf("the replacement %q has a byte outside 0x21 to 0x7E; percent-encode it", excerpt(s))
		}
	}
	return nil
}

// excerpt shortens a text for an error.
func excerpt(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func (d *doc) removed(r Removal) {
	if d.o.Removed != nil {
		d.o.Removed(r)
	}
}

// styles edits the references of a style sheet or declarations, with r as template.
func (d *doc) styles(text string, r Ref, to sink) {
	d.sheet.mentions(text, func(m mention) {
		r := r
		r.Raw, r.Charset = m.raw, "" // queries in styles are always UTF-8
		if r.Attr == "" {
			r.Attr = m.attr
		}
		if m.attr == "import" {
			r.Role = Style
		}
		if d.inSheet {
			at := d.at
			d.at += m.start
			defer func() { d.at = at }()
		}
		switch new, replace := d.replace(r); {
		case !replace:
		case m.quote != 0:
			to(edit{m.start, m.end, cssString(new, m.quote)})
		case strings.ContainsAny(new, `"'()\<>`):
			to(edit{m.start, m.end, "url(" + cssString(new, '"') + ")"})
		default:
			to(edit{m.start, m.end, "url(" + new + ")"}) // without quotes, which an attribute around may have
		}
	})
}

// LazyForm is the content of an attribute for lazy loading. Zero means another attribute.
type LazyForm uint8

const (
	LazyURL   LazyForm = iota + 1 // like src
	LazySet                       // like srcset
	LazyStyle                     // a URL, or declarations with url(…)
)

// lazyAttrs are attributes of any element that lazy-loading scripts turn into requisites, by the scripts' documentation.
var lazyAttrs = map[string]LazyForm{
	"data-background":       LazyStyle,
	"data-background-image": LazyStyle,
	"data-bg":               LazyStyle,
	"data-bgset":            LazySet,
	"data-hi-res-src":       LazyURL,
	"data-lazy":             LazyURL,
	"data-lazy-src":         LazyURL,
	"data-lazy-srcset":      LazySet,
	"data-lazyload":         LazyURL,
	"data-original":         LazyURL,
	"data-original-set":     LazySet,
	"data-poster":           LazyURL,
	"data-retina":           LazyURL,
	"data-src":              LazyURL,
	"data-srcset":           LazySet,
}

// LazyAttr returns the form of an attribute, whose name is in lower case.
func LazyAttr(name string) LazyForm { return lazyAttrs[name] }

// IsPreview reports whether a meta element of that name or property names an image for others to show: by Open Graph,
// Twitter, Windows or schema.org.
func IsPreview(name string) bool {
	switch strings.ToLower(Strip(name)) {
	case "og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src",
		"msapplication-tileimage",
		"msapplication-square70x70logo", "msapplication-square150x150logo", "msapplication-wide310x150logo",
		"msapplication-square310x310logo", "image", "thumbnail", "thumbnailurl":
		return true
	}
	return false
}

// Survey reports references and anchors of a document with their places, also references into the document itself.
type Survey struct {
	Ref func(Ref, *Place)
	// Anchor gets each possible target of a fragment (HTML Standard 7.4.6.4): the id of any element, and the name of an a
	// element (byID is false), except in pages within attributes.
	Anchor func(name string, byID bool, at *Place)
}

// Place is a position in the document. It is valid until Survey's function returns.
type Place struct {
	text string
	at   int // in text
	link int // where the text of a link begins; 0 if it is not one

	// The position of the last lookup: places come nearly in order.
	seen, line, column int
}

// Of surveys a document with read: HTML, XHTML, CSS or SVG.
func (s Survey) Of(read Rewriter, in []byte, o Options) error {
	var w *work
	p := &Place{line: 1, column: 1}
	o.RemoveBase, o.RemovePolicy, o.Declare, o.Removed = false, false, false, nil
	o.withinToo = true
	o.began = func(began *work, text string) { w, p.text = began, text }
	o.anchors = func(h *htmlDoc, t *tag) {
		p.link = 0
		if t.name == "a" {
			p.link = t.end
		}
		if s.Anchor == nil {
			return
		}
		if a := t.attribute("id"); a != nil && a.end > a.start {
			p.at = a.start
			s.Anchor(decode(h.s[a.start:a.end]), true, p)
		}
		if a := t.attribute("name"); t.name == "a" && a != nil && a.end > a.start {
			p.at = a.start
			s.Anchor(decode(h.s[a.start:a.end]), false, p)
		}
	}
	_, err := read(in, o, func(r Ref) (string, bool) {
		p.at = w.at
		s.Ref(r, p)
		return "", false
	})
	return err
}

// setPlace sets the place of the following references; those of a page within an attribute have the attribute's.
func (h *htmlDoc) setPlace(at int, inSheet bool) {
	if h.depth == 0 {
		h.work.at, h.inSheet = at, inSheet
	}
}

// Line returns the line and column (in characters), from 1, where the reference begins, or the attribute with several.
func (p *Place) Line() (line, column int) {
	if p.at < p.seen {
		p.seen, p.line, p.column = 0, 1, 1
	}
	between := p.text[p.seen:p.at]
	if n := strings.Count(between, "\n"); n > 0 {
		p.line += n
		p.column = 1
		between = between[strings.LastIndexByte(between, '\n')+1:]
	}
	p.column += utf8.RuneCountInString(between)
	p.seen = p.at
	return p.line, p.column
}

// Bounds of the text of a link: read, and kept.
const (
	maxLinkRead = 4 << 10
	maxLinkText = 200
)

// Text returns the text of a link without tags, or else the alternative texts of its images; "" if it is not a link.
func (p *Place) Text() string {
	if p.link == 0 {
		return ""
	}
	rest := p.text[p.link:min(len(p.text), p.link+maxLinkRead)]
	var shown, pictures strings.Builder
	for rest != "" && shown.Len() <= maxLinkText && pictures.Len() <= maxLinkText {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			i = len(rest)
		}
		shown.WriteString(rest[:i])
		rest = rest[i:]
		if len(rest) < 2 || ends(rest[1:], "a") || rest[1] == '/' && ends(rest[2:], "a") {
			break
		}
		if !IsLetter(rest[1]) && rest[1] != '/' && rest[1] != '!' {
			shown.WriteByte('<')
			rest = rest[1:]
			continue
		}
		t, ok := readTag(rest, 0, false, nil)
		if !ok {
			break
		}
		if t.name == "img" {
			pictures.WriteString(" " + altIn(rest, t))
		}
		rest = rest[t.end:]
	}
	if text := shownText(shown.String()); text != "" {
		return text
	}
	return shownText(pictures.String())
}

// altIn returns the alternative text of an image. It is not among t.found, since it has no reference.
func altIn(s string, t tag) string {
	for a, ok := nextAttribute(s, t.attrs); ok; a, ok = nextAttribute(s, a.after) {
		if a.keyIn(s) == "alt" {
			return s[a.start:a.end]
		}
	}
	return ""
}

// shownText returns a text as displayed: decoded, with collapsed white space, and shortened.
func shownText(raw string) string {
	text := strings.Join(strings.FieldsFunc(decode(raw), unicode.IsSpace), " ")
	if len(text) > maxLinkText {
		cut := maxLinkText
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
