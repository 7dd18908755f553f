// Package mediatype determines the media type of a response. Every part that asks, from the extractor of links to the
// list of pages in a WACZ, asks here: what one of them took for a page, all do.
//
// A Content-Type is read as browsers read it (WHATWG MIME Sniffing 4.4, "parse a MIME type"; Fetch 2.2, "extract a MIME
// type"):
//
//   - Several fields, and several values in one, are read one after the other, cut at commas outside of quotes. The
//     last that is a media type counts, so "text/html, text/html" is text/html; "*/*" is none. A charset stays while
//     the type stays.
//   - What is no media type ("text/html charset=utf-8", "html", "text/") is passed over, as though the server had said
//     nothing. Then the first octets tell (Sniff).
//
// One thing differs: a type longer than two names may be (RFC 6838 4.2: 127 octets each) is none, so that ledger and
// index never hold much of what a stranger wrote.
//
// The package imports the standard library alone and does no I/O.
package mediatype

import (
	"bytes"
	"net/http"
	"regexp"
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

// cutValue cuts the first value off a list at a comma outside of quotes (Fetch 2.2, "get, decode, and split"). A quote
// that nothing ends goes on to the end.
func cutValue(list string) (value, rest string) {
	quoted := false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ',' && !quoted:
			return list[:i], list[i+1:]
		}
	}
	return list, ""
}

// blanks are the HTTP white space of the Fetch standard.
const blanks = " \t\r\n"

// parseOne reads one value (WHATWG MIME Sniffing 4.4).
func parseOne(s string) (t Type, ok bool) {
	name, params, _ := strings.Cut(strings.Trim(s, blanks), ";")
	name = strings.TrimRight(name, blanks)
	main, sub, ok := strings.Cut(name, "/")
	if !ok || len(name) > maxName || !token(main) || !token(sub) {
		return Type{}, false
	}
	return Type{Name: strings.ToLower(name), Charset: charsetOf(params)}, true
}

func charsetOf(params string) string {
	for params != "" {
		params = strings.TrimLeft(params, blanks)
		end := strings.IndexAny(params, ";=")
		if end < 0 {
			return ""
		}
		name, quoted := params[:end], false
		if params[end] == ';' {
			params = params[end+1:]
			continue
		}
		value := params[end+1:]
		if quoted = strings.HasPrefix(value, `"`); quoted {
			value, params = unquote(value[1:])
			_, params, _ = strings.Cut(params, ";")
		} else {
			value, params, _ = strings.Cut(value, ";")
			value = strings.TrimRight(value, blanks)
		}
		if strings.EqualFold(name, "charset") && printable(value) && (quoted || value != "") {
			return strings.Trim(value, blanks)
		}
	}
	return ""
}

// unquote reads a quoted string behind its first quote, and returns what follows it.
func unquote(s string) (value, rest string) {
	end := strings.IndexAny(s, `"\`)
	switch {
	case end < 0:
		return s, ""
	case s[end] == '"':
		return s[:end], s[end+1:]
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}

// printable reports whether a value has no control octet but a tab. Characters beyond ASCII may be in it, and are no
// label.
func printable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7F {
			return false
		}
	}
	return true
}

// token reports whether s is a token (RFC 9110 5.6.2).
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// Declared returns the charset that the XML declaration in the first octets of a document names, and "" if there is
// none. Octets that spell it in UTF-16 are that, whatever it names (HTML Standard 13.2.3.2, prescan; XML 1.0 F.1), and
// those that spell it in ASCII are not, though it names it. A page of HTML is held to the former, and not to the
// latter: see Wide.
func Declared(head []byte) string {
	if wide := Wide(head); wide != "" {
		return wide
	}
	m := declaredEncoding.FindSubmatch(head[:min(len(head), maxDeclaration)])
	switch {
	case m == nil:
		return ""
	case strings.HasPrefix(strings.ToLower(string(m[1])), "utf-16"):
		return "utf-8"
	}
	return string(m[1])
}

// Wide returns utf-16le or utf-16be for a document that has no byte order mark and begins with "<?x" in one of them;
// else "".
func Wide(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("<\x00?\x00x\x00")):
		return "utf-16le"
	case bytes.HasPrefix(head, []byte("\x00<\x00?\x00x")):
		return "utf-16be"
	}
	return ""
}

const maxDeclaration = 1024 // octets in which a declaration is looked for

var declaredEncoding = regexp.MustCompile(`^<\?xml\s[^>]*?encoding\s*=\s*["']([-_.:A-Za-z0-9]+)["']`)
