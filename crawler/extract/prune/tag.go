package prune

import (
	"strings"

	"golang.org/x/net/html"

	"curtsy/storage/markup"
)

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
