package evidence

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"curtsy/frontier/canon"
)

// URL is the destination of a request: its authority and target.
type URL struct {
	Authority string // scheme://host[:port], in lower case, the port left out when it is the scheme's own
	Target    string // path and query, byte by byte as written
	Key       string // the same for all spellings of a URL: a Location and the request that follows it may differ
}

// ParseURL reads an http or https URL by the URL Standard (frontier/canon), as browsers and crawlers do. The audit parses
// robots.txt and computes delays independently of the crawl, but a second URL parser would accuse wrongly (net/url rejects
// "/100%"), and a wrong reading hides nothing: the judges go by the request line. A URL that the Standard rejects but that
// names a host is split as in RFC 3986 (appendix B), so that requests there are judged.
func ParseURL(uri string) (URL, error) {
	if len(uri) > MaxLength {
		return URL{}, errLong
	}
	written, ok := AsWritten(uri)
	u, err := canon.Parse(uri)
	switch {
	case err != nil && ok:
		return written, nil
	case err != nil:
		return URL{}, err
	}
	target := written.Target
	if !strings.HasPrefix(target, "/") {
		target = u.RequestURI()
	}
	return URL{u.Scheme() + "://" + u.Authority().HostPort(), target, u.Key()}, nil
}

// MaxLength is the longest URL that is read; longer ones are findings. canon.MaxLength bounds the crawler's requests.
const MaxLength = 32 << 10

var errLong = errors.New("it is longer than 32 KiB")

func AsWritten(uri string) (URL, bool) {
	uri, _, _ = strings.Cut(uri, "#")
	scheme, after, ok := strings.Cut(uri, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return URL{}, false
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
	if host == "" || len(host) > maxHost { // the data kept of each host must be bounded
		return URL{}, false
	}
	authority := scheme + "://" + host
	return URL{authority, target, authority + target}, true
}

// maxHost is the longest name with its port, in bytes: no name in the DNS is longer.
const maxHost = 255 + len(":65535")

var defaultPort = map[string]string{"http": "80", "https": "443"}

// requestURL returns the URL of a request with that request-target, at the host of an authority.
func requestURL(authority, target string) URL {
	p, err := ParseURL(authority + target)
	if err != nil || p.Authority != authority { // "*", or bytes that make no URL
		return URL{authority, target, authority + target}
	}
	return p
}

// IsRobots reports whether a URL is robots.txt to the byte (RFC 9309 2.3): "/robots.txt?" and "/x/../robots.txt" are pages.
func (p URL) IsRobots() bool { return p.Target == RobotsPath }

// SpellsRobots reports whether a URL is some spelling of robots.txt, so that its body may be wanted.
func (p URL) SpellsRobots() bool { return p.IsRobots() || p.Key == p.Authority+RobotsPath }

const RobotsPath = "/robots.txt"

// AuthorityOf returns the authority of a URL as results write it; "" if the URL is invalid.
func AuthorityOf(uri string) string {
	p, _ := ParseURL(uri)
	return p.Authority
}

// Resolve returns the target of a Location relative to a URL.
func Resolve(base, location string) (URL, error) {
	if len(location) > MaxLength || len(base) > MaxLength {
		return URL{}, errLong
	}
	from, err := canon.Parse(base)
	if err != nil { // only an absolute URL can then be resolved
		return ParseURL(location)
	}
	u, err := from.Resolve(location)
	if err != nil {
		return URL{}, err
	}
	return URL{u.Scheme() + "://" + u.Authority().HostPort(), u.RequestURI(), u.Key()}, nil
}

// IsHTTP reports whether a URL has the scheme http or https, even if it is otherwise invalid.
func IsHTTP(uri string) bool {
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

// Loopback reports whether an authority is this machine itself, by its name.
func Loopback(authority string) bool {
	host, _ := HostPort(authority)
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.IsLoopback()
}

// Undotted removes dot segments, also escaped ones, as servers do (RFC 3986 6.2.2.2 and 6.2.2.3).
func Undotted(target string) string {
	path, query, asked := strings.Cut(target, "?")
	if !strings.Contains(path, ".") && !strings.Contains(path, "%2") {
		return target
	}
	var out []string
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, part := range parts {
		last := i == len(parts)-1
		switch strings.ReplaceAll(strings.ToLower(part), "%2e", ".") {
		case ".":
		case "..":
			out = out[:max(len(out)-1, 0)]
		default:
			out = append(out, part)
			last = false
		}
		if last {
			out = append(out, "")
		}
	}
	if path = "/" + strings.Join(out, "/"); asked {
		path += "?" + query
	}
	return path
}

// same reports whether two URLs, perhaps in different spellings, are equivalent.
func same(a, b string) bool {
	if a == b {
		return true
	}
	p, err := ParseURL(a)
	q, err2 := ParseURL(b)
	return err == nil && err2 == nil && sameAuthority(p.Authority, q.Authority) && SameTarget(p.Target, q.Target)
}

// SameTarget reports whether two targets may be spellings of one: escaped or not, in any encoding, with or without dot segments.
func SameTarget(a, b string) bool { return a == b || unspelt(a) == unspelt(b) }

// unspelt is a target without the differences between spellings.
func unspelt(target string) string {
	target, _, _ = strings.Cut(target, "#")
	target = Undotted(strings.ReplaceAll(target, `\`, "/"))
	var b strings.Builder
	for i := 0; i < len(target); i++ {
		c := target[i]
		if c == '%' && i+2 < len(target) {
			if n, err := strconv.ParseUint(target[i+1:i+3], 16, 8); err == nil {
				c, i = byte(n), i+2
			}
		}
		if c > ' ' && c < 0x7f && c != '+' { // a blank of a query may also be written as +
			b.WriteByte(c)
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(b.String(), "?"), "/")
}

// bareName is an authority without the dot that may end a name.
func bareName(authority string) string {
	scheme, _, _ := strings.Cut(authority, "://")
	host, port := HostPort(authority)
	return scheme + "://" + strings.TrimSuffix(host, ".") + ":" + port
}

// sameAuthority reports whether two authorities are one, the dot that may end a name left aside.
func sameAuthority(a, b string) bool { return a == b || bareName(a) == bareName(b) }

// Scheme is that of an authority, with its slashes.
func Scheme(authority string) string {
	name, _, _ := strings.Cut(authority, "://")
	return name + "://"
}

// HostOf is host and port of an authority, the port left out when it is the scheme's own.
func HostOf(authority string) string {
	scheme, host, _ := strings.Cut(authority, "://")
	return strings.TrimSuffix(host, ":"+defaultPort[scheme])
}
