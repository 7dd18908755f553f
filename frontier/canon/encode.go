package canon

import (
	"bytes"
	"strings"
)

// What an octet is, as bits. The percent-encode sets are those of URL Standard 1.3.
const (
	encodeInPath  = 1 << iota // in the path percent-encode set
	encodeInQuery             // in the special-query percent-encode set
	slash                     // ends a path segment: "/" and, since our schemes are special, "\"
	unreserved                // RFC 3986 2.3
	hex                       // a hexadecimal digit
	verbatim                  // stays as it is wherever it stands behind the host, but for dots and what separates
	domain                    // ASCII that may stand in a domain: no forbidden domain code point (URL Standard 3.2)
)

var octets = classify()

func classify() (t [256]uint8) {
	const query = " \"#<>" // and C0 controls, and all above "~"
	for i := range t {
		c := byte(i)
		control := c < ' ' || c > '~'
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		digit := '0' <= c && c <= '9'
		in := func(set string) bool { return strings.IndexByte(set, c) >= 0 }
		for bit, ok := range map[uint8]bool{
			encodeInPath:  control || in(query+"?^`{}"),
			encodeInQuery: control || in(query+"'"),
			slash:         in(`/\`),
			unreserved:    letter || digit || in("-._~"),
			verbatim:      letter || digit || in("-_~!$&()*+,;=@"),
			hex:           digit || letter && c|0x20 <= 'f',
			domain:        !control && !in(" #/:<>?@[\\]^|%"),
		} {
			if ok {
				t[c] |= bit
			}
		}
	}
	return t
}

func isSlash(c byte) bool { return octets[c]&slash != 0 }

const upperHex = "0123456789ABCDEF"

// appendTarget appends path and query to b, whose octets from root on are the path so far ("" or "/a/b"). s begins
// behind a slash, and its query, if any, at the first "?".
func appendTarget(b []byte, root int, s string) []byte {
	query := ""
	if i := strings.IndexByte(s, '?'); i >= 0 {
		s, query = s[:i], s[i:]
	}
	return appendQuery(appendPath(b, root, s), query)
}

// appendPath is the path state of URL Standard 4.4. The Standard's list of segments is held as "/" + segment each,
// so that removing the last one is a cut at the last slash.
func appendPath(b []byte, root int, s string) []byte {
	for {
		end := 0
		for end < len(s) && !isSlash(s[end]) {
			end++
		}
		segment, last := s[:end], end == len(s)
		switch dots(segment) {
		case 0:
			b = appendEncoded(append(b, '/'), segment, encodeInPath)
		case 2:
			b = b[:root+max(0, bytes.LastIndexByte(b[root:], '/'))]
			fallthrough
		case 1:
			if last {
				b = append(b, '/')
			}
		}
		if last {
			return b
		}
		s = s[end+1:]
	}
}

// appendQuery appends s, which is "" or begins with "?".
func appendQuery(b []byte, s string) []byte { return appendEncoded(b, s, encodeInQuery) }

// appendEncoded appends s, the octets of the set percent-encoded. Octet by octet, which for text is the same as the
// Standard's code point by code point, and leaves what is not UTF-8 as it is.
func appendEncoded(b []byte, s string, set uint8) []byte {
	start := 0
	for i := range len(s) {
		c := s[i]
		if octets[c]&set == 0 {
			continue
		}
		b = append(b, s[start:i]...)
		b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		start = i + 1
	}
	return append(b, s[start:]...)
}

// dots returns 1 for a single-dot segment, 2 for a double-dot segment (URL Standard 4.1), else 0. The escape
// %2e counts as a dot.
func dots(segment string) int {
	n := 0
	for segment != "" {
		switch {
		case segment[0] == '.':
			segment = segment[1:]
		case len(segment) >= 3 && segment[0] == '%' && segment[1] == '2' && segment[2]|0x20 == 'e':
			segment = segment[3:]
		default:
			return 0
		}
		if n++; n > 2 {
			return 0
		}
	}
	return n
}
