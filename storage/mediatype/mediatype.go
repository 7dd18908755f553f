// Package mediatype determines the media type of a response, for all parts of the program.
//
// It parses a Content-Type as browsers do (WHATWG MIME Sniffing 4.4, "parse a MIME type"; Fetch 2.2, "extract a MIME
// type"): the last valid value of all fields counts, except "*/*", and a charset remains while the type does. If none is
// valid ("text/html charset=utf-8", "html"), the first bytes decide (Sniff). Unlike browsers it ignores a type longer
// than two names may be (RFC 6838 4.2), so that ledger and index never hold much foreign text.
//
// It imports only the standard library and does no I/O.
package mediatype

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
)

// Type is the value of a Content-Type. The zero Type is an unknown one.
type Type struct {
	Name    string // type and subtype in lower case, "text/html"; "" if missing
	Charset string // value of the charset parameter, a label of the Encoding Standard or not; "" if missing
}

// maxName is two names of 127 bytes (RFC 6838 4.2) and the slash.
const maxName = 127 + 1 + 127

// Value returns a message's Content-Type, several fields joined by commas (RFC 9110 5.3).
func Value(h http.Header) string { return strings.Join(h["Content-Type"], ", ") }

// Of returns the media type that a message declares for its body.
func Of(h http.Header) Type { return Parse(Value(h)) }

// Parse parses a Content-Type.
func Parse(value string) Type {
	switch value { // fast paths
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
			continue // the charset remains
		}
		t = next
	}
	return t
}

// Name returns the media type of a Content-Type without keeping value. The two most common ones do not allocate.
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

// String formats a type for Parse.
func (t Type) String() string {
	if t.Charset == "" || t.Name == "" || !token(t.Charset) {
		return t.Name
	}
	return t.Name + ";charset=" + t.Charset
}

// IsHTML reports whether the type is a page.
func (t Type) IsHTML() bool { return t.Name == "text/html" || t.IsXHTML() }

// IsXHTML reports whether the type is a page in XML, as in browsers (HTML Standard 7.5.3).
func (t Type) IsXHTML() bool { return t.Name == "application/xhtml+xml" }

// Unnamed reports whether the type is unknown (WHATWG MIME Sniffing 7).
func (t Type) Unnamed() bool {
	return t.Name == "" || t.Name == "unknown/unknown" || t.Name == "application/unknown"
}

// MaxSniff is the number of bytes of a body that Sniff needs.
const MaxSniff = 512

// Sniff returns the media type by a body's first bytes; "" if unknown (WHATWG MIME Sniffing 7.1).
func Sniff(head []byte) string {
	switch t := Parse(http.DetectContentType(head)); t.Name {
	case "application/octet-stream", "text/plain":
		return ""
	default:
		return t.Name
	}
}

// IsPage reports whether a body is a page: by its declared type or, without one, its first bytes.
func (t Type) IsPage(head []byte) bool {
	return t.IsHTML() || t.Unnamed() && Sniff(head) == "text/html"
}

// cutValue cuts the first value off a list at a comma outside of quotes (Fetch 2.2, "get, decode, and split"). An open
// quote extends to the end.
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

// blanks is the HTTP white space of the Fetch standard.
const blanks = " \t\r\n"

// parseOne parses one value (WHATWG MIME Sniffing 4.4).
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
		printable := strings.IndexFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }) < 0
		if strings.EqualFold(name, "charset") && printable && (quoted || value != "") {
			return strings.Trim(value, blanks)
		}
	}
	return ""
}

// unquote parses a quoted string after its first quote, and returns the rest.
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

// Declared returns the charset by the XML declaration in a document's first bytes; "" without one. A declaration in
// UTF-16 bytes means that, whatever it names, and one in ASCII does not (HTML Standard 13.2.3.2, prescan; XML 1.0 F.1).
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

// Wide returns utf-16le or utf-16be for a document that begins with "<?x" in it, without byte order mark; else "".
func Wide(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("<\x00?\x00x\x00")):
		return "utf-16le"
	case bytes.HasPrefix(head, []byte("\x00<\x00?\x00x")):
		return "utf-16be"
	}
	return ""
}

const maxDeclaration = 1024 // bytes searched for a declaration

var declaredEncoding = regexp.MustCompile(`^<\?xml\s[^>]*?encoding\s*=\s*["']([-_.:A-Za-z0-9]+)["']`)
