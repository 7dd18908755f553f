package markup

import (
	"html"
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
