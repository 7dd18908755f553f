package mediatype

import (
	"bytes"
	"net/http"
	"strings"
)

// Type is what a Content-Type says. The zero Type says nothing.
type Type struct {
	Name    string // type and subtype in small letters, "text/html"; "" if none is named
	Charset string // value of the charset parameter, a label of the Encoding Standard or not; "" for none
}

// maxName is two names of 127 octets (RFC 6838 4.2) and the slash.
const maxName = 127 + 1 + 127

// Value returns the value of a message's Content-Type: of several fields all, joined as RFC 9110 5.3 has it.
func Value(h http.Header) string {
	switch v := h["Content-Type"]; len(v) {
	case 0:
		return ""
	case 1:
		return v[0]
	default:
		return strings.Join(v, ", ")
	}
}

// Of returns what a message says its body is.
func Of(h http.Header) Type { return Parse(Value(h)) }

// Parse reads the value of a Content-Type field.
func Parse(value string) Type {
	switch value { // what most answers have
	case "":
		return Type{}
	case "text/html":
		return Type{Name: "text/html"}
	}
	var t Type
	for value != "" {
		var one string
		one, value = cutValue(value)
		next, ok := parseOne(one)
		if !ok || next.Name == "*/*" {
			continue
		}
		if next.Name == t.Name && next.Charset == "" {
			continue // the charset stays
		}
		t = next
	}
	return t
}

// Name returns the name that the value of a Content-Type field names, and keeps nothing of value. The two that most
// answers have need no memory.
func Name(value []byte) string {
	if bytes.IndexByte(value, ',') < 0 {
		name, _, _ := bytes.Cut(value, []byte(";"))
		switch string(bytes.Trim(name, blanks)) {
		case "text/html":
			return "text/html"
		case "text/plain":
			return "text/plain"
		}
	}
	return Parse(string(value)).Name
}

// String writes a type so that Parse reads it.
func (t Type) String() string {
	if t.Charset == "" || t.Name == "" || !token(t.Charset) {
		return t.Name
	}
	return t.Name + ";charset=" + t.Charset
}

// IsHTML reports whether a type is that of a page.
func (t Type) IsHTML() bool { return t.Name == "text/html" || t.IsXHTML() }

// IsXHTML reports whether a type is that of a page in XML: by its type alone, as browsers do (HTML Standard 7.5.3).
func (t Type) IsXHTML() bool { return t.Name == "application/xhtml+xml" }

// Unnamed reports whether a type says nothing of the body (WHATWG MIME Sniffing 7).
func (t Type) Unnamed() bool {
	return t.Name == "" || t.Name == "unknown/unknown" || t.Name == "application/unknown"
}

// MaxSniff is how many octets of a body Sniff looks at.
const MaxSniff = 512

// Sniff returns the media type of a body that nobody named, by its first octets; "" if they do not tell (WHATWG MIME
// Sniffing 7.1).
func Sniff(head []byte) string {
	switch t := Parse(http.DetectContentType(head)); t.Name {
	case "application/octet-stream", "text/plain":
		return ""
	default:
		return t.Name
	}
}

// IsPage reports whether a body is a page: by the type that its server named, which is believed, and where it named
// none, by its first octets.
func (t Type) IsPage(head []byte) bool {
	return t.IsHTML() || t.Unnamed() && Sniff(head) == "text/html"
}
