package canon

import "strings"

// shortURL is the length up to which a URL is put together on the stack. Few are longer.
const shortURL = 512

// parse is the basic URL parser (URL Standard 4.4) as far as its result is http or https. The state machine is
// unrolled: for these two schemes every state is entered at most once, in a fixed order.
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
		s = s[:maxInput] // the scheme may still be the better reason: think of data:
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

// relative reads what follows the scheme, or all of a reference without one. Relative state and relative slash state.
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

// absolute reads host, port, path and query from s. The slashes before the host may be of any number and kind
// (special authority ignore slashes state). A site that is spelt like the base's is not read again.
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
	if scheme == base.Scheme() && site == base.site() {
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

// webScheme returns an ASCII scheme in lower case if it is one of ours, else "".
func webScheme(s string) string {
	switch {
	case strings.EqualFold(s, "https"):
		return "https"
	case strings.EqualFold(s, "http"):
		return "http"
	}
	return ""
}
