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
