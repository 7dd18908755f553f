package markup

import (
	"html"
	"strconv"
	"strings"
)

// decode reads the character references in an attribute's value (HTML Standard 13.2.5.73, in an attribute).
func decode(raw string) string {
	at, n, text := nextReference(raw, 0)
	if n == 0 {
		return raw
	}
	var b strings.Builder
	b.Grow(len(raw) + len(raw)/4)
	done := 0
	for n > 0 {
		b.WriteString(raw[done:at])
		b.WriteString(text)
		done = at + n
		at, n, text = nextReference(raw, done)
	}
	b.WriteString(raw[done:])
	return b.String()
}

// nextReference returns where the next character reference stands, its length and what it means; a length of 0 if
// there is none.
func nextReference(raw string, at int) (start, n int, text string) {
	for {
		i := strings.IndexByte(raw[at:], '&')
		if i < 0 {
			return len(raw), 0, ""
		}
		at += i
		if text, n = reference(raw[at:]); n > 0 {
			return at, n, text
		}
		at++
	}
}

// mapper finds places of a decoded value in what was written, in order. It reads the references once more, for a table
// of them may be larger than the value.
type mapper struct {
	raw      string
	at, text int // behind the last reference that lies before
	next     int // where the next one begins
	n, width int // its length, and that of what it means
	known    bool
}

// place returns where a place in the text is. One within a reference is its begin, or if up its end.
func (m *mapper) place(text int, up bool) int {
	for {
		if !m.known {
			var means string
			m.next, m.n, means = nextReference(m.raw, m.at)
			m.width, m.known = len(means), true
		}
		start := m.text + m.next - m.at // of the next reference, in the text
		switch {
		case m.n == 0 || text <= start:
			return m.at + text - m.text
		case text < start+m.width && up:
			return m.next + m.n
		case text < start+m.width:
			return m.next
		}
		m.at, m.text, m.known = m.next+m.n, start+m.width, false
	}
}

// reference reads the character reference that s begins with; n is 0 if that is none.
func reference(s string) (text string, n int) {
	numeric := strings.HasPrefix(s, "&#")
	end := 1
	if numeric {
		end = 2
	}
	for end < len(s) && isAlnum(s[end]) {
		end++
	}
	if numeric {
		end = 2 + len(digits(s[2:end]))
	}
	closed := end < len(s) && s[end] == ';'
	if closed {
		end++
	} else if !numeric && end < len(s) && s[end] == '=' {
		return "", 0
	}
	text = html.UnescapeString(s[:end])
	last := text[len(text)-1]
	switch {
	case text == s[:end]:
		return "", 0
	case numeric:
	case closed && last == ';' && text != ";", !closed && isAlnum(last):
		return "", 0 // only a part of the name is one
	}
	return text, end
}

