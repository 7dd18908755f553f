// Package prune removes the parts of a page that link extraction does not need.
//
// Building the tree is most of the cost of reading a page, and most nodes (text, paragraphs, lists) are irrelevant. A page
// that is not large is therefore scanned once, and parts without a link, base, title or directive are removed before the
// parser sees it. Package extract would find the same without pruning, three times slower;
// FuzzPrune_EqualsTheWholeTree compares both.
//
// Tree construction (HTML Standard 13.2.6) decides what may be removed:
//
//   - Nothing before the first text besides white space. After it the body has begun, and no frameset can replace it.
//   - Then text, comments, and the tags of elements that only nest (dull). They decide what other dull elements end, and
//     how often the parser re-opens a link; the order of the first mentions does not depend on them.
//   - Elements that decide where others go, as those of tables, stay, and so do unknown ones. A dull element that stays
//     because of its attributes is ended at once.
//   - Everything stays from where the parser reads tags differently from a tokenizer (the tail): in templates, SVG and
//     MathML. But an svg element of well-known shapes, each of which ends, is a picture, kept or removed as a whole.
//   - With Pruner.Anchors the text of links stays.
//   - If a removed part could have ended one of the above, or moved a script out of a table, the page is not pruned.
package prune

import (
	"slices"
	"strings"

	"golang.org/x/net/html"

	"curtsy/storage/markup"
)

// Pruner prunes pages, one after the other, reusing its buffers. Its zero value is ready.
type Pruner struct {
	Out  []byte // the pruned page, until the next one
	Tail bool   // Out has the whole page from some place on; text there may be markup, and markup text

	// Anchors, to be set before, keeps the text of links in Out.
	Anchors bool

	s       string
	words   []span   // the text, in order
	open    []string // of the present picture
	settled bool     // the body has begun
	dropped bool     // a tag was removed
	direct  bool     // perhaps in a table, not in a cell of it
	moved   bool     // a dull element, or text, began there, which the parser moves before the table
	inert   int      // open templates
	linked  bool     // an a element is open, and Anchors is set
	unsure  bool     // the tree depends on removed parts
}

// span is a piece of text in the page. A raw one has no character references.
type span struct {
	from, to int
	raw      bool
}

// Prune prunes a page and reports whether Out may replace it.
func (p *Pruner) Prune(page string) bool {
	s := page
	*p = Pruner{s: s, Out: p.Out[:0], words: p.words[:0], open: p.open[:0], Anchors: p.Anchors}
	for at := 0; at < len(s) && !p.unsure; {
		lt := markupAt(s, at)
		p.text(span{from: at, to: lt})
		if lt == len(s) {
			break
		}
		next, ok := p.markup(lt)
		if !ok && !p.Tail {
			p.keep(lt, len(s))
			p.Tail = true
			next, ok = p.markup(lt)
		}
		if !ok {
			break // a tag without an end
		}
		at = next
	}
	return !p.unsure
}

// Text calls to with each piece of the page's text in document order, without scripts, styles and templates.
func (p *Pruner) Text(to func(string)) {
	for _, w := range p.words {
		text := p.s[w.from:w.to]
		if !w.raw && strings.IndexByte(text, '&') >= 0 {
			text = html.UnescapeString(text) // as the parser; the standard library's leaves an unterminated "&#3"
		}
		to(text)
	}
}

// Release drops the page. It reports whether the buffers are at most those of a page of usual bytes.
func (p *Pruner) Release(usual int) bool {
	p.s = ""
	clear(p.open[:cap(p.open)])
	return cap(p.Out) <= usual && cap(p.words) <= usual/16
}

// text takes the text between two pieces of markup.
func (p *Pruner) text(t span) {
	if t.from == t.to {
		return
	}
	if p.inert == 0 {
		p.words = append(p.words, t)
	}
	if p.direct && !p.moved { // text there re-opens links, before the table
		p.moved = strings.Trim(p.s[t.from:t.to], markup.Space) != ""
	}
	if !p.settled {
		p.keep(t.from, t.to)
		p.settled = settles(p.s[t.from:t.to])
	} else if p.linked && !p.Tail {
		p.Out = append(p.Out, p.s[t.from:t.to]...)
	}
}

// part keeps the effect of a removed tag on the text of a link.
func (p *Pruner) part(name *Name) {
	if p.linked && !p.Tail && Parts(string(name.Octets())) {
		p.Out = append(p.Out, ' ')
	}
}

