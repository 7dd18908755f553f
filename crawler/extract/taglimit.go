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

// MaxTags bounds the tags of a page, without end tags that do not affect the tree: a node takes over a hundred bytes, a
// tag as few as three. Tags after which the parser may re-open a link count two- or threefold.
const MaxTags = 1 << 17

// tagLimit is the parser's reader. It bounds the tree by replacing three kinds of tags; restore removes the marks of that
// from values and text:
//
// Elements that only format text. The parser re-opens those left open at the end of a paragraph (HTML Standard 13.2.4.3,
// 13.2.5.4.1): after four hundred <font>, each <p> would be four hundred nodes. No link depends on them. They become
// comments, or an empty meta where an attribute has a ">", which would end a comment, or may name a picture; where SVG
// or MathML has begun, which a meta ends as they do; and where a script has a comment, in which the parser treats "<!"
// differently from the Standard.
//
// Links with many attributes, or very long ones. The parser re-opens these with all attributes. They become an area,
// which is also a link. Other links stay, and tags in them count more.
//
// Excess html and body tags, whose attributes the parser compares with all earlier ones.
type tagLimit struct {
	r    *bufio.Reader
	left int    // tags still allowed
	over bool   // left was exceeded
	put  string // precedes the next bytes
	root int    // tags of html and body
	link int    // 0: no link is open; else one and the blocks that began in it, or unending
	rich bool   // the link has more than fewAttrs attributes

	script  bool // a script is probably open
	escaped bool // a script had a comment
	foreign bool // SVG or MathML began
}

// mark is a control character, which no page needs. It precedes the name of a replaced tag.
const mark = "\x01"

const (
	asComment = "!" + mark // a bogus comment, HTML Standard 13.2.5.42
	asMeta    = "meta/" + mark
	asArea    = "area/" + mark
)

const (
	maxRoots = 64 // tags of html and body; conditional comments have some
	maxAttrs = 6  // of a link that stays one, of formatting that becomes a comment
	fewAttrs = 3
	maxAhead = 2 << 10 // bytes of a tag that are read ahead
	unending = 8       // blocks in a link after which its end tag may not end it (HTML Standard 13.2.6.4.7, adoption agency)
)

// longest is the length of "<", the longest relevant name and its delimiter.
const longest = 1 + len("strike") + 1

func newTagLimit(r io.Reader) *tagLimit {
	return &tagLimit{r: bufio.NewReaderSize(r, 4096+maxAhead), left: MaxTags}
}

// Read fills p: on each read within a long text the parser moves its part of it.
func (t *tagLimit) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = t.some(p[n:])
		n += m
	}
	return n, err
}

// some reads buffered bytes, up to a replaced tag.
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
	p = p[:min(len(p), t.r.Buffered(), 4096)] // so that the buffer has room for ahead
	b, _ := t.r.Peek(len(p))
	n = copy(p, b)
	for i := 0; t.put == ""; i++ {
		next := bytes.IndexByte(p[i:n], '<')
		if next < 0 {
			break
		}
		i += next
		tag := t.ahead(i) // valid until the next call
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

// isNode reports whether a tag may add to the tree: start tags and comments do, "</p" and "</br" also (HTML Standard
// 13.2.6.4.7), and an end tag without a name is a comment.
func isNode(tag string) bool {
	switch {
	case len(tag) < 2:
		return false
	case tag[1] != '/':
		return markup.IsLetter(tag[1]) || tag[1] == '!' || tag[1] == '?'
	}
	return len(tag) > 2 && !markup.IsLetter(tag[2]) || begins(tag, "</p") || begins(tag, "</br")
}

// cost returns how many tags a tag counts as. In a link also end tags count: the parser may re-open the link after them.
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

func isEndTag(tag string) bool { return len(tag) > 2 && tag[1] == '/' && markup.IsLetter(tag[2]) }

func linkEnds(tag string) bool { return begins(tag, "</a>") }

// follow tracks the link that the parser may re-open. An end tag certainly ends it after only text and plain tags: in a
// value, comment or script it is not a tag, and in a cell, form or drawing it may end another link. Otherwise the link
// counts as open to the end of the page.
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

// plainInLink reports whether elements of that name in a link do not change the meaning of end tags.
func plainInLink(name string) bool {
	switch name {
	case "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
		"br", "img", "span", "wbr", "div", "p", "h1", "h2", "h3", "h4", "h5", "h6":
		return true
	}
	return false
}

// instead returns the text to insert after the "<" of a tag.
func (t *tagLimit) instead(tag string) string {
	var read prune.Name
	begin := tag[:min(len(tag), longest)] // every byte of a page may be a "<"
	end := read.Read(begin, 1)
	name := string(read.Octets())
	if end == len(begin) {
		name = "" // longer than the relevant ones, or incomplete
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
		// The parser re-opens only these and one a.
		end, attrs := endOf(tag, end)
		if end < 0 || attrs > maxAttrs || mustKeep(tag[:end]) {
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

// styled reports whether a font ends SVG and MathML (HTML Standard 13.2.6.5).
func styled(tag string) bool {
	tag = strings.ToLower(tag)
	return strings.Contains(tag, "color") || strings.Contains(tag, "face") || strings.Contains(tag, "size")
}

func begins(tag, with string) bool {
	return len(tag) >= len(with) && strings.EqualFold(tag[:len(with)], with)
}

// mustKeep reports whether a tag needs its attributes: one would end a comment, may have a URL in its style, or may be
// for lazy loading.
func mustKeep(tag string) bool {
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

// ahead returns up to maxAhead bytes of the buffer at i.
func (t *tagLimit) ahead(i int) string {
	b, _ := t.r.Peek(i + maxAhead)
	return unsafe.String(unsafe.SliceData(b), len(b))[i:]
}

// endOf returns the end of a start tag whose name ends at name, negative if the text ends before, and its attributes.
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

// wasTag returns the name of n before its tag was replaced.
func wasTag(n *html.Node) string {
	for _, a := range n.Attr {
		if name, ok := strings.CutPrefix(a.Key, mark); ok {
			return name
		}
	}
	return n.Data
}
