package audit

import (
	"errors"
	"net"
	"net/netip"
	"strings"

	"curtsy/frontier/canon"
)

// place is where a URL leads: whom to ask, and for what.
type place struct {
	authority string // scheme://host[:port], see Exchange.Authority
	target    string // path and query, octet by octet as written
	key       string // the same for all spellings of a URL: a Location and the request that follows it may differ
}

// locate reads an http or https URL by the URL Standard (frontier/canon), as browsers and crawlers do. What the audit
// has of its own, so as not to share a mistake with the crawl, is the reading of robots.txt and the arithmetic of
// pauses. A second reading of URLs would be wrong about some, and accuse who asked for them: net/url, for one, cannot
// read "/100%". Nor can a wrong reading hide anything, for what is judged is what the request line asks for.
//
// What the Standard cannot read either, but names a host all the same, is split as RFC 3986 (appendix B) does, so that
// what was asked for there is judged. The rest is an error, and whoever meets it has to say so.
func locate(uri string) (place, error) {
	if len(uri) > maxURI {
		return place{}, errLongURI
	}
	u, err := canon.Parse(uri)
	if err == nil {
		return place{u.Scheme() + "://" + u.Authority().HostPort(), target(uri, u), u.Key()}, nil
	}
	if p, ok := split(uri); ok {
		return p, nil
	}
	return place{}, err
}

// maxURI is the longest URL that is read; longer ones are findings. canon.MaxLength is what this crawler asks for.
const maxURI = 32 << 10

var errLongURI = errors.New("it is longer than 32 KiB")

// target returns path and query of u as written in uri, and as the Standard reads them where they cannot be told from the
// rest.
func target(uri string, u canon.URL) string {
	p, ok := split(uri)
	if !ok || !strings.HasPrefix(p.target, "/") {
		return u.RequestURI()
	}
	return p.target
}

// split takes a URL apart as it is written.
func split(uri string) (place, bool) {
	uri, _, _ = strings.Cut(uri, "#")
	scheme, after, ok := strings.Cut(uri, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return place{}, false
	}
	host, target := after, "/"
	if i := strings.IndexAny(after, `/?\`); i >= 0 {
		if host, target = after[:i], after[i:]; target[0] == '?' {
			target = "/" + target
		}
	}
	host = strings.ToLower(host[strings.LastIndexByte(host, '@')+1:])
	if name, port, err := net.SplitHostPort(host); err == nil {
		if name = strings.TrimSuffix(name, "."); strings.Contains(name, ":") {
			name = "[" + name + "]"
		}
		if host = name; port != "" && port != defaultPort[scheme] {
			host += ":" + port
		}
	}
	host = strings.TrimSuffix(host, ".")
	if host == "" || len(host) > maxHost { // what is kept of each host shall be bounded
		return place{}, false
	}
	authority := scheme + "://" + host
	return place{authority, target, authority + target}, true
}

// maxHost is the longest name with its port, in octets: no name in the DNS is longer.
const maxHost = 255 + len(":65535")

var defaultPort = map[string]string{"http": "80", "https": "443"}

// asked is where e's request led: what its request line asks for, at the host of its URL.
func (e *Exchange) asked() place {
	p, err := locate(e.Authority + e.Target)
	if err != nil || p.authority != e.Authority { // "*", or octets that make no URL
		return place{e.Authority, e.Target, e.Authority + e.Target}
	}
	return p
}

// isRobots reports whether a place is that of a robots.txt, to the octet (RFC 9309 2.3): "/robots.txt?" and
// "/x/../robots.txt" are pages, and what they give replaces no rules.
func (p place) isRobots() bool { return p.target == robotsPath }

// readsRobots reports whether a URL is one of robots.txt in some spelling, so that its body may be wanted: what was asked
// for, the request line says.
func (p place) readsRobots() bool { return p.isRobots() || p.key == p.authority+robotsPath }

const robotsPath = "/robots.txt"

// authorityOf returns the authority of a URL as it is written in results; "" when it cannot be read, which is said where
// its record is read.
func authorityOf(uri string) string {
	p, _ := locate(uri)
	return p.authority
}

// resolve returns where a Location leads from a URL.
func resolve(base, location string) (place, error) {
	if len(location) > maxURI || len(base) > maxURI {
		return place{}, errLongURI
	}
	from, err := canon.Parse(base)
	if err != nil { // then nothing but a whole URL can be resolved
		return locate(location)
	}
	u, err := from.Resolve(location)
	if err != nil {
		return place{}, err
	}
	return place{u.Scheme() + "://" + u.Authority().HostPort(), u.RequestURI(), u.Key()}, nil
}

// isHTTP reports whether a URL is one of http or https, whatever else is wrong with it.
func isHTTP(uri string) bool {
	scheme, _, ok := strings.Cut(uri, ":")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// HostPort returns host and port of an authority as results name it (Exchange.Authority).
func HostPort(authority string) (host, port string) {
	scheme, host, _ := strings.Cut(authority, "://")
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		return host[:i], host[i+1:]
	}
	return host, defaultPort[scheme]
}

// loopback reports whether an authority is this machine itself, by its name.
func loopback(authority string) bool {
	host, _ := HostPort(authority)
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.IsLoopback()
}
