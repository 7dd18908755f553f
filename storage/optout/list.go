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
func (l *List) URL(u canon.URL) (e Entry, ok bool) {
	l.Under(u, netip.Addr{}, func(at int) bool {
		e, ok = l.entries[at], true
		return false
	})
	return e, ok
}

// Under calls yield with the place of each entry that u, or an address that was dialled for it, is under, until yield
// returns false. Of several entries of one domain or network the first counts.
func (l *List) Under(u canon.URL, addr netip.Addr, yield func(at int) bool) {
	a := u.Authority()
	host := a.Host()
	for _, p := range l.hosts[host] {
		if p.covers(a) && !yield(p.at) {
			return
		}
	}
	literal, _ := a.Addr()
	for _, addr := range [...]netip.Addr{literal, addr} {
		if at, ok := l.network(addr); ok && !yield(at) {
			return
		}
	}
	for domain, more := host, len(l.suffixes) > 0; more; _, domain, more = strings.Cut(domain, ".") {
		if at, ok := l.suffixes[domain]; ok && !yield(at) {
			return
		}
	}
	places := l.paths[host]
	if len(places) == 0 {
		return
	}
	target := keyTarget(u)
	for _, p := range places {
		if p.covers(a) && strings.HasPrefix(target, p.prefix) && (!p.whole || target == p.prefix) && !yield(p.at) {
			return
		}
	}
}

// Addr returns the entry that an address is under, of the narrowest network.
func (l *List) Addr(addr netip.Addr) (Entry, bool) {
	if at, ok := l.network(addr); ok {
		return l.entries[at], true
	}
	return Entry{}, false
}

// network is the place of the entry of the narrowest network that an address is in.
func (l *List) network(addr netip.Addr) (at int, ok bool) {
	addr = addr.WithZone("").Unmap()
	for _, n := range l.bits[family(addr)] {
		p, err := addr.Prefix(n)
		if err != nil {
			continue // a zero address is nowhere
		}
		if at, ok = l.nets[p]; ok {
			return at, true
		}
	}
	return 0, false
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
