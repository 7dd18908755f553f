package markup

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// escape returns the length of the escape that s begins with, "\" included; 0 if a line ends behind it, or the text
// (CSS Syntax 4.3.7 and 4.3.8).
func escape(s string) int {
	if len(s) < 2 || s[1] == '\n' || s[1] == '\r' || s[1] == '\f' {
		return 0
	}
	n := 1
	for n < len(s) && n < 7 && isHex(s[n]) {
		n++
	}
	if n == 1 {
		_, size := utf8.DecodeRuneInString(s[1:])
		return 1 + size
	}
	return n + lineEnd(s[n:], true)
}

// lineEnd returns the length of the line end that s begins with, or if wanted the one white space; "\r\n" is one.
func lineEnd(s string, white bool) int {
	switch {
	case strings.HasPrefix(s, "\r\n"):
		return 2
	case s != "" && (s[0] == '\n' || s[0] == '\r' || s[0] == '\f' || white && IsSpace(s[0])):
		return 1
	}
	return 0
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

// unescapeCSS returns what a string or name with escapes means. A line end behind "\" means nothing, as in strings.
func unescapeCSS(s string) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	var b strings.Builder
	for ; i >= 0; i = strings.IndexByte(s, '\\') {
		b.WriteString(s[:i])
		s = s[i:]
		n := escape(s)
		switch {
		case n == 0:
			n = 1 + lineEnd(s[1:], false)
		case isHex(s[1]):
			v, _ := strconv.ParseUint(strings.TrimRight(s[1:n], Space), 16, 32)
			if v == 0 || v > utf8.MaxRune || 0xD800 <= v && v < 0xE000 {
				v = utf8.RuneError
			}
			b.WriteRune(rune(v))
		default:
			b.WriteString(s[1:n])
		}
		s = s[n:]
	}
	b.WriteString(s)
	return b.String()
}

// name returns the name that an identifier means, in small letters.
func name(s string) string {
	if len(s) > 7*maxName {
		return ""
	}
	return strings.ToLower(unescapeCSS(s))
}

// urlName returns the length of "url(" at the beginning of s, however it is written; 0 if s begins with something else.
func urlName(s string) int {
	at := 0
	for _, want := range []byte("url") {
		n := 1
		switch {
		case at == len(s):
			return 0
		case s[at] == '\\':
			if n = escape(s[at:]); n == 0 || !strings.EqualFold(unescapeCSS(s[at:at+n]), string(want)) {
				return 0
			}
		case s[at]|0x20 != want:
			return 0
		}
		at += n
	}
	if at == len(s) || s[at] != '(' {
		return 0
	}
	return at + 1
}

// inQuotes returns what is between the quotes of a string, which the end of the text may have ended.
func inQuotes(s string) string {
	q := s[:1]
	s = s[1:]
	if n := len(s); n > 0 && s[n-1:] == q && !oddBackslashes(s[:n-1]) {
		return s[:n-1]
	}
	return s
}

func oddBackslashes(s string) bool { return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1 }

// cssString returns a string of CSS in such quotes. Characters that end it, or the element or attribute it may stand
// in, are escaped.
func cssString(s string, quote byte) string {
	var b strings.Builder
	b.WriteByte(quote)
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\'', '\\', '<', '>':
			b.WriteByte('\\')
			b.WriteString(strconv.FormatUint(uint64(c), 16))
			b.WriteByte(' ')
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte(quote)
	return b.String()
}

// cssURL returns url(…), without quotes where that can be: it stands in attributes, too.
func cssURL(s string) string {
	if strings.ContainsAny(s, `"'()\<>`) {
		return "url(" + cssString(s, '"') + ")"
	}
	return "url(" + s + ")"
}
