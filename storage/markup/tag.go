package markup

import "strings"

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
