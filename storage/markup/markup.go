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

// ErrTooLarge says that a document would become larger than Options.Most.
var ErrTooLarge = errors.New("markup: the document would be larger than the limit with its new references")

// Visit is asked about each reference, in document order. The text that it returns is written in the reference's place
// if replace is true: a URL reference, relative or absolute, in the characters of a URL (0x21 to 0x7E), not empty.
type Visit func(Ref) (replacement string, replace bool)

// Rewriter is the type of the functions that rewrite a document of one kind.
type Rewriter func(in []byte, o Options, visit Visit) ([]byte, error)

// Options says what a document is, and what else is to change in it. The zero value of all but URL changes nothing
// that Visit does not.
type Options struct {
	URL         canon.URL // the document's own: what references are relative to where it names no base
	ContentType string    // value of the Content-Type field; it may name the charset

	RemoveBase   bool // take href from base elements; Ref.Base has been what they say
	RemovePolicy bool // take Content-Security-Policy meta elements that say from where to load, since they would block
	// files, and ping and attributionsrc of all elements, since a copy would send requests
	Declare  bool // write the charset into a document that only its Content-Type, or what links to it, tells
	Previews bool // also visit the pictures that meta elements name: og:image, twitter:image, msapplication-TileImage

	// Most is the most bytes of what is written; zero means that there is no limit. References may become longer than
	// they were by any factor, and whoever writes a page decides how many there are. A larger document is ErrTooLarge.
	Most int

	// Removed, if not nil, is told of each attribute that is taken away, and of each reference in a place that cannot
	// be read.
	Removed func(Removal)

	// Script, if not nil, is given the text of each script element of a page in HTML that may hold names of files (see
	// script.IsElement of package script, which decides by the type), and what they are relative to there.
	Script func(text, kind string, base canon.URL)

	// For a Survey: told of the text, and of each tag; references into the document itself are asked about, too.
	began     func(w *work, text string)
	anchors   func(*htmlDoc, *tag)
	withinToo bool
}

// Removal is something that a document has no longer.
type Removal struct {
	Element, Attr string
	Value         string // as written
}

// HTML rewrites a page. Refs and what is returned share the memory of in, which must not change while they are used, as for
// all functions here. An error says that something cannot be written, never that something is wrong with the page.
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

// SVG rewrites a document in XML that is SVG or holds some.
func SVG(in []byte, o Options, visit Visit) ([]byte, error) {
	return rewrite(in, o, visit, xmlCoding(in, o), xmlDeclaration, func(w *work, text string, to sink) error {
		h := htmlDoc{doc: doc{work: w, base: o.URL}, s: text, to: to}
		h.runXML()
		return nil
	})
}

// XML rewrites a document in XML of any kind: the style sheets that it names, and those that a style sheet of XSLT
// includes (XSLT 1.0, 2.6).
func XML(in []byte, o Options, visit Visit) ([]byte, error) {
	return rewrite(in, o, visit, xmlCoding(in, o), xmlDeclaration, func(w *work, text string, to sink) error {
		h := htmlDoc{doc: doc{work: w, base: o.URL, self: true}, s: text, to: to}
		x := xmlScanner{s: text, instruction: h.instruction}
		for t, ok := x.next(); ok && h.err == nil; t, ok = x.next() {
			a := t.attribute("href")
			if a == nil || x.whole != "xsl:import" && x.whole != "xsl:include" {
				continue
			}
			h.stands(a.start, false)
			h.attribute(a, plainURL, Ref{Element: x.whole, Attr: "href", Role: Style})
		}
		return nil
	})
}

