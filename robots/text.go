package robots

import (
	"bytes"
	"encoding/binary"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const byteOrderMark = "\xEF\xBB\xBF"

// textOf returns what is read of a body: UTF-8, or what ought to be, without what lies beyond MaxBody. RFC 9309 2.3
// asks for UTF-8; a file in UTF-16 is read as well, for otherwise every line of it would be none, and all would be
// allowed.
func textOf(body []byte) string {
	order := utf16Order(body)
	if order == nil {
		return string(cut(body, MaxBody))
	}
	head := body[:min(len(body), MaxBody)]
	text := make([]byte, 0, len(head))
	for i := 0; i+1 < len(head); i += 2 {
		r := rune(order.Uint16(head[i:]))
		if utf16.IsSurrogate(r) && i+3 < len(head) {
			if pair := utf16.DecodeRune(r, rune(order.Uint16(head[i+2:]))); pair != utf8.RuneError {
				r = pair
				i += 2
			}
		}
		text = utf8.AppendRune(text, r) // half a pair becomes U+FFFD
	}
	if len(body) > MaxBody { // a fetch reads one byte more, which does not show whether the line ends there
		text = text[:bytes.LastIndexAny(text, "\r\n")+1]
	}
	return string(bytes.TrimPrefix(text, []byte(byteOrderMark)))
}

// utf16Order tells a body in UTF-16 by its byte order mark or, without one, by its first two characters being ASCII;
// nil for any other.
func utf16Order(body []byte) binary.ByteOrder {
	if len(body) < 4 {
		return nil
	}
	low, high := body[0] != 0 && body[2] != 0, body[1] != 0 && body[3] != 0
	switch {
	case body[0] == 0xFE && body[1] == 0xFF, body[0] == 0 && body[2] == 0 && high:
		return binary.BigEndian
	case body[0] == 0xFF && body[1] == 0xFE, body[1] == 0 && body[3] == 0 && low:
		return binary.LittleEndian
	}
	return nil
}

// cut returns body without what lies beyond limit. A line that the limit divides is dropped whole: half a rule is
// another rule, and "Disallow: /" may be all that is left of "Disallow: /tmp/". A line whose end follows the limit is whole.
func cut(body []byte, limit int) []byte {
	if len(body) <= limit {
		return body
	}
	if end := body[limit]; end == '\r' || end == '\n' {
		return body[:limit]
	}
	return body[:bytes.LastIndexAny(body[:limit], "\r\n")+1]
}

// span is a part of a text, which is at most a few times MaxBody long.
type span struct{ from, to uint32 }

func (s span) in(text string) string { return text[s.from:s.to] }

func (s span) len() int { return int(s.to - s.from) }

// trim returns s without the white space at both ends: that of RFC 9309 2.2 (WS: space and tab), and the spaces of
// Unicode, which come with text that was copied from a page and which no path was meant to begin or end with.
func (s span) trim(text string) span {
	for s.from < s.to {
		n := blankAtStart(s.in(text))
		if n == 0 {
			break
		}
		s.from += n
	}
	for s.from < s.to {
		n := blankAtEnd(s.in(text))
		if n == 0 {
			break
		}
		s.to -= n
	}
	return s
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// blankAtStart returns how many octets the space is long that s, which is not empty, begins with; 0 for none.
func blankAtStart(s string) uint32 {
	if s[0] < utf8.RuneSelf {
		if isBlank(s[0]) {
			return 1
		}
		return 0
	}
	r, n := utf8.DecodeRuneInString(s)
	return widthOfSpace(r, n, s[0])
}

func blankAtEnd(s string) uint32 {
	last := s[len(s)-1]
	if last < utf8.RuneSelf {
		if isBlank(last) {
			return 1
		}
		return 0
	}
	r, n := utf8.DecodeLastRuneInString(s)
	return widthOfSpace(r, n, last)
}

func widthOfSpace(r rune, n int, octet byte) uint32 {
	if unicode.Is(unicode.Zs, r) || r == utf8.RuneError && n == 1 && octet == 0xA0 { // the no-break space of ISO 8859
		return uint32(n) //nolint:gosec // at most 4
	}
	return 0
}
