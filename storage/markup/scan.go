package markup

import "strings"

// scanner goes through the start tags of a page as the tokenizer of the HTML Standard finds them (13.2.5), with what
// the tree decides for it: where foreign content is (CDATA, no raw text), and what is in a template. There is no tree.
type scanner struct {
	s         string
	at        int
	found     []attribute // for the tags' use, one after another
	foreign   foreign
	templates []template
}

// template is an open template element. Its contents are inert, unless it is a declarative shadow root (4.12.3).
type template struct {
	inert   bool
	foreign int // open foreign elements outside
}

// maxOpen is how many open elements are remembered, of those that matter. The parser of package extract refuses pages
// that nest 512 deep.
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
			inert := z.inert()
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

func (z *scanner) inert() bool {
	for _, t := range z.templates {
		if t.inert {
			return true
		}
	}
	return false
}

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
		// The tree has elements here. In pages it is the raw text that it is in HTML, or text in CDATA.
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
	case isRaw(t.name):
		t.body = RawEnd(z.s, t.end, t.name)
		z.at = t.body
	}
	return t, true
}

// isRaw reports whether what is in an element is text alone. In noscript it is for a browser that runs scripts; it is
// read as for one that does not, as package extract does.
func isRaw(name string) bool {
	switch name {
	case "iframe", "noembed", "noframes", "style", "textarea", "title", "xmp":
		return true
	}
	return false
}

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
		z.foreign.cut(z.templates[n-1].foreign)
		z.templates = z.templates[:n-1]
	} else {
		z.foreign.end(name)
	}
	if end, _, _ = TagEnd(z.s, end); end < 0 {
		return len(z.s)
	}
	return end
}

// declaration reads what begins with "<!" at i and returns where it ends.
func (z *scanner) declaration(i int) int {
	rest := z.s[i+2:]
	switch {
	case strings.HasPrefix(rest, "--"):
		return CommentEnd(z.s, i+4)
	case z.foreign.inside() && strings.HasPrefix(rest, "[CDATA["):
		return Behind(z.s, i, "]]>")
	}
	return Behind(z.s, i+2, ">")
}

// Behind returns where the first such mark at i or later ends; the end of the text if there is none.
func Behind(s string, i int, mark string) int {
	if n := strings.Index(s[i:], mark); n >= 0 {
		return i + n + len(mark)
	}
	return len(s)
}

// CommentEnd returns where the comment ends whose text begins at i: behind "-->" or "--!>", and "<!-->" and "<!--->"
// are whole (13.2.5.43 to 13.2.5.52).
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

// RawEnd returns where the end tag begins that ends a raw text which begins at i; the end of the text if none does.
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

// ends reports whether s, behind "</", is the end tag of an element.
func ends(s, name string) bool {
	return len(s) > len(name) && strings.EqualFold(s[:len(name)], name) &&
		(s[len(name)] == '/' || s[len(name)] == '>' || IsSpace(s[len(name)]))
}

// scriptEnd is RawEnd for scripts, which may hide an end tag behind "<!--" and "<script" (13.2.5.15 to 13.2.5.31).
func scriptEnd(s string, i int) int {
	const (
		plain   = iota
		escaped // behind "<!--"
		doubly  // behind "<script" in there
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
			i++ // the dashes may be those of "-->"
		case state == escaped && ends(rest[1:], "script"):
			state = doubly
		}
	}
	return len(s)
}

// tag is a start tag.
type tag struct {
	name       string // in small letters
	start, end int    // from "<" to behind ">"
	attrs      int    // where its attributes begin
	closed     bool   // it ends in "/>"
	foreign    bool   // of an element of SVG or MathML
	svg        bool   // of SVG

	found []attribute // the attributes that matter, each once
	body  int         // where the raw text of the element ends, if it has any; else end
}

// attribute is an attribute as it stands in a tag.
type attribute struct {
	key        string // in small letters, if it matters
	name       int    // where the name begins
	named      int    // where the name ends
	start, end int    // the value, without quotes
	outer      int    // where the value begins, with quotes; where the name ends if there is no value
	after      int    // behind all of it
	assigned   bool   // there is a "="
}

// nextAttribute reads the attribute at i, in a tag (HTML Standard 13.2.5.32 to 13.2.5.40). It is none at the tag's ">",
// and at the end of the text, where there is no tag.
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
		if a.end > a.start && s[a.end-1] == s[a.outer] { // else the text ends in it
			a.end--
		}
	}
	return a, true
}

// attributeAt returns where the next attribute begins, or the tag or the text ends.
func attributeAt(s string, i int) int {
	for i < len(s) && (IsSpace(s[i]) || s[i] == '/') {
		i++
	}
	return i
}

// attributeEnd reads the attribute that begins at i: where its name ends, where its value begins, quotes included, which
// is where the name ends if it has none, and what is behind all of it.
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

// TagEnd returns where a tag ends whose name ends at i, how many attributes it has, and whether it ends in a solidus that
// is no part of a value; -1 if the text ends before it.
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

// keyIn returns the name of the attribute in small letters; "" if it is longer than any that matters.
func (a *attribute) keyIn(s string) string { return lower(s[a.name:a.named]) }

// readTag reads the start tag at i. It is none if the text ends before it does. In XML any prefix may be that of XLink.
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
		if matters(a.key) && t.attribute(a.key) == nil {
			t.found = append(t.found, a)
		}
	}
	if i == len(s) {
		return t, false
	}
	t.end = i + 1
	t.body = t.end
	t.closed = s[i-1] == '/' && last < i // else it is the end of a value
	return t, true
}

// attribute returns an attribute that matters, nil if there is none.
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

// lower returns s in small letters, "" if it is longer than any name that matters.
func lower(s string) string {
	if len(s) > maxName {
		return ""
	}
	return strings.ToLower(s)
}
