package markup

import (
	"slices"
	"strings"
)

// scanner finds the start tags of a page like the HTML tokenizer (13.2.5), and tracks decisions of the tree: foreign
// content (CDATA, no raw text) and templates.
type scanner struct {
	s         string
	at        int
	found     []attribute // memory for the tags
	foreign   foreign
	templates []template
}

// template is an open template element. Its contents are inert, unless it is a declarative shadow root (4.12.3).
type template struct {
	inert   bool
	foreign int // open foreign elements outside
}

// maxOpen bounds the tracked open elements. The parser of package extract rejects pages that nest 512 deep.
const maxOpen = 128

func (z *scanner) next() (t tag, ok bool) {
	for {
		i := strings.IndexByte(z.s[z.at:], '<')
		if i < 0 || z.at+i+1 == len(z.s) {
			z.at = len(z.s)
			return tag{}, false
		}
		i += z.at
		switch c := z.s[i+1]; {
		case IsLetter(c):
			inert := slices.ContainsFunc(z.templates, func(t template) bool { return t.inert })
			if t, ok = z.startTag(i); !ok {
				return tag{}, false
			}
			if !inert && t.name != "" {
				return t, true
			}
		case c == '/':
			z.at = z.endTag(i)
		case c == '!':
			z.at = z.declaration(i)
		case c == '?':
			z.at = Behind(z.s, i, ">")
		default:
			z.at = i + 1
		}
	}
}

// IsLetter reports whether c is an ASCII letter.
func IsLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func (z *scanner) startTag(i int) (t tag, ok bool) {
	if t, ok = readTag(z.s, i, false, z.found); !ok {
		z.at = len(z.s)
		return t, false
	}
	z.found = t.found
	z.at = t.end
	t.foreign = z.foreign.start(&t)
	switch {
	case t.foreign && (t.name == "style" || t.name == "script") && !t.closed:
		// The tree has elements here. In pages it is raw text as in HTML, or CDATA.
		t.body = RawEnd(z.s, t.end, t.name)
		z.at = t.body
	case t.foreign:
	case t.name == "template":
		if len(z.templates) < maxOpen {
			z.templates = append(z.templates, template{t.attribute("shadowrootmode") == nil, len(z.foreign.open)})
		}
	case t.name == "script":
		t.body = scriptEnd(z.s, t.end)
		z.at = t.body
	case t.name == "plaintext":
		t.body = len(z.s)
		z.at = t.body
	case slices.Contains(rawElements, t.name):
		t.body = RawEnd(z.s, t.end, t.name)
		z.at = t.body
	}
	return t, true
}

// rawElements contain only text. noscript is not one: as in package extract, scripts do not run.
var rawElements = []string{"iframe", "noembed", "noframes", "style", "textarea", "title", "xmp"}

func (z *scanner) endTag(i int) int {
	if i+2 == len(z.s) {
		return len(z.s)
	}
	if !IsLetter(z.s[i+2]) {
		return Behind(z.s, i+2, ">")
	}
	end := i + 2
	for end < len(z.s) && z.s[end] != '/' && z.s[end] != '>' && !IsSpace(z.s[end]) {
		end++
	}
	name := lower(z.s[i+2 : end])
	if n := len(z.templates); name == "template" && n > 0 {
		z.foreign.open = z.foreign.open[:min(z.templates[n-1].foreign, len(z.foreign.open))]
		z.templates = z.templates[:n-1]
	} else {
		z.foreign.end(name)
	}
	if end, _, _ = TagEnd(z.s, end); end < 0 {
		return len(z.s)
	}
	return end
}

// declaration returns the end of a declaration or comment ("<!") at i.
func (z *scanner) declaration(i int) int {
	rest := z.s[i+2:]
	switch {
	case strings.HasPrefix(rest, "--"):
		return CommentEnd(z.s, i+4)
	case len(z.foreign.open) > 0 && strings.HasPrefix(rest, "[CDATA["):
		return Behind(z.s, i, "]]>")
	}
	return Behind(z.s, i+2, ">")
}

// Behind returns the end of the first mark from i on, or of the text.
func Behind(s string, i int, mark string) int {
	if n := strings.Index(s[i:], mark); n >= 0 {
		return i + n + len(mark)
	}
	return len(s)
}

// CommentEnd returns the end of the comment whose text begins at i: after "-->" or "--!>"; "<!-->" and "<!--->" are
// complete (13.2.5.43 to 13.2.5.52).
func CommentEnd(s string, i int) int {
	if strings.HasPrefix(s[i:], ">") {
		return i + 1
	}
	if strings.HasPrefix(s[i:], "->") {
		return i + 2
	}
	for {
		n := strings.Index(s[i:], "--")
		if n < 0 {
			return len(s)
		}
		i += n + 1 // at the second dash, which may be the first of two
		switch rest := s[i+1:]; {
		case strings.HasPrefix(rest, ">"):
			return i + 2
		case strings.HasPrefix(rest, "!>"):
			return i + 3
		}
	}
}

// RawEnd returns the start of the end tag of a raw text that begins at i, or the end of the text.
func RawEnd(s string, i int, name string) int {
	for {
		n := strings.Index(s[i:], "</")
		if n < 0 {
			return len(s)
		}
		if i += n; ends(s[i+2:], name) {
			return i
		}
		i += 2
	}
}

// ends reports whether s, after "</", is the end tag of an element.
func ends(s, name string) bool {
	return len(s) > len(name) && strings.EqualFold(s[:len(name)], name) &&
		(s[len(name)] == '/' || s[len(name)] == '>' || IsSpace(s[len(name)]))
}