// digits returns what s begins with of digits: hexadecimal ones behind an "x".
func digits(s string) string {
	if s != "" && s[0]|0x20 == 'x' {
		return s[:len(s)-len(strings.TrimLeft(s[1:], "0123456789abcdefABCDEF"))]
	}
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// Space is ASCII white space (Infra Standard 4.6).
const Space = " \t\n\f\r"

// IsSpace reports whether c is ASCII white space.
func IsSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' && c != '\v' }

// Strip removes the white space that HTML allows around a URL (HTML Standard 2.4.1).
func Strip(s string) string { return strings.Trim(s, Space) }

// Candidates calls found with the places of the URLs of the image candidates in a srcset attribute, in order (HTML
// Standard 4.8.4.3.10, "parse a srcset attribute"). A comma may be part of a URL; candidates whose descriptors a
// browser rejects are left out. White space in parentheses splits here what the Standard keeps together; a descriptor
// with parentheses is invalid either way.
func Candidates(s string, found func(start, end int)) {
	at := 0
	for {
		for at < len(s) && (IsSpace(s[at]) || s[at] == ',') {
			at++
		}
		if at == len(s) {
			return
		}
		start := at
		for at < len(s) && !IsSpace(s[at]) {
			at++
		}
		end, ok := at, true
		if bare := len(strings.TrimRight(s[start:at], ",")); start+bare < at {
			end = start + bare
		} else {
			n := descriptorsEnd(s[at:])
			ok = validDescriptors(s[at : at+n])
			at = min(at+n+1, len(s))
		}
		if ok {
			found(start, end)
		}
	}
}

// descriptorsEnd returns where the descriptors of a candidate end: at a comma outside of parentheses.
func descriptorsEnd(s string) int {
	inside := false
	for i := range len(s) {
		switch {
		case s[i] == '(':
			inside = true
		case s[i] == ')':
			inside = false
		case s[i] == ',' && !inside:
			return i
		}
	}
	return len(s)
}

// validDescriptors is the descriptor parser: at most one width or density; a height only along with a width.
func validDescriptors(list string) bool {
	var width, density, height bool
	for d := range strings.FieldsFuncSeq(list, func(r rune) bool { return strings.ContainsRune(Space, r) }) {
		number, unit := d[:len(d)-1], d[len(d)-1]
		ok := false
		switch unit {
		case 'w':
			ok = !width && !density && isPositive(number)
			width = true
		case 'x':
			ok = !width && !density && !height && isDensity(number)
			density = true
		case 'h':
			ok = !height && !density && isPositive(number)
			height = true
		}
		if !ok {
			return false
		}
	}
	return !height || width
}

// isPositive reports whether s is a valid non-negative integer (2.3.4.2) other than zero.
func isPositive(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == "" && strings.Trim(s, "0") != ""
}

// isDensity reports whether s is a valid floating-point number (2.3.4.3) that is not negative.
func isDensity(s string) bool {
	if s == "" || strings.Trim(s, "0123456789.eE+-") != "" || s[0] == '+' || strings.HasSuffix(s, ".") ||
		strings.Contains(strings.ToLower(s), ".e") {
		return false
	}
	f, err := strconv.ParseFloat(s, 64)
	return err == nil && f >= 0
}

// inCandidate writes a URL for a candidate, whose first and last byte cannot be a comma.
func inCandidate(u string) string {
	if strings.HasPrefix(u, ",") {
		u = "%2C" + u[1:]
	}
	if strings.HasSuffix(u, ",") {
		u = u[:len(u)-1] + "%2C"
	}
	return u
}

// RefreshURL finds the URL that a refresh names (HTML Standard 4.2.5.3, shared declarative refresh steps). Named is
// whether "url=" precedes it; ok is false if the value is not valid, or names none, which asks to load the page again.
func RefreshURL(s string) (start, end int, named, ok bool) {
	at := skip(s, 0, Space)
	digits := skip(s, at, "0123456789")
	if digits == at && !strings.HasPrefix(s[at:], ".") {
		return 0, 0, false, false // no time
	}
	at = skip(s, digits, "0123456789.")
	if at == len(s) || !strings.ContainsRune(";,"+Space, rune(s[at])) {
		return 0, 0, false, false
	}
	at = skip(s, at, Space)
	if at < len(s) && (s[at] == ';' || s[at] == ',') {
		at++
	}
	at = skip(s, at, Space)
	if at == len(s) {
		return 0, 0, false, false
	}
	if behind, is := urlSign(s, at); is {
		at, named = behind, true
	} else if s[at]|0x20 == 'u' {
		return at, len(s), false, true // no "url=" after all: a relative URL that begins with a "u"
	}
	end = len(s)
	if at < len(s) && (s[at] == '"' || s[at] == '\'') {
		at++
		if n := strings.IndexByte(s[at:], s[at-1]); n >= 0 {
			end = at + n
		}
		named = true // the quote stands before it
	}
	return at, end, named, true
}

// urlSign returns what is behind "url=" at i, with white space around the sign.
func urlSign(s string, i int) (behind int, ok bool) {
	const word = "url"
	if len(s)-i < len(word) || !strings.EqualFold(s[i:i+len(word)], word) {
		return 0, false
	}
	i = skip(s, i+len(word), Space)
	if i == len(s) || s[i] != '=' {
		return 0, false
	}
	return skip(s, i+1, Space), true
}

// skip returns where, from i on, the first byte stands that is none of those.
func skip(s string, i int, these string) int {
	return len(s) - len(strings.TrimLeft(s[i:], these))
}

// inRefresh writes a URL for a refresh, where a quote would end it.
func inRefresh(u string, named bool) string {
	u = strings.ReplaceAll(strings.ReplaceAll(u, `"`, "%22"), "'", "%27")
	if !named {
		u = "url=" + u
	}
	return u
}
