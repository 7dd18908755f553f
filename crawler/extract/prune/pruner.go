// Package prune removes the parts of a page that link extraction does not need.
//
// A tree is the larger part of what reading a page costs, and most of its nodes are there for nobody: text, paragraphs,
// lists, boxes. So a page that is not large is read once as a string, and what can carry neither a link nor a base, a
// title or a directive is gone before the tree is built. The parser decides what the rest means, as it does without
// pruning. Package extract would find the same without this package, three times slower; its
// FuzzPrune_EqualsTheWholeTree holds both equal.
//
// Tree construction (HTML Standard 13.2.6) decides what may go:
//
//   - Nothing, until there was text that is more than white space. From then on the body has begun, and no frameset can
//     take its place; whether further text comes makes no difference to any element.
//   - Then text, comments, and the tags of elements that only nest (dull). They decide what other dull elements end,
//     and how often a link is opened anew because what it stands in ends before it does: a link that the whole tree has
//     twice for that is met once here. The order in which links are first met does not depend on them.
//   - Elements that decide where others go, as those of tables do, stay, and so do all that are not known. A dull one
//     that stays because of its attributes is ended at once.
//   - Where the parser reads tags otherwise than a tokenizer by itself, all stays, to the end (the tail). That is so in
//     templates, and in SVG and MathML; but an svg element of well-known shapes, each of which ends, is a picture,
//     which goes or stays as one.
//   - With Pruner.Anchors the text of links stays: there is more text in the tree, and no other element first.
//   - If a part that was left out could have ended something of that kind, or have moved a script out of a table, the
//     whole page is parsed instead.
package prune

import (
	"strings"

	"golang.org/x/net/html"

	"curtsy/storage/markup"
)

// Pruner prunes pages, one after the other, in buffers of its own. Its zero value is ready.
type Pruner struct {
	Out  []byte // what the tree is built of, until the next page
	Tail bool   // Out has all of the page from some place on; text there may be markup, and markup text

	// Anchors, to be set before, has the text of links in Out as well.
	Anchors bool

	s       string
	words   []span   // the text, in order
	open    []string // of a picture, while it is read
	settled bool     // the body has begun
	dropped bool     // a tag was left out
	direct  bool     // directly in a table, not in a cell of it, it may be
	moved   bool     // a dull element, or text, began there, which the parser puts in front of the table
	inert   int      // templates that are open
	linked  bool     // an a element is open, and Anchors is set
	unsure  bool     // what is in the tree depends on what was left out
}

// span is a piece of text in the page. In a raw one, character references mean nothing.
type span struct {
	from, to int
	raw      bool
}

// Prune reads a page. It reports whether Out will do instead of it.
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

// Text calls to with each piece of the page's text, in document order: with what is in no script, style or template.
func (p *Pruner) Text(to func(string)) {
	for _, w := range p.words {
		text := p.s[w.from:w.to]
		if !w.raw {
			text = unescaped(text)
		}
		to(text)
	}
}

// Release lets go of the page. It reports whether the buffers have stayed as small as those of a page of so many bytes.
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
	if p.direct && !p.moved { // there text opens links anew, in front of the table
		p.moved = strings.Trim(p.s[t.from:t.to], markup.Space) != ""
	}
	if !p.settled {
		p.keep(t.from, t.to)
		p.settled = settles(p.s[t.from:t.to])
	} else if p.linked && !p.Tail {
		p.Out = append(p.Out, p.s[t.from:t.to]...)
	}
}

// part keeps what a tag that is left out does to the text of a link.
func (p *Pruner) part(name *Name) {
	if p.linked && !p.Tail && Parts(string(name.Octets())) {
		p.Out = append(p.Out, ' ')
	}
}

// settles reports whether text begins the body, whatever was in front of it. Text that may be a reference to white
// space is not looked into.
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

// keep takes a piece of the page over to Out.
func (p *Pruner) keep(from, to int) {
	if !p.Tail {
		p.Out = append(p.Out, p.s[from:to]...)
	}
}

