package check

import (
	"strings"

	"curtsy/storage/plainly"
)

// mistyped is the scheme of a reference and the one that was meant, if it is one letter away from http or https, or two that
// changed places, and so was hardly meant; both empty for any other. No scheme of the IANA's registry is, but for shttp (RFC 2660).
func mistyped(ref string) (scheme, meant string) {
	scheme, rest, ok := strings.Cut(strings.TrimLeft(ref, " \t\n\f\r"), ":")
	scheme = strings.ToLower(scheme)
	if !ok || !strings.HasPrefix(rest, "/") || scheme == "shttp" {
		return "", ""
	}
	for _, meant = range []string{"http", "https"} {
		if plainly.Distance(scheme, meant) == 1 {
			return scheme, meant
		}
	}
	return "", ""
}
