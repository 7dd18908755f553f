package format

import "unicode/utf8"

// plainText appends s with what a line of text or XML 1.0 cannot hold as percent escapes. With markup it escapes what means
// something to XML, too.
func plainText(b []byte, s string, markup bool) []byte {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r < ' ', r >= 0x7f && r < 0xa0, r == utf8.RuneError && size == 1, r == 0x2028, r == 0x2029, r&0xfffe == 0xfffe:
			for _, c := range []byte(s[i : i+size]) {
				b = append(b, '%', hex[c>>4], hex[c&15])
			}
		case markup && r == '&':
			b = append(b, "&amp;"...)
		case markup && r == '<':
			b = append(b, "&lt;"...)
		case markup && r == '>':
			b = append(b, "&gt;"...)
		case markup && r == '"':
			b = append(b, "&quot;"...)
		default:
			b = append(b, s[i:i+size]...)
		}
		i += size
	}
	return b
}

const hex = "0123456789ABCDEF"
