package canon

import "strings"

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