// scriptEnd is RawEnd for scripts, which may hide an end tag after "<!--" and "<script" (13.2.5.15 to 13.2.5.31).
func scriptEnd(s string, i int) int {
	const (
		plain   = iota
		escaped // after "<!--"
		doubly  // after "<script" in there
	)
	state := plain
	for ; i < len(s); i++ {
		if state == plain {
			n := strings.IndexByte(s[i:], '<')
			if n < 0 {
				return len(s)
			}
			i += n
		}
		rest := s[i:]
		switch {
		case state != plain && strings.HasPrefix(rest, "-->"):
			state = plain
			i += 2
		case rest[0] != '<':
		case strings.HasPrefix(rest, "</") && ends(rest[2:], "script"):
			if state != doubly {
				return i
			}
			state = escaped
		case state == plain && strings.HasPrefix(rest, "<!--"):
			state = escaped
			i++ // the dashes may belong to "-->"
		case state == escaped && ends(rest[1:], "script"):
			state = doubly
		}
	}
	return len(s)
}

// tag is a start tag. Its name is in lower case, attrs is where its attributes begin.
type tag struct {
	name       string
	start, end int
	attrs      int
	closed     bool // it ends in "/>"
	foreign    bool // an element of SVG or MathML
	svg        bool

	found []attribute // those that matter, each once
	body  int         // the end of the element's raw text; end without one
}

// attribute is an attribute in a tag.
type attribute struct {
	key        string // name in lower case, if it may matter
	name       int    // start of the name
	named      int    // end of the name
	start, end int    // the value without quotes
	outer      int    // start of the value with quotes; end of the name without a value
	after      int    // end of the attribute
	assigned   bool   // there is a "="
}

// nextAttribute reads the attribute at i (HTML Standard 13.2.5.32 to 13.2.5.40); ok is false at the end of the tag or text.
func nextAttribute(s string, i int) (a attribute, ok bool) {
	a.name = attributeAt(s, i)
	if a.name == len(s) || s[a.name] == '>' {
		a.after = a.name
		return a, false
	}
	a.named, a.outer, a.after = attributeEnd(s, a.name)
	a.assigned = a.outer > a.named
	a.start, a.end = a.outer, a.after
	if a.assigned && a.end > a.start && (s[a.start] == '"' || s[a.start] == '\'') {
		a.start++
		if a.end > a.start && s[a.end-1] == s[a.outer] { // else the text ends within it
			a.end--
		}
	}
	return a, true
}

// attributeAt returns the start of the next attribute, or the end of the tag or text.
func attributeAt(s string, i int) int {
	for i < len(s) && (IsSpace(s[i]) || s[i] == '/') {
		i++
	}
	return i
}

// attributeEnd reads the attribute at i and returns the end of its name, the start of its value with quotes (the end of
// the name without one), and its end.
func attributeEnd(s string, i int) (named, value, after int) {
	for i++; i < len(s) && s[i] != '=' && s[i] != '/' && s[i] != '>' && !IsSpace(s[i]); i++ {
	}
	named = i
	for i < len(s) && IsSpace(s[i]) {
		i++
	}
	if i == len(s) || s[i] != '=' {
		return named, named, named
	}
	for i++; i < len(s) && IsSpace(s[i]); i++ {
	}
	value = i
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		n := strings.IndexByte(s[i+1:], s[i])
		if n < 0 {
			return named, value, len(s)
		}
		return named, value, i + 1 + n + 1
	}
	for i < len(s) && s[i] != '>' && !IsSpace(s[i]) {
		i++
	}
	return named, value, i
}

// TagEnd returns the end of a tag whose name ends at i, the number of its attributes, and whether it ends in a solidus
// outside of values; -1 if the text ends before.
func TagEnd(s string, i int) (end, attrs int, closed bool) {
	for {
		next := attributeAt(s, i)
		switch {
		case next == len(s):
			return -1, attrs, false
		case s[next] == '>':
			return next + 1, attrs, i < next && s[next-1] == '/'
		}
		_, _, i = attributeEnd(s, next)
		attrs++
	}
}

// keyIn returns the name in lower case; "" if it is longer than any that matters.
func (a *attribute) keyIn(s string) string { return lower(s[a.name:a.named]) }

// readTag reads the start tag at i; ok is false if the text ends before it. In XML any prefix may be that of XLink.
func readTag(s string, i int, xml bool, found []attribute) (t tag, ok bool) {
	t = tag{start: i, found: found[:0]}
	i++
	for i < len(s) && s[i] != '/' && s[i] != '>' && !IsSpace(s[i]) {
		i++
	}
	t.name = lower(s[t.start+1 : i])
	t.attrs = i
	last := i
	for {
		a, more := nextAttribute(s, i)
		i = a.after
		if !more {
			break
		}
		last = i
		if a.key = a.keyIn(s); xml && strings.HasSuffix(a.key, ":href") {
			a.key = "xlink:href"
		}
		if attributes[a.key] && t.attribute(a.key) == nil {
			t.found = append(t.found, a)
		}
	}
	if i == len(s) {
		return t, false
	}
	t.end = i + 1
	t.body = t.end
	t.closed = s[i-1] == '/' && last < i // otherwise the solidus belongs to a value
	return t, true
}

// attribute returns an attribute that matters, or nil.
func (t *tag) attribute(key string) *attribute {
	for i := range t.found {
		if t.found[i].key == key {
			return &t.found[i]
		}
	}
	return nil
}

// maxName is longer than any name that matters.
const maxName = 32

// lower returns s in lower case; "" if it is longer than any name that matters.
func lower(s string) string {
	if len(s) > maxName {
		return ""
	}
	return strings.ToLower(s)
}
