package naive

import "strings"

// blanks are trimmed off fields and values: white space (RFC 9309 2.2, WS), and the spaces of Unicode.
var blanks = []string{
	" ", "\t", "\u00A0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007",
	"\u2008", "\u2009", "\u200A", "\u202F", "\u205F", "\u3000",
	"\xA0", // of ISO 8859, unless it ends a character
}

// narrow returns a body in UTF-16 as UTF-8, without its mark. It detects UTF-16 by the mark, or by two ASCII
// characters.
func narrow(body []byte) (text []byte, ok bool) {
	if len(body) < 4 {
		return nil, false
	}
	first := 0 // index of the high byte of two
	switch {
	case body[0] == 0xFE && body[1] == 0xFF:
	case body[0] == 0xFF && body[1] == 0xFE:
		first = 1
	case body[0] == 0 && body[1] != 0 && body[2] == 0 && body[3] != 0:
	case body[0] != 0 && body[1] == 0 && body[2] != 0 && body[3] == 0:
		first = 1
	default:
		return nil, false
	}
	var all []rune
	for i := 0; i+1 < len(body); i += 2 {
		c := rune(body[i+first])<<8 | rune(body[i+1-first])
		if n := len(all); n > 0 && all[n-1]>>10 == 0xD800>>10 && c>>10 == 0xDC00>>10 {
			all[n-1] = 0x10000 + (all[n-1]-0xD800)<<10 + c - 0xDC00
			continue
		}
		all = append(all, c)
	}
	if all[0] == 0xFEFF {
		all = all[1:]
	}
	return []byte(string(all)), true // a lone surrogate becomes U+FFFD
}

func trim(s string) string {
	for again := true; again; {
		again = false
		for _, b := range blanks {
			if strings.HasPrefix(s, b) {
				s, again = s[len(b):], true
			}
			if strings.HasSuffix(s, b) && (len(b) > 1 || b[0] < 0x80 || strings.HasSuffix(string([]rune(s)), "\uFFFD")) {
				s, again = s[:len(s)-len(b)], true
			}
		}
	}
	return s
}