// Manifest rewrites a web manifest (Web Application Manifest, W3C). One that is not JSON is an error: no browser reads
// anything from it.
func Manifest(in []byte, o Options, visit Visit) ([]byte, error) {
	c, ok := charset.Marked(in)
	if !ok || c.Encoding != nil {
		c = plainUTF8 // RFC 8259 8.1
	}
	return rewrite(in, o, visit, coding{c, true}, nil, func(w *work, text string, to sink) error {
		m := manifest{doc: doc{work: w, base: o.URL}, text: text, to: to}
		if err := m.run(); err != nil {
			return notJSON(o, err)
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
		w.err = cmp.Or(w.err, s.err) // nothing more is asked
	})
	flush := func() {}
	if o.Declare && !c.told && c.needsName(in) && !s.lead() {
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

// Styles finds the references in the style sheets and declarations of a document. One serves all of them, since a page
// may have a style in each of its tags.
type Styles struct{ work work }

// NewStyles returns a Styles that calls found with each reference.
func NewStyles(found func(Ref)) *Styles {
	return &Styles{work{inSheet: true, visit: func(r Ref) (string, bool) {
		found(r)
		return "", false
	}}}
}

// Find reads the text of a style sheet, or declarations, which it does not copy as CSS does.
func (s *Styles) Find(text string, base canon.URL) {
	s.work.o.URL = base
	d := doc{work: &s.work, base: base, self: true}
	d.styles(text, Ref{Role: Embed}, func(edit) {})
}

// Find calls found with the references in a document, as rewrite would: HTML, CSS or another of the functions here.
func Find(rewrite Rewriter, in []byte, o Options, found func(Ref)) error {
	o.RemoveBase, o.RemovePolicy, o.Declare, o.Removed = false, false, false, nil
	_, err := rewrite(in, o, func(r Ref) (string, bool) {
		found(r)
		return "", false
	})
	return err
}

// Module rewrites what a script imports, if it is a module: static imports, and exports from others.
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

// imports hands on the edits of a module, whose references are otherwise as r.
func (d *doc) imports(text string, r Ref, to sink) {
	r.Attr, r.Role = "import", Script
	script.Imports([]byte(text), func(start, end int, url string) {
		r.Raw = url
		if new, replace := d.ask(r); replace {
			if isLocal(new) && !strings.HasPrefix(new, ".") && !strings.HasPrefix(new, "/") && !strings.HasPrefix(new, "data:") {
				new = "./" + new // else it is the name of a package
			}
			to(edit{start, end, jsonString(new)})
		}
	})
}

// isModule reports whether the type of a script element makes it a module (HTML Standard 4.12.1).
func isModule(kind string) bool { return strings.EqualFold(Strip(kind), "module") }

// work is one call: what is asked, and what went wrong.
type work struct {
	o     Options
	visit Visit
	err   error

	// Where a Survey is: an attribute, or a style sheet, of which each reference has a place of its own.
	at      int
	inSheet bool

	sheet sheet // that is read, or was last
}

// doc is a document, or one within another.
type doc struct {
	*work
	base canon.URL // what references are relative to
	self bool      // that is the document's own URL: "#top" stays in it
}

// ask returns what replaces a reference. References into the document itself are not asked about, nor is what names
// nothing on the web by itself (data:, javascript:).
func (d *doc) ask(r Ref) (replacement string, replace bool) {
	ref := Strip(r.Raw)
	if d.err != nil || isInner(ref) || (ref == "" || ref[0] == '#') && (d.self && !d.o.withinToo || !r.follows()) {
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

// follows reports whether a reference without a URL means the page: a browser fetches nothing for an empty src.
func (r Ref) follows() bool { return !r.Role.Requisite() && r.Role != Lazy && r.Role != Preview }

// isInner reports whether a reference has a scheme that names no resource elsewhere.
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

// isLocal reports whether what a reference names lies beside the document, for it is relative to a path, or in it.
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

// excerpt bounds what an error says of a text.
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

// styles hands on the edits of a style sheet, or of the declarations in an attribute, whose references are otherwise as
// r.
func (d *doc) styles(text string, r Ref, to sink) {
	d.sheet.mentions(text, func(m mention) {
		r := r
		r.Raw, r.Charset = m.raw, "" // the queries of style are in UTF-8, wherever it stands
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
		switch new, replace := d.ask(r); {
		case !replace:
		case m.quote != 0:
			to(edit{m.start, m.end, cssString(new, m.quote)})
		default:
			to(edit{m.start, m.end, cssURL(new)})
		}
	})
}

// LazyForm says what an attribute for lazy loading holds. Zero is that of any other attribute.
type LazyForm uint8

// The forms.
const (
	LazyURL   LazyForm = iota + 1 // as src
	LazySet                       // as srcset
	LazyStyle                     // a URL, or declarations with url(…)
)

// lazyAttrs are the attributes that scripts make requisites of when they come into view. No standard has them: the
// names are those of the scripts' own documentation. The element does not matter to them.
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

// LazyAttr returns the form of an attribute, whose name is in small letters.
func LazyAttr(name string) LazyForm { return lazyAttrs[name] }

// IsPreview reports whether a meta element of that name or property names a picture for others to show: by the Open
// Graph protocol, as Twitter, Windows and schema.org have it.
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

// Survey is told what stands in a document, and where. Nothing is written. References into the document itself are told
// as well: whether there is such a place is what a survey may want to know.
type Survey struct {
	// Ref is told of each reference.
	Ref func(Ref, *Place)
	// Anchor is told of each name that a fragment may mean (HTML Standard 7.4.6.4): the id of any element, and the name of
	// an a element, for which byID is false. Pages within attributes have names of their own, and are left out.
	Anchor func(name string, byID bool, at *Place)
}

// Place is where something stands. It holds until Survey's function returns.
type Place struct {
	text string
	at   int // in the text
	link int // where the text of a link begins; 0 for what is no link

	// The line that was looked at last: places come in order, nearly.
	seen, line, column int
}

// Of tells of a document that read reads: HTML, XHTML, CSS or SVG.
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

// stands notes where the references that follow stand; those of a page within an attribute stand where that does.
func (h *htmlDoc) stands(at int, inSheet bool) {
	if h.depth == 0 {
		h.work.at, h.inSheet = at, inSheet
	}
}

// Line is the line, from 1; column is the character in it, from 1, that the reference begins with, or the attribute that
// it is one of several in.
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

// How much is read for the text of a link, and how much of it is kept.
const (
	maxLinkRead = 4 << 10
	maxLinkText = 200
)

// Text is what a link shows: its text with the tags left out, or else what its pictures say in their place. It is empty
// for what is no link.
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

// altIn is what a picture says in its place. No reference stands in it, so that it is none of the attributes that matter.
func altIn(s string, t tag) string {
	for i := t.attrs; ; {
		a, ok := nextAttribute(s, i)
		if !ok {
			return ""
		}
		if a.keyIn(s) == "alt" {
			return s[a.start:a.end]
		}
		i = a.after
	}
}

// shownText is a text as people see it: without character references, its white space collapsed, and not too long.
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
