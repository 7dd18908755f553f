package crawltest

import (
	"net"
	"net/url"
	"strings"
)

// place is a resource of the web: the authority of a site and the key of a request target.
type place struct{ host, key string }

func (p place) String() string { return "http://" + p.host + p.key }

// Key returns the spelling under which all equivalent spellings of a request target are found (RFC 3986 6.2.2). An
// empty query counts as none.
func Key(target string) string {
	target, _, _ = strings.Cut(target, "#")
	if target == "" || target[0] != '/' {
		target = "/" + target
	}
	if strings.IndexByte(target, '?') == len(target)-1 {
		target = target[:len(target)-1]
	}
	return Spell(target)
}

// Spell decodes escaped unreserved bytes, writes other escapes in upper case and escapes what cannot stand in a URI.
func Spell(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c, escaped := s[i], false
		if c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			c, escaped = nibble(s[i+1])<<4|nibble(s[i+2]), true
			i += 2
		}
		switch {
		case unreserved(c) || !escaped && c == '%' || !escaped && strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func nibble(c byte) byte {
	if c >= 'A' {
		return c&7 + 9
	}
	return c & 15
}

// resolve returns what a reference on a page of the web leads to, in the web's own names; ok is false when that is
// outside the web or no http URL.
func (w *Web) resolve(from place, ref string) (to place, ok bool) {
	base, err := url.Parse(from.String())
	if err != nil {
		return place{}, false
	}
	// Escaped first: url.URL.EscapedPath would encode a whole path anew for one byte that displeases it.
	u, err := base.Parse(Spell(strings.TrimSpace(ref)))
	if err != nil || u.Scheme != "http" {
		return place{}, false
	}
	h := w.named(u.Host)
	if h == nil {
		return place{}, false
	}
	target := u.EscapedPath()
	if u.RawQuery != "" {
		target += "?" + u.RawQuery
	}
	return place{h.name, Key(target)}, true
}

// Leads returns what a reference on the page of a URL leads to, both in the web's own names; ok is false when that is
// outside the web or no http URL.
func (w *Web) Leads(from, ref string) (to string, ok bool) {
	at, ok := w.resolve(place{}, from)
	if !ok {
		return "", false
	}
	p, ok := w.resolve(at, ref)
	return p.String(), ok
}

// Pages returns what a host serves at each key: as its Site has it, with type, status and body filled in.
func (w *Web) Pages(host string) map[string]Page {
	pages := map[string]Page{}
	for k, l := range w.hosts[host].now().pages {
		p := l.Page
		p.Body = string(l.body)
		pages[k] = p
	}
	return pages
}

// named returns the host that a URL's authority or a Host field means: by its name, or by its port on loopback. It is
// nil when none is meant.
func (w *Web) named(authority string) *host {
	name := authorityOf(authority)
	if h := w.hosts[name]; h != nil {
		return h
	}
	machine, port, err := net.SplitHostPort(name)
	if err != nil || machine != "127.0.0.1" && machine != "localhost" {
		return nil
	}
	for _, h := range w.order {
		if port == h.port {
			return h
		}
	}
	return nil
}

// authorityOf writes an authority as the web knows it: lower case, the default port left out.
func authorityOf(s string) string { return strings.TrimSuffix(strings.ToLower(s), ":80") }
