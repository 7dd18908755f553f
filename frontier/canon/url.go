package canon

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// URL is a canonical http or https URL in two spellings, the fetch URL and the key; see the package comment. The zero
// URL is not a URL; only Parse, Resolve, Authority.URL and UnmarshalText make others. URLs can be compared with ==,
// which compares fetch URLs; Key compares identities.
type URL struct {
	fetch string
	key   string
	auth  Authority
	root  int // offset of the path in fetch, and in key
}

// Parse reads an absolute URL. The error is an *Error. The URL does not retain raw.
func Parse(raw string) (URL, error) { return parse(raw, URL{}) }

// Resolve reads ref, as found in a page or a Location field, relative to u. The error is an *Error. The zero URL only
// resolves absolute references.
func (u URL) Resolve(ref string) (URL, error) {
	if v, ok := u.resolvePlain(ref); ok {
		return v, nil
	}
	return parse(ref, u)
}

// String returns the fetch URL. The zero URL gives "".
func (u URL) String() string { return u.fetch }

// Key returns the URL's identity. The zero URL gives "".
func (u URL) Key() string { return u.key }

// IsZero reports whether u is the zero URL.
func (u URL) IsZero() bool { return u.fetch == "" }

// RequestURI returns the request target of RFC 9112 3.2.1: path and query, exactly as they are sent and as robots rules
// are matched against.
func (u URL) RequestURI() string { return u.fetch[u.root:] }

// Path returns the path of the fetch URL, which begins with a slash.
func (u URL) Path() string {
	path, _, _ := strings.Cut(u.RequestURI(), "?")
	return path
}

// Query returns the query of the fetch URL without "?"; "" when it is empty or missing.
func (u URL) Query() string {
	_, query, _ := strings.Cut(u.RequestURI(), "?")
	return query
}

// Authority returns scheme, host and port. It does not retain u.
func (u URL) Authority() Authority { return u.auth }

// Scheme returns "http" or "https".
func (u URL) Scheme() string { return u.auth.Scheme() }

// Host returns the host name or address, IPv6 in brackets.
func (u URL) Host() string { return u.auth.Host() }

// RegistrableDomain returns u.Authority().RegistrableDomain().
func (u URL) RegistrableDomain() string { return u.auth.RegistrableDomain() }

// MarshalText returns the fetch URL. The zero URL gives no bytes.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.fetch), nil }

// UnmarshalText is Parse. No bytes give the zero URL.
func (u *URL) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*u = URL{}
		return nil
	}
	v, err := Parse(string(text))
	if err != nil {
		return err
	}
	*u = v
	return nil
}

