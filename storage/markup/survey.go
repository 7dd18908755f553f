package markup

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

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
