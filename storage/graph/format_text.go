package graph

import "unicode/utf8"

// plainText appends s with what XML 1.0 cannot hold as percent escapes, and escapes what is markup in XML.
func plainText(b []byte, s string) []byte {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r < ' ', r >= 0x7f && r < 0xa0, r == utf8.RuneError && size == 1, r == 0x2028, r == 0x2029, r&0xfffe == 0xfffe:
			for _, c := range []byte(s[i : i+size]) {
				b = append(b, '%', hex[c>>4], hex[c&15])
			}
		case r == '&':
			b = append(b, "&amp;"...)
		case r == '<':
			b = append(b, "&lt;"...)
		case r == '>':
			b = append(b, "&gt;"...)
		case r == '"':
			b = append(b, "&quot;"...)
		default:
			b = append(b, s[i:i+size]...)
		}
		i += size
	}
	return b
}

const hex = "0123456789ABCDEF"
