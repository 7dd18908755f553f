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
	for i < len(s) && (isSpace(s[i]) || s[i] == '/') {
		i++
	}
	if i == len(s) || s[i] == '>' {
		a.after = i
		return a, false
	}
	a.name = i
	for i++; i < len(s) && s[i] != '=' && s[i] != '/' && s[i] != '>' && !isSpace(s[i]); i++ {
	}
	a.named, a.outer, a.start, a.end, a.after = i, i, i, i, i
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	if i == len(s) || s[i] != '=' {
		return a, true
	}
	a.assigned = true
	for i++; i < len(s) && isSpace(s[i]); i++ {
	}
	a.outer, a.start, a.end, a.after = i, i, i, i
	if i == len(s) || s[i] == '>' {
		return a, true
	}
	if q := s[i]; q == '"' || q == '\'' {
		a.start = i + 1
		n := strings.IndexByte(s[i+1:], q)
		if n < 0 {
			a.end, a.after = len(s), len(s)
			return a, true
		}
		a.end = a.start + n
		a.after = a.end + 1
		return a, true
	}
	for i < len(s) && s[i] != '>' && !isSpace(s[i]) {
		i++
	}
	a.end, a.after = i, i
	return a, true
}

// keyIn returns the name of the attribute in small letters; "" if it is longer than any that matters.
func (a *attribute) keyIn(s string) string { return lower(s[a.name:a.named]) }

// readTag reads the start tag at i. It is none if the text ends before it does. In XML any prefix may be that of XLink.
func readTag(s string, i int, xml bool, found []attribute) (t tag, ok bool) {
	t = tag{start: i, found: found[:0]}
	i++
	for i < len(s) && s[i] != '/' && s[i] != '>' && !isSpace(s[i]) {
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
