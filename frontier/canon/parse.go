package canon

import (
	"bytes"
	"strings"
)

const shortURL = 512 // bytes of a URL that is put together on the stack; few are longer

// parse is the basic URL parser (URL Standard 4.4) for http and https. For these two schemes every state is entered at
// most once, in a fixed order.
func parse(raw string, base URL) (URL, error) {
	u, e := parseTrimmed(trim(raw), base)
	if e != nil {
		e.URL = excerpt(raw)
		return URL{}, e
	}
	return u, nil
}

func parseTrimmed(s string, base URL) (URL, *Error) {
	if i := strings.IndexByte(s, '#'); i >= 0 {
		s = s[:i]
	}
	long := len(s) > maxInput
	if long {
		s = s[:maxInput] // the scheme may still be the better reason, such as data:
	}
	s = stripBreaks(s)
	scheme, rest, ok := cutScheme(s)
	if ok {
		scheme = webScheme(scheme)
	}
	switch {
	case ok && scheme == "":
		return URL{}, &Error{Reason: Scheme}
	case long:
		return URL{}, &Error{Reason: TooLong}
	case ok && scheme != base.Scheme():
		return absolute(scheme, rest, base)
	case base.IsZero():
		return URL{}, &Error{Reason: Malformed, Cause: errNoScheme}
	}
	// Special relative or authority state: "http:x" is relative to a base with the same scheme.
	return relative(rest, base)
}

// relative reads the part after the scheme, or a reference without one. Relative state and relative slash state.
func relative(s string, base URL) (URL, *Error) {
	var stack [shortURL]byte
	b := stack[:0]
	switch {
	case s == "":
		return base, nil
	case s[0] == '?':
		b = append(b, base.fetch[:base.root+len(base.Path())]...)
		return seal(appendQuery(b, s), base.root, base.auth)
	case isSlash(s[0]) && len(s) > 1 && isSlash(s[1]):
		return absolute(base.Scheme(), s, base)
	case isSlash(s[0]):
		b = append(b, base.fetch[:base.root]...)
		return seal(appendTarget(b, base.root, s[1:]), base.root, base.auth)
	}
	dir := strings.LastIndexByte(base.Path(), '/')
	b = append(b, base.fetch[:base.root+dir]...)
	return seal(appendTarget(b, base.root, s), base.root, base.auth)
}

// absolute reads host, port, path and query from s, after any number of slashes of either kind (special authority
// ignore slashes state). It does not parse a site that is spelt like the base's.
func absolute(scheme, s string, base URL) (URL, *Error) {
	for s != "" && isSlash(s[0]) {
		s = s[1:]
	}
	end := 0
	for end < len(s) && s[end] != '?' && !isSlash(s[end]) {
		end++
	}
	site, target := s[:end], s[end:]
	if i := strings.LastIndexByte(site, '@'); i >= 0 {
		site = site[i+1:]
	}
	if target != "" && target[0] != '?' {
		target = target[1:]
	}

	var stack [shortURL]byte
	b := stack[:0]
	if scheme == base.Scheme() && site == base.fetch[len(scheme)+len("://"):base.root] {
		b = append(b, base.fetch[:base.root]...)
		return seal(appendTarget(b, base.root, target), base.root, base.auth)
	}
	b = append(b, scheme...)
	b = append(b, "://"...)
	b, e := appendSite(b, scheme, site)
	if e != nil {
		return URL{}, e
	}
	root := len(b)
	return seal(appendTarget(b, root, target), root, Authority{})
}

// seal makes the URL of its finished fetch spelling. A zero auth is taken from b.
func seal(b []byte, root int, auth Authority) (URL, *Error) {
	if len(b) > MaxLength {
		return URL{}, &Error{Reason: TooLong}
	}
	fetch := string(b)
	if auth.IsZero() {
		auth = newAuthority(fetch[:root])
	}
	return URL{fetch: fetch, key: keyOf(fetch, root), auth: auth, root: root}, nil
}

// trim removes leading and trailing C0 controls and spaces (4.4 step 1).
func trim(s string) string {
	for s != "" && s[0] <= ' ' {
		s = s[1:]
	}
	for s != "" && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// stripBreaks removes all tabs and line breaks (4.4 step 3).
func stripBreaks(s string) string {
	if strings.IndexByte(s, '\n') < 0 && strings.IndexByte(s, '\t') < 0 && strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
}

// cutScheme splits s after the colon of its scheme, if it has one (scheme start state and scheme state).
func cutScheme(s string) (scheme, rest string, ok bool) {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return s[:i], s[i+1:], true
		default:
			return "", s, false
		}
	}
	return "", s, false
}

// webScheme returns "http" or "https" for an ASCII scheme in any case, else "".
func webScheme(s string) string {
	switch {
	case strings.EqualFold(s, "https"):
		return "https"
	case strings.EqualFold(s, "http"):
		return "http"
	}
	return ""
}

// Classes of bytes. The percent-encode sets are those of URL Standard 1.3.
const (
	encodeInPath  = 1 << iota // in the path percent-encode set
	encodeInQuery             // in the special-query percent-encode set
	slash                     // ends a path segment: "/" and, since the schemes are special, "\"
	unreserved                // RFC 3986 2.3
	hex                       // a hexadecimal digit
	verbatim                  // unchanged anywhere after the host, except dots and separators
	domain                    // ASCII except forbidden domain code points (URL Standard 3.2)
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

// appendTarget appends path and query to b, whose bytes from root on are the path so far ("" or "/a/b"). s begins after
// a slash, and its query, if any, at the first "?".
func appendTarget(b []byte, root int, s string) []byte {
	query := ""
	if i := strings.IndexByte(s, '?'); i >= 0 {
		s, query = s[:i], s[i:]
	}
	return appendQuery(appendPath(b, root, s), query)
}

// appendPath is the path state of URL Standard 4.4. The list of segments is "/" + segment each, so that removing the
// last one is a cut at the last slash.
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

// appendEncoded appends s with the bytes of the set percent-encoded. For text that equals the Standard's encoding by
// code points; bytes that are not UTF-8 are encoded each.
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