// settles reports whether text begins the body. A character reference may be white space.
func settles(text string) bool {
	if strings.IndexByte(text, '&') >= 0 {
		return false
	}
	for i := range len(text) {
		if c := text[i]; markup.IsLetter(c) || '0' <= c && c <= '9' {
			return true
		}
	}
	return false
}

func (p *Pruner) keep(from, to int) {
	if !p.Tail {
		p.Out = append(p.Out, p.s[from:to]...)
	}
}

// markup takes a tag, with its contents if they are only text, or a comment. It returns where the next piece begins; false
// if everything from at on must stay, and in the tail at the end.
func (p *Pruner) markup(at int) (next int, ok bool) {
	switch c := p.s[at+1]; {
	case c == '/' && markup.IsLetter(p.s[at+2]):
		return p.endTag(at)
	case markup.IsLetter(c):
		return p.startTag(at)
	}
	end := commentEnd(p.s, at)
	if !p.settled {
		p.keep(at, end)
	}
	return end, true
}

func (p *Pruner) endTag(at int) (next int, ok bool) {
	var name Name
	end := tagEnd(p.s, name.Read(p.s, at+2))
	if end < 0 {
		return 0, false
	}
	class := name.class()
	switch {
	case class == template && p.inert > 0:
		p.inert--
	case class == table || class == cell:
		p.direct, p.moved = true, false
	case (class == dull || class == single) && p.settled:
		p.part(&name)
		p.dropped = true
		return end, true
	case class == kept && name.isA():
		p.linked = false
	}
	p.keep(at, end)
	return end, true
}

func (p *Pruner) startTag(at int) (next int, ok bool) {
	var name Name
	attrs := name.Read(p.s, at+1)
	end, _, closed := markup.TagEnd(p.s, attrs)
	if end < 0 {
		return 0, false
	}
	class := name.class()
	// A first attribute without a name, or with a leading "=", would become a value if package extract replaced the tag.
	p.unsure = p.unsure || strings.HasPrefix(strings.TrimLeft(p.s[attrs:end], markup.Space+"/"), "=")
	switch class {
	case table, cell:
		p.direct, p.moved = class == table, false
	case rawScript, rawStyle, template:
		p.unsure = p.unsure || p.direct && p.moved // the parser does not move these before the table
	case dull, single:
		p.moved = p.moved || p.direct
	}
	switch {
	case class == picture && !p.Tail:
		if next, ok = p.picture(at, end, attrs, closed); !ok {
			p.unsure = p.unsure || p.dropped
		}
		return next, ok
	case class == picture || class == foreign:
		p.unsure = p.unsure || p.dropped // its end may be that of a removed element
		if class == foreign && !p.Tail {
			return 0, false
		}
	case class >= rawTitle:
		return p.raw(at, end, class, p.s[at+1:attrs])
	case class == plaintext && p.Tail:
		p.text(span{from: end, to: len(p.s), raw: true})
		return 0, false
	case (class == stays || class == plaintext || class == template) && !p.Tail:
		return 0, false
	case class == template && (p.inert > 0 || !containsFold(p.s[attrs:end], "shadowrootmode")):
		p.inert++
	case class != dull && class != single || !p.settled:
		p.keep(at, end)
	case mustStay(p.s[attrs:end]):
		p.unsure = p.unsure || class == single
		p.keep(at, end)
		p.close(name.Octets())
	default:
		p.part(&name)
		p.dropped = true
	}
	if class == kept && name.isA() {
		p.linked = p.Anchors
	}
	return end, true
}

// close ends a dull element that was kept.
func (p *Pruner) close(name []byte) {
	switch string(name) {
	case "br", "hr", "wbr": // void; </br> would be another one
		return
	}
	if !p.Tail {
		p.Out = append(append(append(p.Out, "</"...), name...), '>')
	}
	p.dropped = true
}

// raw takes an element of text only (HTML Standard 13.2.5.2 to 13.2.5.4). The tree needs the contents of a title, a style
// sheet, noframes and a module.
func (p *Pruner) raw(at, end int, class tagClass, name string) (next int, ok bool) {
	next = markup.RawEnd(p.s, end, name)
	if class == rawScript && !p.Tail {
		// In a comment in a script, a nested script has its end tag (HTML Standard 13.2.5.20).
		if script := p.s[end:next]; strings.Contains(script, "<!--") && containsFold(script, "<script") {
			return 0, false
		}
	}
	p.keep(at, end)
	if class == rawTitle || class == rawStyle || strings.EqualFold(name, "noframes") || class == rawScript && containsFold(p.s[at:end], "module") {
		p.keep(end, next)
	}
	if class != rawScript && class != rawStyle && p.inert == 0 {
		p.words = append(p.words, span{from: end, to: next, raw: class == rawText})
	}
	return next, true
}

