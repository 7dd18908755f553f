package cdxj

import (
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"curtsy/frontier/canon"
)

// Key returns the sort key of a URL as warcio writes it: the host's labels in reverse, joined by commas, the port if it
// is not the scheme's own, ")", the path, and the query with its arguments sorted, all in lower case; neither scheme
// nor "www." in front of the host is kept. The labels of an IPv4 address are turned round like those of any other host
// (127.0.0.1 is "1,0,0,127)/"), as warcio has it and pywb's library surt has not. A URL that is no web address is its
// own key. A key holds no white space and no control character, whatever it was made of.
func Key(url string) string { return string(appendKey(nil, url)) }

func appendKey(b []byte, url string) []byte {
	if !strings.HasPrefix(url, "https:") && !strings.HasPrefix(url, "http:") {
		return appendEscaped(b, url)
	}
	url = withoutWWW(url)
	u, err := canon.Parse(strings.ToLower(url))
	if err != nil {
		return appendEscaped(b, url)
	}
	for host := u.Host(); ; {
		dot := strings.LastIndexByte(host, '.')
		b = append(b, host[dot+1:]...)
		if dot < 0 {
			break
		}
		b, host = append(b, ','), host[:dot]
	}
	b = append(b, strings.TrimPrefix(u.Authority().HostPort(), u.Host())...) // the port, if it is not the scheme's own
	b = appendWord(append(b, ')'), u.Path())
	if query := u.Query(); query != "" {
		b = appendQuery(append(b, '?'), query)
	}
	return b
}

// appendQuery appends the arguments of a query, sorted.
func appendQuery(b []byte, query string) []byte {
	var room [16]string
	arguments := room[:0]
	for argument := range strings.SplitSeq(query, "&") {
		arguments = append(arguments, argument)
	}
	slices.Sort(arguments)
	for i, argument := range arguments {
		if i > 0 {
			b = append(b, '&')
		}
		b = appendWord(b, argument)
	}
	return b
}

// withoutWWW cuts "www." and its numbered sisters ("www2.") off the host of a URL.
func withoutWWW(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return url
	}
	host, ok := strings.CutPrefix(rest, "www")
	if !ok {
		return url
	}
	if host, ok = strings.CutPrefix(strings.TrimLeft(host, "0123456789"), "."); !ok {
		return url
	}
	return scheme + "://" + host
}

// appendEscaped appends a key; one that is empty is "-", as in the older CDX files.
func appendEscaped(b []byte, key string) []byte {
	if key == "" {
		return append(b, '-')
	}
	return appendWord(b, key)
}

// appendWord appends s with white space and control characters, which would end the key or its line, as a URL writes
// them.
func appendWord(b []byte, s string) []byte {
	if whole(s) {
		return append(b, s...)
	}
	for _, r := range s {
		if !splits(r) {
			b = utf8.AppendRune(b, r)
			continue
		}
		for _, c := range []byte(string(r)) {
			b = hex.AppendEncode(append(b, '%'), []byte{c})
		}
	}
	return b
}

// whole reports whether nothing in s ends a word or a line.
func whole(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f {
			return strings.IndexFunc(s, splits) < 0
		}
	}
	return true
}

// splits reports whether some reader might take r for the end of a word or a line.
func splits(r rune) bool {
	return r <= ' ' || 0x7f <= r && r <= 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff
}