// markup takes a tag, with the text of an element that holds nothing else, or a comment. It returns where the next
// piece begins; false when everything from at on is to stay, and in the tail when there is nothing more to come.
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
	p.unsure = p.unsure || odd(p.s[attrs:end])
	switch class {
	case table, cell:
		p.direct, p.moved = class == table, false
	case rawScript, rawStyle, template:
		p.unsure = p.unsure || p.direct && p.moved // in a table these are not put in front of it
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
		p.unsure = p.unsure || p.dropped // its end may be that of something that was left out
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
	case tells(p.s[attrs:end]):
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

// close ends a dull element that was kept: nothing of what is in it needs to be.
func (p *Pruner) close(name []byte) {
	switch string(name) {
	case "br", "hr", "wbr": // have no end; </br> would be another one
		return
	}
	if !p.Tail {
		p.Out = append(append(append(p.Out, "</"...), name...), '>')
	}
	p.dropped = true
}

// raw takes an element that holds text alone (HTML Standard 13.2.5.2 to 13.2.5.4). The tree needs only what a title, a
// style sheet, noframes and a module say.
func (p *Pruner) raw(at, end int, class tagClass, name string) (next int, ok bool) {
	next = markup.RawEnd(p.s, end, name)
	if class == rawScript && !p.Tail {
		// In a comment in a script, a script within has an end tag of its own (HTML Standard 13.2.5.20).
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

// tagClass says what a pruner does with a tag.
type tagClass uint8

const (
	kept    tagClass = iota // the parser gets it; so it does all that are not listed
	dull                    // it only nests
	single                  // dull, but one within another is nothing
	picture                 // svg
	foreign                 // math
	table                   // what a table consists of, and the table
	cell                    // of a table: in it stands what is no table again
	stays                   // from here on nothing is left out, nor is it from the next two on
	template
	plaintext

	// Elements that hold text alone.
	rawTitle  // in which character references count, and the tree needs it
	rawField  // in which they count
	rawText   // in which they do not
	rawStyle  // a style sheet
	rawScript // a script
)

// class returns the class of a name. None of the dull elements can name a URL by an attribute of its own; what any
// element can is seen by tells.
func (t *Name) class() tagClass {
	switch string(t.Octets()) {
	case "abbr", "acronym", "address", "article", "aside", "b", "bdi", "bdo", "big", "blockquote", "br", "button",
		"canvas", "center",
		"cite", "code", "data", "datalist", "dd", "del", "details", "dfn", "dialog", "dir", "div", "dl", "dt", "em",
		"fieldset", "figcaption",
		"figure", "font", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "i", "ins", "kbd", "label",
		"legend",
		"li", "main", "map", "mark", "menu", "meter", "nav", "nobr", "ol", "optgroup", "option", "output", "p", "picture",
		"pre", "progress",
		"q", "rb", "rp", "rt", "rtc", "ruby", "s", "samp", "search", "section", "small", "span", "strike", "strong", "sub",
		"summary", "sup", "time", "tt", "u", "ul", "var", "wbr":
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

// shapeClass says what an element of SVG 2 is in a picture. Shapes end no svg element where they stand in one, as many
// names of HTML do (HTML Standard 13.2.6.5).
type shapeClass uint8

const (
	noShape shapeClass = iota
	shape
	shapeText // text alone is allowed in it here
	shapeRoot
)

func (t *Name) shape() shapeClass {
	switch string(t.Octets()) {
	case "circle", "clippath", "defs", "ellipse", "feblend", "fecolormatrix", "fecomposite", "feflood", "fegaussianblur",
		"femerge",
		"femergenode", "feoffset", "filter", "g", "line", "lineargradient", "marker", "mask", "path", "pattern", "polygon",
		"polyline",
		"radialgradient", "rect", "stop", "symbol", "text", "textpath", "tspan", "use":
		return shape
	case "title", "desc":
		return shapeText
	case "svg":
		return shapeRoot
	}
	return noShape
}

// Name is the name of a tag in small letters; of a longer one than those that matter, a part.
type Name struct {
	buf [len("femergenode") + 4]byte
	n   int
}

// Read reads the name that begins at from, and returns where it ends (HTML Standard 13.2.5.8).
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

// Parts reports whether an element of that name parts the text before it from the text in it: it is none of those that
// stand in a line of text.
func Parts(name string) bool {
	switch name {
	case "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
		"kbd", "label", "mark", "nobr", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u",
		"var", "wbr",
		"script", "style", "template":
		return false
	}
	return true
}

// Octets is what was read of the name.
func (t *Name) Octets() []byte { return t.buf[:t.n] }

// odd reports whether the first attribute has no name, or one that begins with "=": a name that package extract puts in
// front of it would make it a value.
func odd(attrs string) bool {
	return strings.HasPrefix(strings.TrimLeft(attrs, markup.Space+"/"), "=")
}

// tells reports whether a tag with these attributes must stay: one may hold a style with a URL, or is for a script that
// loads pictures late. In character references anything may hide.
func tells(attrs string) bool {
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

// isLazyAttr reports whether text begins with the name of an attribute that scripts load pictures by.
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

// leads reports whether a picture may name a document: by a link, a function of CSS (which is written out but for
// escapes with a backslash) or an attribute for scripts.
func leads(picture string) bool {
	if strings.ContainsAny(picture, `&\`) {
		return true
	}
	for _, sign := range []string{"href", "url", "src", "image", "import", "data-"} {
		if containsFold(picture, sign) {
			return true
		}
	}
	return false
}

// containsFold reports whether s has sign, which is in small letters, in letters of any case.
func containsFold(s, sign string) bool {
	for i := 0; i+len(sign) <= len(s); i++ {
		if lowered(s[i]) == sign[0] && strings.EqualFold(s[i:i+len(sign)], sign) {
			return true
		}
	}
	return false
}

// unescaped returns text with its character references resolved, as the parser of the tree resolves them: the standard
// library leaves those of one digit that nothing ends.
func unescaped(text string) string {
	if strings.IndexByte(text, '&') < 0 {
		return text
	}
	return html.UnescapeString(text)
}

// picture takes an svg element whose start tag ends at end, and its name at attrs; closed says that the tag is all of it.
// It is one if there are only shapes in it that the parser leaves where they are, each of which ends, and no other svg
// element.
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

// maxShapes is how deep shapes may be nested in a picture.
const maxShapes = 32

// inPicture reads a tag in a picture: where it ends, and what is open then. The end is -1 if it is something else than
// the tag of a shape, or ends another one than the last.
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
		// Its contents are HTML: text alone will do.
		if lt := markupAt(s, end); !strings.HasPrefix(s[lt:], "</"+s[from:attrs]) {
			return -1, open
		}
	}
	if !closed {
		open = append(open, s[from:attrs])
	}
	return end, open
}

// Where the pieces of a page begin and end, as golang.org/x/net/html reads them; FuzzPrune_TagsEndWhereTheTokenizerSays
// holds both equal.

func endsName(c byte) bool { return c == '>' || c == '/' || markup.IsSpace(c) }

func lowered(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c |= 0x20
	}
	return c
}

// markupAt returns where the next tag, comment or declaration begins, from i on; the length of s if there is none (HTML
// Standard 13.2.5.1 and 13.2.5.6).
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

// tagEnd returns where a tag ends whose name ends at i; -1 if the page ends before it.
func tagEnd(s string, i int) int {
	end, _, _ := markup.TagEnd(s, i)
	return end
}

// commentEnd returns where a comment, a declaration or what counts as one ends that begins at i (HTML Standard
// 13.2.5.41 to 13.2.5.52).
func commentEnd(s string, i int) int {
	if strings.HasPrefix(s[i:], "<!--") {
		return markup.CommentEnd(s, i+len("<!--"))
	}
	return markup.Behind(s, min(i+2, len(s)), ">")
}
