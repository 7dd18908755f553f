package optout

import (
	"net/netip"
	"slices"
	"strings"

	"curtsy/frontier/canon"
)

// Entry is a line of a list.
type Entry struct {
	Line   int    // from 1
	Text   string // as it is written
	Reason string // empty when none is given
}

// List is a version of a list. It does not change.
type List struct {
	name    string
	digest  [32]byte
	entries []Entry

	hosts    map[string][]place // by host name
	suffixes map[string]int     // by the domain; index in entries
	paths    map[string][]place // by host name or address
	nets     map[netip.Prefix]int
	bits     [2][]int // the lengths of the prefixes in nets, of IPv4 and IPv6
}

// place is a part of a host.
type place struct {
	scheme, port string // empty: any
	prefix       string // of path and query, as a key spells them; empty: all of it
	whole        bool   // prefix is all of path and query
	at           int    // index in entries
}

// Name is what the list was called when it was parsed.
func (l *List) Name() string { return l.name }

// Digest is the SHA-256 of the list's bytes.
func (l *List) Digest() [32]byte { return l.digest }

// Entries returns the entries in their order. The slice is the list's own.
func (l *List) Entries() []Entry { return l.entries }

// URL returns the entry that u is under.
func (l *List) URL(u canon.URL) (Entry, bool) {
	a := u.Authority()
	if e, ok := l.Authority(a); ok {
		return e, true
	}
	places := l.paths[a.Host()]
	if len(places) == 0 {
		return Entry{}, false
	}
	target := keyTarget(u)
	for _, p := range places {
		if p.covers(a) && strings.HasPrefix(target, p.prefix) && (!p.whole || target == p.prefix) {
			return l.entries[p.at], true
		}
	}
	return Entry{}, false
}

// Authority returns the entry that all of a is under.
func (l *List) Authority(a canon.Authority) (Entry, bool) {
	host := a.Host()
	for _, p := range l.hosts[host] {
		if p.covers(a) {
			return l.entries[p.at], true
		}
	}
	if addr, ok := a.Addr(); ok {
		return l.Addr(addr)
	}
	if len(l.suffixes) == 0 {
		return Entry{}, false
	}
	for domain, more := host, true; more; _, domain, more = strings.Cut(domain, ".") {
		if at, ok := l.suffixes[domain]; ok {
			return l.entries[at], true
		}
	}
	return Entry{}, false
}

// Addr returns the entry that an address is under, of the narrowest network.
func (l *List) Addr(addr netip.Addr) (Entry, bool) {
	addr = addr.WithZone("").Unmap()
	for _, n := range l.bits[family(addr)] {
		p, err := addr.Prefix(n)
		if err != nil {
			continue // a zero address is nowhere
		}
		if at, ok := l.nets[p]; ok {
			return l.entries[at], true
		}
	}
	return Entry{}, false
}

// covers reports whether the authority has the place's scheme and port. Its host has been compared.
func (p place) covers(a canon.Authority) bool {
	return (p.scheme == "" || p.scheme == a.Scheme()) && (p.port == "" || p.port == a.Port())
}

// addNet enters a network, unless it is there.
func (l *List) addNet(p netip.Prefix, at int) {
	if _, ok := l.nets[p]; ok {
		return
	}
	l.nets[p] = at
	bits := &l.bits[family(p.Addr())]
	if !slices.Contains(*bits, p.Bits()) {
		*bits = append(*bits, p.Bits())
		slices.SortFunc(*bits, func(a, b int) int { return b - a })
	}
}

func family(a netip.Addr) int {
	if a.Is4() {
		return 0
	}
	return 1
}

// keyTarget returns path and query as the key spells them.
func keyTarget(u canon.URL) string {
	return u.Key()[len(u.String())-len(u.RequestURI()):] // key and fetch URL differ behind the host alone
}
