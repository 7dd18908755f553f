package canon

import "strings"

// Most links of a site are plain: a path on it, and perhaps a query, of octets that stay as they are. For these the
// parser's work comes down to one look at each octet.

// resolvePlain is Resolve for a reference that is plain: "/path", "path" and what begins with the site of u as u spells it,
// without escapes, dot segments, colons, and anything that would be trimmed, removed or encoded. ok is false for all others.
func (u URL) resolvePlain(ref string) (v URL, ok bool) {
	if ref == "" || u.IsZero() {
		return URL{}, false
	}
	before := u.fetch[:u.root]
	target, ofSite := strings.CutPrefix(ref, before)
	switch {
	case ofSite && strings.HasPrefix(target, "/"):
	case strings.HasPrefix(ref, "//"):
		return URL{}, false // it begins with a host
	default:
		target = ref
	}
	if !staysAsPath(target) {
		return URL{}, false
	}
	if target[0] != '/' {
		before = u.fetch[:u.root+strings.LastIndexByte(u.Path(), '/')+1]
	}
	if len(before)+len(target) > MaxLength {
		return URL{}, false
	}
	fetch := before + target
	return URL{fetch: fetch, key: keyOf(fetch, u.root), auth: u.auth, root: u.root}, true
}

// staysAsPath reports whether a path, and a query behind it, stays as it is.
func staysAsPath(s string) bool {
	segment := true // begins here
	for i := range len(s) {
		switch c := s[i]; {
		case octets[c]&verbatim != 0:
			segment = false
		case c == '/':
			segment = true
		case c == '.' && !segment:
		case c == '?':
			return i > 0 && staysAsQuery(s[i+1:])
		default:
			return false
		}
	}
	return true
}

// staysAsQuery is staysAsPath for what stands behind the question mark. An empty query is not in the key.
func staysAsQuery(s string) bool {
	for i := range len(s) {
		if c := s[i]; octets[c]&verbatim == 0 && c != '/' && c != '.' && c != '?' {
			return false
		}
	}
	return s != ""
}
