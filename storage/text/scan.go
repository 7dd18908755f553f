package text

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"curtsy/storage/markup"
)

// Bounds of the tree that the extractor of main text is given.
const (
	maxElements = 20_000
	maxLean     = 1 << 20 // bytes of text and tags
	maxName     = 64      // of an element; longer ones are left out
	maxValue    = 256     // of an attribute
)

// scanner reads a page once, tag by tag and without a tree: so its text is had however deep or wrong it nests. Beside
// it writes the page that a tree is built of for its main text: lean, since most of what a page has is no use there.
type scanner struct {
	z     *html.Tokenizer
	limit *markup.Limit
	xml   bool

	whole    lines
	declared declared

	lean     bytes.Buffer
	tag      []byte // the last one of lean, for its memory
	elements int
	full     string // why lean is not all; "" if it is

	hush    string // the open element that is silent; "" without one
	inert   int    // open templates
	foreign int    // open svg and math
	noLean  int    // open elements whose contents the tree does without
	link    bool   // a link is open
}

// scan reads a page; xml is set for one in XML. Without tree no lean page is written.
func scan(r io.Reader, xml, tree bool) *scanner {
	s := &scanner{limit: markup.New(r, markup.Max), xml: xml, whole: lines{most: MaxText}}
	if !tree {
		s.full = NoWish
	}
	s.z = html.NewTokenizer(s.limit)
	s.z.AllowCDATA(xml)
	for !s.whole.over {
		switch s.z.Next() {
		case html.ErrorToken:
			return s
		case html.TextToken:
			s.text()
		case html.StartTagToken:
			s.start(false)
		case html.SelfClosingTagToken:
			s.start(true)
		case html.EndTagToken:
			s.end()
		}
	}
	return s
}

// cut says why the text is not all of the page's.
func (s *scanner) cut() string {
	switch {
	case s.whole.over:
		return CutText
	case s.limit.Over():
		return CutAttrs
	}
	return ""
}

func (s *scanner) text() {
	if s.hush != "" || s.inert > 0 {
		return
	}
	if s.noLean == 0 {
		s.put(s.z.Raw())
	}
	s.whole.link = s.link || s.noLean > 0
	s.whole.text(s.z.Text())
}

// put writes to the lean page.
func (s *scanner) put(b []byte) {
	switch {
	case s.full != "":
	case s.lean.Len()+len(b) > maxLean:
		s.full = NoRoom
	default:
		s.lean.Write(b)
	}
}

// start reads a start tag. Closed says that it ends itself, where that means anything.
func (s *scanner) start(closed bool) {
	raw, more := s.z.TagName()
	name := string(raw)
	c := classOf(name)
	if s.foreign > 0 && name != "title" && (c == block || c == keeping || c == format) {
		s.noLean, s.foreign = s.noLean-s.foreign, 0 // HTML Standard 13.2.6.5: these end SVG and MathML
	}
	closed = closed && (s.xml || s.foreign > 0)
	if closed || s.foreign > 0 || name == "noscript" {
		s.z.NextIsNotRawText()
	}
	switch {
	case name == "template":
		if !closed && (s.inert > 0 || !s.shadow(more)) {
			s.inert++
		}
	case s.inert > 0:
	case name == "svg" || name == "math":
		if !closed {
			s.foreign++
			s.noLean++
		}
	case name == "noscript":
		if !closed {
			s.noLean++
		}
	case c == silent:
		if !closed {
			s.hush = name
		}
	case name == "html" || name == "meta":
		s.declare(name, more)
	case c != format:
		s.part(c)
		if c == keeping && !closed {
			s.whole.pre++
		}
		if s.noLean == 0 && len(name) <= maxName {
			s.leanTag(name, more, closed)
		}
	}
}

// shadow reports whether a template is a declarative shadow root, whose contents are shown.
func (s *scanner) shadow(more bool) bool {
	for more {
		var key []byte
		key, _, more = s.z.TagAttr()
		if string(key) == "shadowrootmode" {
			return true
		}
	}
	return false
}

