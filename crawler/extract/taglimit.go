package extract

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"unsafe"

	"golang.org/x/net/html"

	"curtsy/crawler/extract/prune"
	"curtsy/storage/markup"
)

// MaxTags is how many tags of a page are read, except end tags that add nothing to the tree. A node takes a hundred bytes
// and more, and a tag may be three bytes long. Tags behind which the parser may open a link again count two- or threefold.
const MaxTags = 1 << 17

// tagLimit is what the parser reads: a page that cannot become a tree out of all proportion. Three kinds of tags become
// what holds nothing, by a few bytes that some mark takes back out of values and texts:
//
// The elements that only format text. By the HTML Standard (13.2.4.3, 13.2.5.4.1) the parser opens all of them again
// that were left open when a paragraph ended: with four hundred <font> before it, each <p> would be four hundred nodes,
// and a page of some tens of KiB all the memory there is. No link depends on them: they become comments or, where an
// attribute has a ">", which would end a comment, or may name a picture, a meta that says nothing but that. Where SVG
// or MathML has begun they become a meta, too, which ends these as they do; and where a script has a comment, in which
// "<!" means more to the parser than to the Standard.
//
// Links with many attributes, or very long. The parser opens these again as well, one at a time, but with all that they
// have: they become an area, which links as well. Other links stay, and what is in one counts more.
//
// The html and body of a page that has too many of them. Each one's attributes are compared with all that came before.
type tagLimit struct {
	r    *bufio.Reader
	left int    // tags still allowed
	over bool   // there were more
	put  string // goes before what is read next
	root int    // tags of html and body
	link int    // 0: no link is open; else one and the blocks that began in it, or unending
	rich bool   // the link has more than fewAttrs attributes

	script  bool // a script began, and has not ended, it seems
	escaped bool // there was a comment in one
	foreign bool // SVG or MathML began
}

// mark is a control character, which no page needs: it sets off the name that a tag had.
const mark = "\x01"

const (
	asComment = "!" + mark // a bogus one, HTML Standard 13.2.5.42
	asMeta    = "meta/" + mark
	asArea    = "area/" + mark
)

const (
	maxRoots = 64 // tags of html and body; conditional comments have some, too
	maxAttrs = 6  // of a link that stays one, of formatting that becomes a comment
	fewAttrs = 3
	maxAhead = 2 << 10 // bytes of a tag that are looked at
	unending = 8       // blocks in a link behind which its end tag may not end it (HTML Standard 13.2.6.4.7, adoption agency)
)

// longest is how many bytes tell a tag: "<", the longest name and what ends it.
const longest = 1 + len("strike") + 1

// newTagLimit returns r, limited.
func newTagLimit(r io.Reader) *tagLimit {
	return &tagLimit{r: bufio.NewReaderSize(r, 4096+maxAhead), left: MaxTags}
}

// Read fills p: for each read within a long text the parser moves what it has of it.
func (t *tagLimit) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = t.some(p[n:])
		n += m
	}
	return n, err
}

// some reads what is at hand, up to a tag that becomes another.
func (t *tagLimit) some(p []byte) (n int, err error) {
	if t.put != "" {
		n = copy(p, t.put)
		t.put = t.put[n:]
		return n, nil
	}
	if t.over {
		return 0, io.EOF
	}
	if _, err = t.r.Peek(1); err != nil {
		return 0, err
	}
	p = p[:min(len(p), t.r.Buffered(), 4096)] // so that the buffer has room for what ahead returns
	b, _ := t.r.Peek(len(p))                  // they are there
	n = copy(p, b)
	for i := 0; t.put == ""; i++ {
		next := bytes.IndexByte(p[i:n], '<')
		if next < 0 {
			break
		}
		i += next
		tag := t.ahead(i) // the next call may move it
		if t.left -= t.cost(tag); t.left < 0 {
			t.over = true
			return i, nil
		}
		if t.put = t.instead(tag); t.put != "" {
			n = i + 1
		}
	}
	_, err = t.r.Discard(n)
	return n, err
}

// isNode reports whether a "<" and what follows it may add to the tree: tags and comments do, "</p" and "</br" as well
// (HTML Standard 13.2.6.4.7), and an end tag without a name is a comment.
func isNode(tag string) bool {
	switch {
	case len(tag) < 2:
		return false
	case tag[1] != '/':
		return markup.IsLetter(tag[1]) || tag[1] == '!' || tag[1] == '?'
	}
	return len(tag) > 2 && !markup.IsLetter(tag[2]) || begins(tag, "</p") || begins(tag, "</br")
}

// cost returns how many tags a tag counts as. In a link an end tag does as well: what follows it may stand in the link,
// opened again.
func (t *tagLimit) cost(tag string) int {
	switch {
	case t.link == 0 && isNode(tag):
		return 1
	case t.link == 0 || !isNode(tag) && !isEndTag(tag) || linkEnds(tag):
		return 0
	case t.rich || t.link == unending:
		return 3
	}
	return 2
}

// isEndTag reports whether a tag begins as an end tag with a name does.
func isEndTag(tag string) bool { return len(tag) > 2 && tag[1] == '/' && markup.IsLetter(tag[2]) }