// keyOf returns the key of a fetch URL whose path begins at root (RFC 3986 6.2.2.1 and 6.2.2.2), the same string where
// nothing changes.
func keyOf(fetch string, root int) string {
	target := fetch[root:]
	if strings.IndexByte(target, '?') == len(target)-1 {
		fetch = fetch[:len(fetch)-1]
	}
	first := strings.IndexByte(fetch[root:], '%')
	if first < 0 {
		return fetch
	}
	var stack [shortURL]byte
	b := append(stack[:0], fetch[:root+first]...)
	for i := len(b); i < len(fetch); i++ {
		c, ok := Unescape(fetch[i:])
		switch {
		case !ok:
			b = append(b, fetch[i])
			continue
		case octets[c]&unreserved != 0 && !completes(b, c):
			b = append(b, c)
		default:
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
		i += 2
	}
	if string(b) == fetch {
		return fetch
	}
	return string(b)
}

// Unescape returns the byte of the percent-encoding at the start of s.
func Unescape(s string) (c byte, ok bool) {
	if len(s) < 3 || s[0] != '%' || octets[s[1]]&octets[s[2]]&hex == 0 {
		return 0, false
	}
	return unhex(s[1])<<4 | unhex(s[2]), true
}

// completes reports whether c, appended to b, would complete an escape that a stray "%" of the input begins at the end
// of b.
func completes(b []byte, c byte) bool {
	n := len(b) // at least scheme, host and slash
	return octets[c]&hex != 0 && (b[n-1] == '%' || b[n-2] == '%' && octets[b[n-1]]&hex != 0)
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

const Slots = 256 // number of groups of hosts: see Authority.Slot

// Slot returns the group of a host: only one member of a fleet has it at a time. http and https, and a name with and
// without www, share one; each port of an address or of localhost has its own.
func (a Authority) Slot() int {
	key := strings.TrimPrefix(a.Host(), "www.")
	if _, ok := a.Addr(); ok || key == "localhost" {
		key += ":" + a.Port()
	}
	h := uint32(2166136261) // FNV-1a, which no later version may change
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return int((h ^ h>>8 ^ h>>16 ^ h>>24) % Slots)
}

// Authority is scheme, host and port, the unit of robots policy and of pace (RFC 9309 2.3), written
// "scheme://host:port": lower case, A-label, no trailing dot, the port always present, at most 267 bytes. The zero
// Authority is not valid. Authorities can be compared with == and used as map keys, and are ordered by their strings.
type Authority struct{ s string }

// ParseAuthority reads the form of String. Like Parse it accepts other spellings of scheme, host and port, and a
// missing port, but no path, not even "/", and no userinfo. The error is an *Error.
func ParseAuthority(s string) (Authority, error) {
	_, rest, ok := strings.Cut(s, "://")
	if !ok || strings.ContainsAny(rest, `/\?#@`) {
		return Authority{}, &Error{Reason: Malformed, URL: excerpt(s), Cause: errOrigin}
	}
	u, err := Parse(s)
	return u.auth, err
}

// newAuthority returns the authority of a fetch URL up to its path. It copies the text: authorities outlive URLs.
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

// URL returns the URL of a request target at a: path and query, as in RequestURI. The target begins with a slash; "//x"
// is a path here. The error is an *Error.
func (a Authority) URL(target string) (URL, error) {
	if a.IsZero() {
		return URL{}, &Error{Reason: NoHost, URL: excerpt(target)}
	}
	if !strings.HasPrefix(target, "/") {
		return URL{}, &Error{Reason: Malformed, URL: excerpt(target), Cause: errTarget}
	}
	return Parse(a.Scheme() + "://" + a.HostPort() + target) // joined once: this runs for each claimed task
}

// Addr returns the address when the host is a literal one; ok is false when it is a name. An IPv4-mapped IPv6 address
// is not unmapped.
func (a Authority) Addr() (addr netip.Addr, ok bool) {
	host := a.Host()
	if host == "" {
		return netip.Addr{}, false
	}
	switch last := host[len(host)-1]; {
	case last == ']':
		host = host[1 : len(host)-1]
	case last < '0' || last > '9': // ParseAddr would allocate an error for each name
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(host)
	return addr, err == nil
}

// Loopback reports whether the host is a loopback address, or localhost.
func (a Authority) Loopback() bool {
	addr, ok := a.Addr()
	return ok && addr.IsLoopback() || a.Host() == "localhost"
}

// Origin returns scheme and host, and the port if it is not the default, as people and robots.txt write it.
func (a Authority) Origin() string { return a.Scheme() + "://" + a.HostPort() }

// RegistrableDomain returns the public suffix of the host with one label more (https://publicsuffix.org, private
// suffixes included, so that each user of a hosting service counts for itself), or the host itself without such a
// label, or when it is an address. Each call looks it up.
func (a Authority) RegistrableDomain() string {
	host := a.Host()
	if d, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return d
	}
	return host
}

// MarshalText returns String as bytes. The zero Authority gives no bytes.
func (a Authority) MarshalText() ([]byte, error) { return []byte(a.s), nil }

// UnmarshalText is ParseAuthority. No bytes give the zero Authority.
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

// Reason is why a string is not a canonical URL. Reasons are stable: they are counted and written to the ledger.
type Reason string

// The reasons.
const (
	Malformed Reason = "malformed"    // the URL Standard's parser fails, or DNS cannot hold the host
	Scheme    Reason = "scheme"       // neither http nor https
	NoHost    Reason = "no host"      // no host, or an empty one
	TooLong   Reason = "url too long" // over MaxLength octets
)

// MaxLength is the longest canonical URL in bytes (politeness rule 22).
const MaxLength = 8192

// maxInput is the longest accepted input without its fragment: dot segments, userinfo, tabs and line breaks may add
// some to a URL of MaxLength.
const maxInput = 4 * MaxLength

const maxShown = 256 // bytes of a URL or a cause that an Error holds and shows

// Error is a string that is not a canonical URL.
type Error struct {
	Reason Reason
	URL    string // the input, cut to 256 bytes
	Cause  error  // details; nil when Reason is enough
}

// Error returns text that is safe to print to a terminal: the URL is quoted, and everything is cut.
func (e *Error) Error() string {
	text := "canon: " + strconv.Quote(e.URL) + ": " + string(e.Reason)
	if e.Cause != nil {
		text += ": " + excerpt(e.Cause.Error())
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// ReasonOf returns the Reason of an error of this package, also when wrapped, and "" for any other.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return ""
}

// excerpt cuts s to maxShown bytes, as a copy that does not retain the rest, which may be a data: URL of a megabyte.
func excerpt(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown-len("…")], "") + "…"
}

// The causes.
var (
	errNoScheme = errors.New("no scheme, and no base to resolve it against")
	errPort     = errors.New("the port is not a number up to 65535")
	errIPv4     = errors.New("the host ends in a number but is not an IPv4 address")
	errIPv6     = errors.New("the host is not an IPv6 address")
	errDomain   = errors.New("the host is not a domain name")
	errLabel    = errors.New("the host has a label that is empty or over 63 bytes")
	errHostLong = errors.New("the host is too long for a domain name")
	errOrigin   = errors.New("an authority is scheme://host:port and no more")
	errTarget   = errors.New("a request target begins with a slash")
)
