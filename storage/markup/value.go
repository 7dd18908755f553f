package markup

import (
	"html"
	"strconv"
	"strings"
)

// decode decodes the character references in an attribute's value (HTML Standard 13.2.5.73).
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

// nextReference returns the place, length and meaning of the next character reference; length 0 without one.
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

// mapper maps places in a decoded value back to the source, in order. It parses the references again, since a table of
// them could be larger than the value.
type mapper struct {
	raw      string
	at, text int // after the last reference before the place
	next     int // where the next one begins
	n, width int // its length, and that of its meaning
	known    bool
}

// place maps a place in the text. One within a reference maps to its start, or if up its end.
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

// reference decodes the character reference at the start of s; n is 0 without one.
func reference(s string) (text string, n int) {
	numeric := strings.HasPrefix(s, "&#")
	end := 1
	if numeric {
		set := "0123456789"
		if end = 2; len(s) > 2 && s[2]|0x20 == 'x' {
			end, set = 3, "0123456789abcdefABCDEF"
		}
		end = skip(s, end, set)
	}
	for !numeric && end < len(s) && isAlnum(s[end]) {
		end++
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

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// Space is ASCII white space (Infra Standard 4.6).
const Space = " \t\n\f\r"

// IsSpace reports whether c is ASCII white space.
func IsSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' && c != '\v' }

// Strip trims the white space that HTML allows around a URL (HTML Standard 2.4.1).
func Strip(s string) string { return strings.Trim(s, Space) }

// Candidates calls found with the place of each URL in a srcset attribute, in order (HTML Standard 4.8.4.3.10, "parse a
// srcset attribute"), except those with invalid descriptors. A comma may be part of a URL. Unlike in the Standard, white
// space in parentheses splits; such a descriptor is invalid anyway.
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

// descriptorsEnd returns the end of a candidate's descriptors: a comma outside of parentheses.
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

// validDescriptors is the descriptor parser: at most one width or density; a height only with a width.
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

// isPositive reports whether s is a valid positive integer (2.3.4.2).
func isPositive(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == "" && strings.Trim(s, "0") != ""
}

// isDensity reports whether s is a valid non-negative floating-point number (2.3.4.3).
func isDensity(s string) bool {
	if s == "" || strings.Trim(s, "0123456789.eE+-") != "" || s[0] == '+' || strings.HasSuffix(s, ".") ||
		strings.Contains(strings.ToLower(s), ".e") {
		return false
	}
	f, err := strconv.ParseFloat(s, 64)
	return err == nil && f >= 0
}

// inCandidate escapes a URL for a candidate, which cannot begin or end with a comma.
func inCandidate(u string) string {
	if strings.HasPrefix(u, ",") {
		u = "%2C" + u[1:]
	}
	if strings.HasSuffix(u, ",") {
		u = u[:len(u)-1] + "%2C"
	}
	return u
}

// RefreshURL finds the URL of a refresh (HTML Standard 4.2.5.3, shared declarative refresh steps). named reports whether
// "url=" precedes it; ok is false for an invalid value, or one that reloads the page.
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
		return at, len(s), false, true // not "url=", but a relative URL that begins with "u"
	}
	end = len(s)
	if at < len(s) && (s[at] == '"' || s[at] == '\'') {
		at++
		if n := strings.IndexByte(s[at:], s[at-1]); n >= 0 {
			end = at + n
		}
		named = true // the quote precedes it
	}
	return at, end, named, true
}

// urlSign returns the place after "url=" at i, with white space around the sign.
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

// skip returns the place of the first byte from i on that is not one of these.
func skip(s string, i int, these string) int {
	return len(s) - len(strings.TrimLeft(s[i:], these))
}

// inRefresh escapes a URL for a refresh, in which a quote would end it.
func inRefresh(u string, named bool) string {
	u = strings.ReplaceAll(strings.ReplaceAll(u, `"`, "%22"), "'", "%27")
	if !named {
		u = "url=" + u
	}
	return u
}
