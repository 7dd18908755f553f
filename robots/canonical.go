package robots

import "strings"

// What an octet may be. The letters of RFC 3986 2.2 and 2.3.
const (
	inToken    = 1 << iota // product token, RFC 9309 2.2.1
	unreserved             // RFC 3986 2.3
	stands                 // stands in a canonical target as it is: unreserved, or reserved but none of "*", "$", "#"
	control                // not in the grammar of RFC 9309 2.2: below space, and not a tab
)

// octets classifies each octet by the constants above.
var octets = octetClasses()

func octetClasses() (t [256]uint8) {
	for c := range t {
		switch c := byte(c); {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '-', c == '_':
			t[c] = inToken | unreserved | stands
		case '0' <= c && c <= '9', c == '.', c == '~':
			t[c] = unreserved | stands
		case strings.IndexByte(":/?[]@!&'()+,;=", c) >= 0:
			t[c] = stands
		case c < ' ' && c != '\t':
			t[c] = control
		}
	}
	return t
}

// hasControl reports whether a value holds an octet that makes its line invalid (RFC 9309 3, "Invalid characters").
func hasControl(s string) bool {
	for i := 0; i < len(s); i++ {
		if octets[s[i]]&control != 0 {
			return true
		}
	}
	return false
}

// canonicalTarget returns the spelling of a request target under which all equivalent ones are compared (RFC 9309
// 2.2.2): an escaped unreserved octet is decoded, other escapes are in upper case, and an octet that may not stand in
// a URI is escaped. Reserved octets are left as they are, escaped or not, because the two mean different
// resources; except that "*" and "$" are escaped (2.2.3), so that in a pattern those two can only be special.
//
// What is canonical already, as most targets are, is returned as it is. A fragment is no part of a request and is
// dropped. A target without a path has the path "/".
func canonicalTarget(target string) string {
	if target == "" || target[0] != '/' {
		target = "/" + target
	}
	for i := 0; i < len(target); i++ {
		if octets[target[i]]&stands != 0 {
			continue
		}
		if target[i] != '%' || !escapeStands(target[i:]) {
			target, _, _ = strings.Cut(target, "#")
			return string(appendCanonical(make([]byte, 0, len(target)+32), target, false))
		}
		i += 2
	}
	return target
}

// isCanonicalPattern reports whether the value of a rule, in which "*", and "$" at the end, are special, is spelled as
// appendCanonical spells it.
func isCanonicalPattern(value string) bool {
	for i := 0; i < len(value); i++ {
		c := value[i]
		if octets[c]&stands != 0 || c == '*' || c == '$' && i == len(value)-1 {
			continue
		}
		if c != '%' || !escapeStands(value[i:]) {
			return false
		}
		i += 2
	}
	return true
}

// escapeStands reports whether s begins with an escape that is canonical: upper case, and of no unreserved octet.
func escapeStands(s string) bool {
	c, ok := unescape(s)
	return ok && octets[c]&unreserved == 0 && s[1] < 'a' && s[2] < 'a'
}

// appendCanonical appends the canonical spelling of s, of a target or a pattern.
func appendCanonical(b []byte, s string, pattern bool) []byte {
	const hex = "0123456789ABCDEF"
	for i := 0; i < len(s); i++ {
		c := s[i]
		special := pattern && (c == '*' || c == '$' && i == len(s)-1)
		if octets[c]&stands != 0 || special {
			b = append(b, c)
			continue
		}
		if c == '%' {
			// A "%" that begins no escape is none of RFC 3986's and is escaped itself.
			if d, ok := unescape(s[i:]); ok {
				i += 2
				if c = d; octets[c]&unreserved != 0 {
					b = append(b, c)
					continue
				}
			}
		}
		b = append(b, '%', hex[c>>4], hex[c&15])
	}
	return b
}

// unescape returns the octet whose escape s begins with.
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
