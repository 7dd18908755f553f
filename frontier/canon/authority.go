package canon

import (
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Authority is scheme, host and port, the unit of robots policy and of pace (RFC 9309 2.3), written
// "scheme://host:port": lower case, A-label, no trailing dot, the port always present. It is at most 267 octets
// long. The zero Authority is none. Authorities can be compared with == and used as map keys; the order of their
// strings is their order.
type Authority struct{ s string }

// ParseAuthority reads the form that String writes. Like Parse it takes other spellings of scheme, host and port,
// and a port that is left out, but nothing else: no path, not even "/", and no userinfo. The error is an *Error.
func ParseAuthority(s string) (Authority, error) {
	_, rest, ok := strings.Cut(s, "://")
	if !ok || strings.ContainsAny(rest, `/\?#@`) {
		return Authority{}, &Error{Reason: Malformed, URL: excerpt(s), Cause: errOrigin}
	}
	u, err := Parse(s)
	return u.auth, err
}

// newAuthority returns the authority of a fetch URL up to its path. The text is a copy: authorities outlive URLs.
func newAuthority(origin string) Authority {
	host := strings.TrimPrefix(origin, "http://")
	port := ":80"
	if len(host) == len(origin) {
		host, port = origin[len("https://"):], ":443"
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 && host[len(host)-1] != ']' {
		return Authority{strings.Clone(origin)}
	}
	return Authority{origin + port}
}

// String returns "scheme://host:port". The zero Authority gives "".
func (a Authority) String() string { return a.s }

// IsZero reports whether a is the zero Authority.
func (a Authority) IsZero() bool { return a.s == "" }

// Scheme returns "http" or "https". The zero Authority gives "", here and below.
func (a Authority) Scheme() string {
	scheme, _, _ := strings.Cut(a.s, ":")
	return scheme
}

// Host returns the host name or address, IPv6 in brackets.
func (a Authority) Host() string {
	_, site, _ := strings.Cut(a.s, "://")
	return site[:max(0, strings.LastIndexByte(site, ':'))]
}

// Port returns the port in decimal.
func (a Authority) Port() string { return a.s[strings.LastIndexByte(a.s, ':')+1:] }

// HostPort returns the value of the Host field (RFC 9110 7.2): the port only when it is not the scheme's default.
func (a Authority) HostPort() string {
	scheme, site, _ := strings.Cut(a.s, "://")
	switch scheme {
	case "http":
		return strings.TrimSuffix(site, ":80")
	case "https":
		return strings.TrimSuffix(site, ":443")
	}
	return ""
}

// URL returns the URL of a request target at a: path and query, as RequestURI gives them. The target begins with a
// slash; "//x" is a path here. The error is an *Error.
func (a Authority) URL(target string) (URL, error) {
	if a.IsZero() {
		return URL{}, &Error{Reason: NoHost, URL: excerpt(target)}
	}
	if !strings.HasPrefix(target, "/") {
		return URL{}, &Error{Reason: Malformed, URL: excerpt(target), Cause: errTarget}
	}
	return Parse(a.Scheme() + "://" + a.HostPort() + target) // joined once: there is one for each task that is claimed
}

// Addr returns the address when the host is a literal one; ok is false when it is a name. An IPv4-mapped IPv6
// address is returned as it stands, not unmapped.
func (a Authority) Addr() (addr netip.Addr, ok bool) {
	host := a.Host()
	if host == "" {
		return netip.Addr{}, false
	}
	switch last := host[len(host)-1]; {
	case last == ']':
		host = host[1 : len(host)-1]
	case last < '0' || last > '9': // names come first: ParseAddr would allocate an error for each
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(host)
	return addr, err == nil
}

// Loopback reports whether the host is written as an address of loopback, or as localhost.
func (a Authority) Loopback() bool {
	addr, ok := a.Addr()
	return ok && addr.IsLoopback() || a.Host() == "localhost"
}

// Origin is a as people write it, and as robots.txt goes by: scheme and host, the port only if it is not the default.
func (a Authority) Origin() string { return a.Scheme() + "://" + a.HostPort() }

// RegistrableDomain returns the public suffix of the host with one label more (https://publicsuffix.org, private
// suffixes included, so that each user of a hosting service counts for itself), and the host itself when there is
// no such label, as with a single label, or when the host is an address. It is looked up at each call.
func (a Authority) RegistrableDomain() string {
	host := a.Host()
	if d, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return d
	}
	return host
}

// MarshalText returns what String returns. The zero Authority gives no octets.
func (a Authority) MarshalText() ([]byte, error) { return []byte(a.s), nil }

// UnmarshalText is ParseAuthority. No octets give the zero Authority.
func (a *Authority) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*a = Authority{}
		return nil
	}
	b, err := ParseAuthority(string(text))
	if err != nil {
		return err
	}
	*a = b
	return nil
}