type tagClass uint8

const (
	kept    tagClass = iota // also unknown elements
	dull                    // it only nests
	single                  // dull, but ignored within another
	picture                 // svg
	foreign                 // math
	table                   // and its parts
	cell                    // of a table
	stays                   // no part is removed from here on, as for the next two
	template
	plaintext

	// Elements of text only.
	rawTitle  // with character references, and needed in the tree
	rawField  // with character references
	rawText   // without
	rawStyle  // a style sheet
	rawScript // a script
)

// class returns the class of a name. No specific attribute of a dull element is a URL; mustStay checks the global ones.
func (t *Name) class() tagClass {
	switch string(t.Octets()) {
	case "abbr", "acronym", "address", "article", "aside", "b", "bdi", "bdo", "big", "blockquote", "br", "button", "canvas",
		"center", "cite", "code", "data", "datalist", "dd", "del", "details", "dfn", "dialog", "dir", "div", "dl", "dt", "em",
		"fieldset", "figcaption", "figure", "font", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "i",
		"ins", "kbd", "label", "legend", "li", "main", "map", "mark", "menu", "meter", "nav", "nobr", "ol", "optgroup", "option",
		"output", "p", "picture", "pre", "progress", "q", "rb", "rp", "rt", "rtc", "ruby", "s", "samp", "search", "section",
		"small", "span", "strike", "strong", "sub", "summary", "sup", "time", "tt", "u", "ul", "var", "wbr":
		return dull
	case "form":
		return single
	case "table", "tbody", "thead", "tfoot", "tr":
		return table
	case "td", "th", "caption":
		return cell
	case "svg":
		return picture
	case "math":
		return foreign
	case "frameset":
		return stays
	case "template":
		return template
	case "plaintext":
		return plaintext
	case "title":
		return rawTitle
	case "textarea":
		return rawField
	case "style":
		return rawStyle
	case "script":
		return rawScript
	case "iframe", "noembed", "noframes", "xmp":
		return rawText
	}
	return kept
}

// shapeClass classifies an element of SVG 2 in a picture. Unlike many HTML elements, shapes do not end an svg element (HTML
// Standard 13.2.6.5).
type shapeClass uint8

const (
	noShape shapeClass = iota
	shape
	shapeText // with only text
	shapeRoot
)

func (t *Name) shape() shapeClass {
	switch string(t.Octets()) {
	case "circle", "clippath", "defs", "ellipse", "feblend", "fecolormatrix", "fecomposite", "feflood", "fegaussianblur",
		"femerge", "femergenode", "feoffset", "filter", "g", "line", "lineargradient", "marker", "mask", "path", "pattern",
		"polygon", "polyline", "radialgradient", "rect", "stop", "symbol", "text", "textpath", "tspan", "use":
		return shape
	case "title", "desc":
		return shapeText
	case "svg":
		return shapeRoot
	}
	return noShape
}

// Name is the name of a tag in lower case, cut if it is longer than the relevant ones.
type Name struct {
	buf [len("femergenode") + 4]byte
	n   int
}

// Read reads the name at from and returns its end (HTML Standard 13.2.5.8).
func (t *Name) Read(s string, from int) int {
	i := from
	for ; i < len(s) && !endsName(s[i]); i++ {
		if t.n < len(t.buf) {
			t.buf[t.n] = lowered(s[i])
			t.n++
		}
	}
	return i
}

func (t *Name) isA() bool { return t.n == 1 && t.buf[0] == 'a' }

// Parts reports whether an element of that name separates the text before it from its contents, unlike an inline element.
func Parts(name string) bool {
	switch name {
	case "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
		"kbd", "label", "mark", "nobr", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u",
		"var", "wbr", "script", "style", "template":
		return false
	}
	return true
}

// Octets returns the bytes of the name.
func (t *Name) Octets() []byte { return t.buf[:t.n] }

// mustStay reports whether a tag with these attributes must stay: one may be a style with a URL or for lazy loading. A
// character reference may hide both.
func mustStay(attrs string) bool {
	if len(attrs) == 1 {
		return false
	}
	for i := range len(attrs) {
		switch attrs[i] {
		case '(', '&':
			return true
		case '-':
			if i >= 4 && strings.EqualFold(attrs[i-4:i], "data") && isLazyAttr(attrs[i-4:]) {
				return true
			}
		}
	}
	return false
}