// part parts lines and words where an element begins or ends.
func (s *scanner) part(c class) {
	switch c {
	case block, keeping:
		s.whole.end()
	case cell:
		s.whole.gap()
	}
}

func (s *scanner) end() {
	raw, _ := s.z.TagName()
	name := string(raw)
	c := classOf(name)
	switch {
	case s.hush != "":
		if name == s.hush {
			s.hush = ""
		}
	case name == "template":
		s.inert = max(s.inert-1, 0)
	case s.inert > 0:
	case name == "svg" || name == "math":
		if s.foreign > 0 {
			s.foreign--
			s.noLean--
		}
	case name == "noscript":
		s.noLean = max(s.noLean-1, s.foreign)
	case c != format && c != silent:
		s.part(c)
		s.link = s.link && name != "a"
		if c == keeping {
			s.whole.pre = max(s.whole.pre-1, 0)
		}
		if s.noLean == 0 && len(name) <= maxName {
			s.put([]byte("</" + name + ">"))
		}
	}
}

// declare reads the language that a page says it is in.
func (s *scanner) declare(name string, more bool) {
	var isLanguage bool
	var content string
	for more {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		switch k := string(key); {
		case len(value) > maxValue:
		case name == "html" && (k == "lang" || k == "xml:lang") && s.declared.HTML == "":
			s.declared.HTML = languageTag(string(value))
		case name == "meta" && k == "http-equiv":
			isLanguage = strings.EqualFold(string(value), "content-language")
		case name == "meta" && k == "content":
			content = string(value)
		}
	}
	if isLanguage && s.declared.Meta == "" {
		s.declared.Meta = languageTag(content)
	}
}

// telling are the attributes by which an extractor tells the parts of a page.
var telling = []string{"aria-hidden", "aria-modal", "class", "dir", "hidden", "id", "itemprop", "rel", "role", "style", "type"}

// leanTag writes a start tag with the attributes that tell something.
func (s *scanner) leanTag(name string, more, closed bool) {
	if s.full != "" {
		return
	}
	if s.elements++; s.elements > maxElements {
		s.full = NoElements
		return
	}
	s.link = s.link && name != "a"
	tag := append(s.tag[:0], '<')
	tag = append(tag, name...)
	for more {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		k := string(key)
		s.link = s.link || name == "a" && k == "href" && !closed
		switch {
		case k == "href" && bytes.HasPrefix(value, []byte("#")): // of which the extractor makes less than of others
			value = value[:1]
		case k == "href":
			value = []byte("/")
		case len(value) > maxValue || !slices.Contains(telling, k):
			continue
		}
		tag = append(append(append(tag, ' '), key...), `="`...)
		tag = append(append(tag, html.EscapeString(string(value))...), '"')
	}
	tag = append(tag, '>')
	if closed {
		tag = append(append(append(tag, "</"...), name...), '>')
	}
	s.put(tag)
	s.tag = tag
}

// What elements are to a text. Names are those of the HTML Standard, in small letters.

// class is what becomes of an element.
type class uint8

const (
	inline  class = iota
	block         // a line of its own
	cell          // parted from its neighbours by a space
	keeping       // a block that keeps its white space
	silent        // what it has is no text of the page
	format        // inline, and nothing that a tree is needed for
)

func classOf(name string) class {
	switch name {
	case "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog", "dir",
		"div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "h1", "h2", "h3", "h4",
		"h5", "h6", "head", "header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "optgroup",
		"option", "p", "search", "section", "select", "summary", "table", "tbody", "tfoot", "thead", "title", "tr", "ul":
		return block
	case "td", "th", "img", "input", "button", "textarea":
		return cell
	case "pre", "listing", "xmp", "plaintext":
		return keeping
	case "script", "style", "iframe", "noembed", "noframes":
		return silent
	case "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u":
		return format
	}
	return inline
}