// linkEnds reports whether a tag is the plain end tag of a link.
func linkEnds(tag string) bool { return begins(tag, "</a>") }

// follow keeps account of the link that the parser may open again. An end tag ends it for sure if only text and plain
// tags stand before it: in a value, a comment or a script it is no tag, and in a cell, a form or a drawing it may be that
// of another link. Otherwise the link counts as open to the end of the page.
func (t *tagLimit) follow(name string, tag string) {
	plain := false
	switch {
	case t.link == 0 && name != "a" || t.link == unending || !isNode(tag) && !isEndTag(tag):
		return
	case linkEnds(tag):
		t.link = 0
		return
	case name == "":
		end, _, ok := strings.Cut(tag[:min(len(tag), 2+longest)], ">")
		plain = isEndTag(tag) && ok && plainInLink(strings.ToLower(end[2:]))
	default:
		end, attrs := endOf(tag, 1+len(name))
		plain = (name == "a" || plainInLink(name)) && end >= 0 && strings.IndexByte(tag[1:end], '<') < 0
		if name == "a" && end >= 0 && attrs <= maxAttrs { // else it becomes an area
			t.link, t.rich = 1, attrs > fewAttrs
		}
	}
	switch name {
	case "div", "p", "h1", "h2", "h3", "h4", "h5", "h6":
		t.link++
	}
	if !plain && t.link > 0 {
		t.link = unending
	}
}

// plainInLink reports whether elements of that name begin and end in a link without a change of what an end tag means.
func plainInLink(name string) bool {
	switch name {
	case "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
		"br", "img", "span", "wbr", "div", "p", "h1", "h2", "h3", "h4", "h5", "h6":
		return true
	}
	return false
}

// instead returns what goes behind the "<" that a tag begins with.
func (t *tagLimit) instead(tag string) string {
	var read prune.Name
	begin := tag[:min(len(tag), longest)] // a page may have a "<" in each byte
	end := read.Read(begin, 1)
	name := string(read.Octets())
	if end == len(begin) {
		name = "" // it is longer than those that matter, or may go on
	}
	t.escaped = t.escaped || t.script && begins(tag, "<!--")
	t.follow(name, tag)
	switch name {
	case "":
		t.script = t.script && !begins(tag, "</script")
	case "script":
		t.script = true
	case "svg", "math":
		t.foreign = true
	case "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u":
		// These, and a, of which the parser keeps one, are all that it opens anew.
		end, attrs := endOf(tag, end)
		if end < 0 || attrs > maxAttrs || telling(tag[:end]) {
			return asMeta
		}
		if t.foreign && (name != "font" || styled(tag[:end])) || t.escaped && !t.foreign {
			return asMeta
		}
		return asComment
	case "html", "body":
		if t.root++; t.root > maxRoots {
			return asMeta
		}
	case "a":
		if end, attrs := endOf(tag, end); end < 0 || attrs > maxAttrs {
			return asArea
		}
	}
	return ""
}

// styled reports whether a font is one that ends SVG and MathML (HTML Standard 13.2.6.5).
func styled(tag string) bool {
	tag = strings.ToLower(tag)
	return strings.Contains(tag, "color") || strings.Contains(tag, "face") || strings.Contains(tag, "size")
}

// begins reports whether a tag begins so, in any case.
func begins(tag, with string) bool {
	return len(tag) >= len(with) && strings.EqualFold(tag[:len(with)], with)
}

// telling reports whether a tag must keep its attributes: one ends a comment, has a URL in its style, or is for a
// script that loads pictures late.
func telling(tag string) bool {
	if strings.ContainsAny(tag, ">(") {
		return true
	}
	for {
		i := strings.IndexByte(tag, '-')
		if i < 0 {
			return false
		}
		if i >= 4 && strings.EqualFold(tag[i-4:i], "data") {
			return true
		}
		tag = tag[i+1:]
	}
}

// ahead returns the text at i, at most maxAhead bytes; at the end of the page there are fewer. It is that of the buffer.
func (t *tagLimit) ahead(i int) string {
	b, _ := t.r.Peek(i + maxAhead)
	return unsafe.String(unsafe.SliceData(b), len(b))[i:]
}

// endOf returns where a start tag ends, whose name ends at name, and how many attributes it has; a negative place if the
// text ends before it.
func endOf(tag string, name int) (end, attrs int) {
	end, attrs, _ = markup.TagEnd(tag, min(name, len(tag)))
	return end - 1, attrs
}

// restore returns a value or text as the site wrote it.
func restore(value string) string {
	if !strings.Contains(value, mark) {
		return value
	}
	for _, put := range []string{asComment, asMeta, asArea} {
		value = strings.ReplaceAll(value, "<"+put, "<")
	}
	return value
}

// wasTag returns the name that the tag of n had, if it became another one, else n's.
func wasTag(n *html.Node) string {
	for _, a := range n.Attr {
		if name, ok := strings.CutPrefix(a.Key, mark); ok {
			return name
		}
	}
	return n.Data
}