// isLazyAttr reports whether text begins with the name of an attribute for lazy loading.
func isLazyAttr(text string) bool {
	var name [len("data-background-image")]byte
	for i := range min(len(text), len(name)) {
		if c := text[i]; endsName(c) || c == '=' {
			return markup.LazyAttr(string(name[:i])) != 0
		}
		name[i] = lowered(text[i])
	}
	return markup.LazyAttr(string(name[:])) != 0
}

// leads reports whether a picture may have a reference: a link, a CSS function or an attribute for scripts. Character
// references and CSS escapes may hide them.
func leads(picture string) bool {
	return strings.ContainsAny(picture, `&\`) ||
		slices.ContainsFunc([]string{"href", "url", "src", "image", "import", "data-"},
			func(sign string) bool { return containsFold(picture, sign) })
}

// containsFold reports whether s contains sign, which is in lower case, in any case.
func containsFold(s, sign string) bool {
	for i := 0; i+len(sign) <= len(s); i++ {
		if lowered(s[i]) == sign[0] && strings.EqualFold(s[i:i+len(sign)], sign) {
			return true
		}
	}
	return false
}

// picture takes an svg element whose start tag ends at end, and its name at attrs; closed means that it has no contents. ok
// is true if it contains only shapes that the parser does not move, each of which ends, and no other svg element.
func (p *Pruner) picture(at, end, attrs int, closed bool) (next int, ok bool) {
	words, open := len(p.words), p.open[:0]
	if next = end; !closed {
		open = append(open, p.s[at+1:attrs])
	}
	for len(open) > 0 {
		lt := markupAt(p.s, next)
		if next < lt {
			p.words = append(p.words, span{from: next, to: lt})
		}
		if next, open = inPicture(p.s, lt, open); next < 0 {
			p.words = p.words[:words]
			return 0, false
		}
	}
	p.open = open
	if !p.settled || leads(p.s[at:next]) {
		p.keep(at, next)
	}
	return next, true
}

const maxShapes = 32 // nested in a picture

// inPicture reads a tag in a picture and returns its end and the open shapes. The end is -1 if it is not the tag of a shape,
// or does not end the last one.
func inPicture(s string, at int, open []string) (end int, _ []string) {
	if at == len(s) {
		return -1, open
	}
	from := at + 1
	closing := s[from] == '/'
	if closing {
		from++
	}
	if !markup.IsLetter(s[from]) {
		return -1, open
	}
	var name Name
	attrs := name.Read(s, from)
	last := len(open) - 1
	class := name.shape()
	end, _, closed := markup.TagEnd(s, attrs)
	switch {
	case end < 0 || class == noShape:
		return -1, open
	case closing:
		if !strings.EqualFold(s[from:attrs], open[last]) {
			return -1, open
		}
		return end, open[:last]
	case class == shapeRoot || len(open) == maxShapes:
		return -1, open
	case class == shapeText:
		// Its contents are HTML: accept only text.
		if lt := markupAt(s, end); !strings.HasPrefix(s[lt:], "</"+s[from:attrs]) {
			return -1, open
		}
	}
	if !closed {
		open = append(open, s[from:attrs])
	}
	return end, open
}

// The functions below follow golang.org/x/net/html; FuzzPrune_TagsEndWhereTheTokenizerSays compares both.

func endsName(c byte) bool { return c == '>' || c == '/' || markup.IsSpace(c) }

func lowered(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c |= 0x20
	}
	return c
}

// markupAt returns where the next tag, comment or declaration begins; len(s) without one (HTML Standard 13.2.5.1, 13.2.5.6).
func markupAt(s string, i int) int {
	for {
		lt := strings.IndexByte(s[i:], '<')
		if lt < 0 || i+lt+1 == len(s) {
			return len(s)
		}
		i += lt
		switch c := s[i+1]; {
		case markup.IsLetter(c), c == '!', c == '?', c == '/' && i+2 < len(s):
			return i
		case c == '/':
			return len(s)
		}
		i++
	}
}

// tagEnd returns the end of a tag whose name ends at i; -1 if the page ends before.
func tagEnd(s string, i int) int {
	end, _, _ := markup.TagEnd(s, i)
	return end
}

// commentEnd returns the end of a comment or declaration that begins at i (HTML Standard 13.2.5.41 to 13.2.5.52).
func commentEnd(s string, i int) int {
	if strings.HasPrefix(s[i:], "<!--") {
		return markup.CommentEnd(s, i+len("<!--"))
	}
	return markup.Behind(s, min(i+2, len(s)), ">")
}
