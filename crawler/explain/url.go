package explain

import (
	"fmt"
	"regexp"

	"curtsy/frontier/canon"
)

// urlParts takes a URL reference apart (RFC 3986 appendix B).
var urlParts = regexp.MustCompile(`^(?s:(?:([^:/?#]+):)?(?://(?:([^/?#@]*)@)?([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?)$`)

var partNames = []string{"scheme", "user", "host", "path", "query", "fragment"}

// explainURL is a URL in its spellings, and what tells them apart.
func explainURL(written string, u canon.URL) URL {
	e := URL{
		Written: written, Fetch: u.String(), Key: u.Key(), Origin: u.Authority().Origin(), Domain: u.RegistrableDomain(),
		Target: u.RequestURI(), Changes: []string{},
	}
	e.Changes = append(e.Changes, changes("", written, e.Fetch)...)
	e.Changes = append(e.Changes, changes("key: ", e.Fetch, e.Key)...)
	return e
}

// changes says which parts of a URL became other ones.
func changes(prefix, from, to string) (all []string) {
	a, b := urlParts.FindStringSubmatch(from), urlParts.FindStringSubmatch(to)
	if a == nil || b == nil {
		if from != to {
			all = append(all, fmt.Sprintf("%s%s becomes %s", prefix, from, to))
		}
		return all
	}
	for i, name := range partNames {
		was, is := a[i+1], b[i+1]
		switch {
		case was == is:
		case was == "":
			all = append(all, fmt.Sprintf("%s%s %s added", prefix, name, is))
		case is == "":
			all = append(all, fmt.Sprintf("%s%s %s dropped", prefix, name, was))
		default:
			all = append(all, fmt.Sprintf("%s%s %s becomes %s", prefix, name, was, is))
		}
	}
	return all
}
