package mediatype

import "strings"

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
