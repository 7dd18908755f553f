package check

import "strings"

// mistyped is the scheme of a reference, if it is one letter away from http or https, or two that changed places, and so
// was hardly meant; empty for any other. No scheme of the IANA's registry is, but for shttp (RFC 2660).
func mistyped(ref string) string {
	scheme, rest, ok := strings.Cut(strings.TrimLeft(ref, " \t\n\f\r"), ":")
	scheme = strings.ToLower(scheme)
	if !ok || !strings.HasPrefix(rest, "/") || scheme == "shttp" {
		return ""
	}
	for _, meant := range []string{"http", "https"} {
		if scheme != meant && nearly(scheme, meant) {
			return scheme
		}
	}
	return ""
}

// nearly reports whether a and b differ by one letter more, less or other, or by two neighbours that changed places.
func nearly(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case a == "" || b == "":
		return len(a)+len(b) <= 1
	case a[1:] == b[1:] || a[1:] == b || a == b[1:]:
		return true
	}
	return len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
}
