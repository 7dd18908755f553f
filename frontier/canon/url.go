package canon

import (
	"strings"
)

// URL is a canonical http or https URL in two spellings, the fetch URL and the key; see the package comment. The
// zero URL is no URL; Parse, Resolve, Authority.URL and UnmarshalText are the only ways to make another. URLs
// can be compared with ==, which compares fetch URLs; Key compares identities.
type URL struct {
	fetch string
	key   string
	auth  Authority
	root  int // offset of the path in fetch, and in key
}

// Parse reads an absolute URL. The error is an *Error. The URL does not hold on to the memory of raw.
func Parse(raw string) (URL, error) { return parse(raw, URL{}) }

// Resolve reads ref, as found in a page or a Location field, relative to u. The error is an *Error. The zero URL
// resolves absolute references only.
func (u URL) Resolve(ref string) (URL, error) {
	if v, ok := u.resolvePlain(ref); ok {
		return v, nil
	}
	return parse(ref, u)
}

// String returns the fetch URL: what the site wrote, read by the URL Standard. The zero URL gives "".
func (u URL) String() string { return u.fetch }

// Key returns the URL's identity: the fetch URL normalised further without loss. The zero URL gives "".
func (u URL) Key() string { return u.key }

// IsZero reports whether u is the zero URL.
func (u URL) IsZero() bool { return u.fetch == "" }

// RequestURI returns the request target of RFC 9112 3.2.1: path and query, octet for octet as they are sent
// and as robots rules are judged against.
func (u URL) RequestURI() string { return u.fetch[u.root:] }

// Path returns the path of the fetch URL. It begins with a slash.
func (u URL) Path() string {
	path, _, _ := strings.Cut(u.RequestURI(), "?")
	return path
}

// Query returns the query of the fetch URL without "?"; "" when it is empty and when there is none.
func (u URL) Query() string {
	_, query, _ := strings.Cut(u.RequestURI(), "?")
	return query
}

// Authority returns scheme, host and port. It does not hold on to the memory of u.
func (u URL) Authority() Authority { return u.auth }

// Scheme returns "http" or "https".
func (u URL) Scheme() string { return u.auth.Scheme() }

// Host returns the host name or address, IPv6 in brackets.
func (u URL) Host() string { return u.auth.Host() }

// RegistrableDomain returns what Authority.RegistrableDomain returns.
func (u URL) RegistrableDomain() string { return u.auth.RegistrableDomain() }

// MarshalText returns the fetch URL. The zero URL gives no octets.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.fetch), nil }

// UnmarshalText is Parse. No octets give the zero URL.
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

// site returns host and port as they stand in the fetch URL.
func (u URL) site() string { return u.fetch[len(u.auth.Scheme())+len("://") : u.root] }

// keyOf returns the key of a fetch URL whose path begins at root (RFC 3986 6.2.2.1 and 6.2.2.2). It is the same
// string where nothing is to be done.
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

// Unescape returns the byte that the percent-encoding at the start of s stands for.
func Unescape(s string) (c byte, ok bool) {
	if len(s) < 3 || s[0] != '%' || octets[s[1]]&octets[s[2]]&hex == 0 {
		return 0, false
	}
	return unhex(s[1])<<4 | unhex(s[2]), true
}

// completes reports whether c, appended to b as it is, would become part of an escape that b ends with the beginning
// of. Such a beginning is a stray "%" of the input, since the escapes in b are whole.
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

// Slots is the number of groups that Slot divides hosts into.
const Slots = 256

// Slot returns the group of a host, whose members of a fleet have it together. http and https, and a name with and without
// www, share one; each port of an address or of localhost has its own.
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
