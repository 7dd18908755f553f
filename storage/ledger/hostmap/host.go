package hostmap

import (
	"strings"
)

// Host is the host of a URL, as the map has it: without scheme, user, port and path, and in lower case. It reads any
// text, in the same simple way as verifiers in other languages can: what stands between the first :// and the next of
// / ? # \ or the end; of that, what is behind the last @; of that, what is before a colon that only digits follow. A
// text without :// has the empty host.
func Host(url string) string {
	_, host, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(host, `/?#\`); i >= 0 {
		host = host[:i]
	}
	host = host[strings.LastIndexByte(host, '@')+1:]
	if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.Trim(host[i+1:], "0123456789") == "" {
		host = host[:i]
	}
	return lower(host)
}

// lower is s with ASCII letters in lower case. Others stay as they are: canonical hosts have none.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
