package extract

import "strings"

// refresh returns the URL that a refresh names (HTML Standard 4.2.5.3, "shared declarative refresh steps"). ok is
// false when the value is not valid and when it names no URL, which asks to load the page itself again.
func refresh(value string) (ref string, ok bool) {
	s := strings.TrimLeft(value, space)
	rest := strings.TrimLeft(s, "0123456789")
	if rest == s && !strings.HasPrefix(s, ".") {
		return "", false // no time
	}
	s = strings.TrimLeft(rest, "0123456789.")
	if s == "" || !strings.ContainsRune(";,"+space, rune(s[0])) {
		return "", false
	}
	s = strings.TrimLeft(s, space)
	if s != "" && (s[0] == ';' || s[0] == ',') {
		s = s[1:]
	}
	s = strings.TrimLeft(s, space)
	if s == "" {
		return "", false
	}
	if s[0] == 'u' || s[0] == 'U' {
		named, ok := cutName(s)
		if !ok {
			return s, true // no "url=" after all: a relative URL that begins with a "u"
		}
		s = named
	}
	return unquote(s), true
}

// cutName removes "url=" with white space around the sign.
func cutName(s string) (value string, ok bool) {
	if len(s) < len("url") || !strings.EqualFold(s[:len("url")], "url") {
		return "", false
	}
	value, ok = strings.CutPrefix(strings.TrimLeft(s[len("url"):], space), "=")
	return strings.TrimLeft(value, space), ok
}

// unquote removes a quote, and what follows its like.
func unquote(s string) string {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return s
	}
	value, _, _ := strings.Cut(s[1:], s[:1])
	return value
}
