package audit

import (
	"net"
	"net/netip"
	"net/url"
	"path"
	"strings"
)

// place is where a URL leads: whom to ask, and for what.
type place struct {
	authority string // scheme://host[:port], see Exchange.Authority
	target    string // path and query, as written
}

// locate reads an http or https URL. It is not the crawler's own reading (frontier/canon), on purpose.
func locate(uri string) (place, bool) {
	if len(uri) > maxURI {
		return place{}, false
	}
	u, err := url.Parse(uri)
	if err != nil {
		return place{}, false
	}
	scheme := strings.ToLower(u.Scheme)
	if scheme != "http" && scheme != "https" || u.Hostname() == "" {
		return place{}, false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	port := u.Port()
	if len(host) > 255 || len(port) > 5 { // no name in the DNS is longer, and what is kept of each host shall be bounded
		return place{}, false
	}
	if port == "" || scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
	} else {
		host = net.JoinHostPort(host, port)
	}
	return place{scheme + "://" + host, target(uri)}, true
}

// maxURI is the longest URL that is read; longer ones are findings.
const maxURI = 32 << 10

// target returns path and query of a URL, octet by octet as written: net/url spells some of them anew.
func target(uri string) string {
	uri, _, _ = strings.Cut(uri, "#")
	_, after, ok := strings.Cut(uri, "://")
	if !ok {
		return "/"
	}
	i := strings.IndexAny(after, "/?\\")
	if i < 0 {
		return "/"
	}
	if after[i] == '?' {
		return "/" + after[i:]
	}
	return after[i:]
}

// key is what stands for a URL when it is looked for again: a redirect's Location and the request that follows it may
// spell it differently.
func (p place) key() string { return p.authority + spelled(p.target) }

// spelled writes escapes in upper case and what must be escaped as such, and leaves out dot segments.
func spelled(target string) string {
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, len(target)+8)
	for i := 0; i < len(target); i++ {
		switch c := target[i]; {
		case c == '%' && i+2 < len(target):
			b = append(b, strings.ToUpper(target[i:i+3])...)
			i += 2
		case c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' || c == '`':
			b = append(b, '%', digits[c>>4], digits[c&15])
		default:
			b = append(b, c)
		}
	}
	p, query, asked := strings.Cut(string(b), "?")
	if strings.Contains(p, "/.") {
		slash := strings.HasSuffix(p, "/")
		if p = path.Clean(p); slash && p != "/" {
			p += "/"
		}
	}
	if asked {
		p += "?" + query
	}
	return p
}

// resolve returns where a Location leads from a URL.
func resolve(base, location string) (string, bool) {
	if len(location) > maxURI || len(base) > maxURI {
		return "", false
	}
	u, err := url.Parse(base)
	if err != nil {
		return "", false
	}
	to, err := u.Parse(location)
	if err != nil {
		return "", false
	}
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	return to.String(), true
}

// loopback reports whether an authority is this machine itself, by its name.
func loopback(authority string) bool {
	_, host, _ := strings.Cut(authority, "://")
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.IsLoopback()
}
