package graph

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"curtsy/frontier/canon"
)

// Level is what a vertex stands for.
type Level uint8

// Levels.
const (
	Hosts   Level = iota // a host name or address, at all its ports
	Pages                // a canonical URL
	Domains              // a registrable domain, with all its hosts
)

var levels = [...]string{Hosts: "hosts", Pages: "pages", Domains: "domains"}

// String is the name of the level, which ParseLevel reads.
func (l Level) String() string {
	if int(l) < len(levels) {
		return levels[l]
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// ParseLevel reads pages, hosts or domains.
func ParseLevel(s string) (Level, error) {
	if i := slices.Index(levels[:], s); i >= 0 {
		return Level(i), nil
	}
	return 0, fmt.Errorf("graph: %q is not a level; it is pages, hosts or domains", s)
}

// Reverse turns the labels of a host name round: www.example.org is org.example.www. An address stays as it is, and so
// what Reverse gives can be reversed again.
func Reverse(host string) string {
	if host == "" || host[0] == '[' {
		return host
	}
	if c := host[0]; c >= '0' && c <= '9' {
		if _, err := netip.ParseAddr(host); err == nil {
			return host
		}
	}
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// A key is the name of a vertex as it is sorted: the reversed host, and for a page behind inKey its URL. No canonical
// name has a byte below space, so keys sort by host first.
const (
	inKey  = "\x01" // between host and URL
	endKey = "\x00" // behind a key, where something follows
)

// place is what is known of a URL at a level: the key of its vertex, and the host if that is counted.
type place struct {
	key  string
	host string // of Domains
}

func placeOf(level Level, u canon.URL) place {
	switch level {
	case Pages:
		return place{key: Reverse(u.Host()) + inKey + u.String()}
	case Domains:
		return place{key: Reverse(u.RegistrableDomain()), host: u.Host()}
	}
	return place{key: Reverse(u.Host())}
}

// siteOf is the part of a URL that decides on its host, up to the path. ok is false for spellings that only a parser
// understands.
func siteOf(url string) (site string, ok bool) {
	at := strings.Index(url, "://")
	if at < 0 {
		return "", false
	}
	if end := strings.IndexAny(url[at+3:], `/?#\`); end >= 0 {
		return url[:at+3+end], end > 0
	}
	return url, true
}
