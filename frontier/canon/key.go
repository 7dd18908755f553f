package canon

import "strings"

// keyOf returns the key of a fetch URL whose path begins at root (RFC 3986 6.2.2.1 and 6.2.2.2). It is the same
// string where nothing is to be done.
func keyOf(fetch string, root int) string {
	target := fetch[root:]
	if strings.IndexByte(target, '?') == len(target)-1 {
		fetch = fetch[:len(fetch)-1]
	}
	first := strings.IndexByte(fetch[root:], '%')
	if first < 0 {
		return fetch
	}
	var stack [shortURL]byte
	b := append(stack[:0], fetch[:root+first]...)
	for i := len(b); i < len(fetch); i++ {
		c, ok := Unescape(fetch[i:])
		switch {
		case !ok:
			b = append(b, fetch[i])
			continue
		case octets[c]&unreserved != 0 && !completes(b, c):
			b = append(b, c)
		default:
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
		i += 2
	}
	if string(b) == fetch {
		return fetch
	}
	return string(b)
}

// Unescape returns the byte that the percent-encoding at the start of s stands for.
func Unescape(s string) (c byte, ok bool) {
	if len(s) < 3 || s[0] != '%' || octets[s[1]]&octets[s[2]]&hex == 0 {
		return 0, false
	}
	return unhex(s[1])<<4 | unhex(s[2]), true
}

// completes reports whether c, appended to b as it is, would become part of an escape that b ends with the beginning
// of. Such a beginning is a stray "%" of the input, since the escapes in b are whole.
func completes(b []byte, c byte) bool {
	n := len(b) // at least scheme, host and slash
	return octets[c]&hex != 0 && (b[n-1] == '%' || b[n-2] == '%' && octets[b[n-1]]&hex != 0)
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
