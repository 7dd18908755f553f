package cdxj

import (
	"fmt"
	"slices"
	"strings"

	"curtsy/frontier/canon"
)

// Key returns the sort key of a URL as warcio writes it: the host's labels in reverse, joined by commas, the port if it
// is not the scheme's own, ")", the path, and the query with its arguments sorted, all in lower case; neither scheme
// nor "www." in front of the host is kept. The labels of an IPv4 address are turned round like those of any other host
// (127.0.0.1 is "1,0,0,127)/"), as warcio has it and pywb's library surt has not. What is no web address is its own
// key. A key holds no white space and no control character, whatever it was made of.
func Key(url string) string {
	if !strings.HasPrefix(url, "https:") && !strings.HasPrefix(url, "http:") {
		return escaped(url)
	}
	url = withoutWWW(url)
	u, err := canon.Parse(strings.ToLower(url))
	if err != nil {
		return escaped(url)
	}
	labels := strings.Split(u.Host(), ".")
	slices.Reverse(labels)
	key := strings.Join(labels, ",")
	if a := u.Authority(); strings.HasSuffix(a.HostPort(), ":"+a.Port()) {
		key += ":" + a.Port()
	}
	key += ")" + u.Path()
	if query := u.Query(); query != "" {
		arguments := strings.Split(query, "&")
		slices.Sort(arguments)
		key += "?" + strings.Join(arguments, "&")
	}
	return escaped(key)
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

// escaped writes white space and control characters, which would end the key or its line, as a URL writes them. An
// empty key is "-", as in the older CDX files.
func escaped(key string) string {
	if key == "" {
		return "-"
	}
	if strings.IndexFunc(key, splits) < 0 {
		return key
	}
	var b strings.Builder
	for _, r := range key {
		if splits(r) {
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, "%%%02x", c)
			}
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// splits reports whether some reader might take r for the end of a word or a line.
func splits(r rune) bool {
	return r <= ' ' || 0x7f <= r && r <= 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff
}
