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

// next returns the next start tag that is no template's contents.
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

// startTag reads the start tag at i, and what it opens.
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

// endTag reads the end tag at i and returns where it ends.
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
