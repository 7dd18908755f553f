package mediatype

import (
	"bytes"
	"regexp"
	"strings"
)

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

// charsetOf returns the first charset parameter of a list of parameters.
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
