package robots

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const byteOrderMark = "\xEF\xBB\xBF"

// textOf returns the text of a body without the part beyond MaxBody. RFC 9309 2.3 requires UTF-8; UTF-16 is also read,
// for otherwise no line of it would count, and all would be allowed.
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

// utf16Order detects a body in UTF-16 by its byte order mark or, without one, by its first two characters being ASCII;
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

// cut returns body up to limit. A line that the limit divides is dropped whole: "Disallow: /" may be the rest of
// "Disallow: /tmp/". A line whose end follows the limit is whole.
func cut(body []byte, limit int) []byte {
	if len(body) <= limit {
		return body
	}
	if end := body[limit]; end == '\r' || end == '\n' {
		return body[:limit]
	}
	return body[:bytes.LastIndexAny(body[:limit], "\r\n")+1]
}

type span struct{ from, to uint32 }

func (s span) in(text string) string { return text[s.from:s.to] }

func (s span) len() int { return int(s.to - s.from) }

// trim returns s without the white space at both ends: that of RFC 9309 2.2 (WS: space and tab), and the spaces of
// Unicode, which come with text copied from a page and never belong to a path.
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

// blankAtStart returns the length of the space at the start of s, which is not empty; 0 for none.
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

// Classes of bytes, by RFC 3986 2.2 and 2.3.
const (
	inToken     = 1 << iota // product token, RFC 9309 2.2.1
	unreserved              // RFC 3986 2.3
	literal                 // unchanged in a canonical target: unreserved, or reserved except "*", "$", "#"
	control                 // not in the grammar of RFC 9309 2.2: below space, and not a tab
	plain1996               // unchanged in the spelling of the 1996 draft, also "*" and "$"
	decoded1996             // unchanged there even if it was escaped, except "/"
)

var octets = octetClasses()

func octetClasses() (t [256]uint8) {
	for c := range t {
		switch c := byte(c); {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '-', c == '_':
			t[c] = inToken | unreserved | literal | plain1996 | decoded1996
		case '0' <= c && c <= '9', c == '.', c == '~':
			t[c] = unreserved | literal | plain1996 | decoded1996
		case c == '/':
			t[c] = literal | plain1996
		case strings.IndexByte(":?[]@!&'()+,;=", c) >= 0:
			t[c] = literal | plain1996 | decoded1996
		case c == '*' || c == '$':
			t[c] = plain1996 | decoded1996
		case c < ' ' && c != '\t':
			t[c] = control
		}
	}
	return t
}

// spelling is how bytes are written for comparison, so that equivalent ones are equal.
type spelling struct {
	plain   uint8 // unchanged bytes
	decoded uint8 // decoded bytes, if escaped; all others are escaped, in upper case
	special bool  // "*", and "$" at the end, are special
}

// spelling returns that of patterns or of targets. RFC 9309 2.2.2 decodes the unreserved bytes of RFC 3986, and keeps
// reserved ones and their escapes apart. The 1996 draft decodes all but "/" (3.2.2); ambiguous bytes, like "%", are
// escaped again. In 1994 bytes are compared as they are, without a spelling.
func (s Standard) spelling(pattern bool) spelling {
	if s == Draft1996 {
		return spelling{plain: plain1996, decoded: decoded1996}
	}
	return spelling{plain: literal, decoded: unreserved, special: pattern}
}

// hasControl reports whether a value holds a byte that makes its line invalid (RFC 9309 3, "Invalid characters").
func hasControl(s string) bool {
	for i := 0; i < len(s); i++ {
		if octets[s[i]]&control != 0 {
			return true
		}
	}
	return false
}

// canonicalTarget returns the spelling of a request target in which all equivalent ones are compared (RFC 9309 2.2.2):
// an escaped unreserved byte is decoded, other escapes are in upper case, and a byte that a URI must not have is
// escaped. Reserved bytes are unchanged, escaped or not, because the two mean different resources; except that "*" and
// "$" are escaped (2.2.3), so that in a pattern those two can only be special.
//
// A canonical target, as most are, is returned unchanged. A fragment is not part of a request and is dropped. A target
// without a path has the path "/". The older standards have their own spellings.
func canonicalTarget(target string, s Standard) string {
	if target == "" || target[0] != '/' {
		target = "/" + target
	}
	if s == Std1994 {
		target, _, _ = strings.Cut(target, "#")
		return target
	}
	how := s.spelling(false)
	if how.has(target) {
		return target
	}
	target, _, _ = strings.Cut(target, "#")
	return string(how.append(make([]byte, 0, len(target)+32), target))
}

// isCanonicalPattern reports whether the value of a rule is valid and spelled as by appendPattern.
func isCanonicalPattern(value string, s Standard) bool {
	if s == Std1994 {
		return !hasControl(value)
	}
	return s.spelling(true).has(value)
}

// appendPattern appends the canonical spelling of the value of a rule, in which "*", and "$" at the end, are special.
func appendPattern(b []byte, value string, s Standard) []byte {
	if s == Std1994 {
		return append(b, value...)
	}
	return s.spelling(true).append(b, value)
}

func (how spelling) has(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if octets[c]&how.plain != 0 || how.special && (c == '*' || c == '$' && i == len(s)-1) {
			continue
		}
		if e, ok := unescape(s[i:]); c != '%' || !ok || octets[e]&how.decoded != 0 || s[i+1] >= 'a' || s[i+2] >= 'a' {
			return false
		}
		i += 2
	}
	return true
}

func (how spelling) append(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	for i := 0; i < len(s); i++ {
		c := s[i]
		if octets[c]&how.plain != 0 || how.special && (c == '*' || c == '$' && i == len(s)-1) {
			b = append(b, c)
			continue
		}
		if c == '%' {
			// A "%" that begins no escape is escaped itself.
			if d, ok := unescape(s[i:]); ok {
				i += 2
				if c = d; octets[c]&how.decoded != 0 {
					b = append(b, c)
					continue
				}
			}
		}
		b = append(b, '%', hex[c>>4], hex[c&15])
	}
	return b
}

// unescape returns the byte of the escape at the start of s, whose first byte is "%".
func unescape(s string) (c byte, ok bool) {
	if len(s) < 3 {
		return 0, false
	}
	hi, lo := hexDigit(s[1]), hexDigit(s[2])
	return hi<<4 | lo, hi < 16 && lo < 16
}

// hexDigit returns the value of a hexadecimal digit, or 255.
func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}
