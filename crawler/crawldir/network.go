package crawldir

import (
	"fmt"
	"net/netip"

	"curtsy/crawler/fetch"
)

// settings are which way a crawl goes out. The zero value leaves all of it to the system.
type settings struct {
	Bind       string // local address of all connections
	IPv4, IPv6 bool   // use this family alone
	Proxy      string // URL, @FILE that holds one, or env; empty for none

	Auth, Header []string // HOST=FILE, for own hosts
}

// Apply puts s into c. Its error names the setting that is wrong, and what to write instead.
func (s settings) Apply(c *fetch.Config) error {
	switch {
	case s.IPv4 && s.IPv6:
		return fmt.Errorf("--ipv4 and --ipv6 exclude each other: write --ipv4=false or --ipv6=false")
	case s.IPv4:
		c.Family = fetch.IPv4
	case s.IPv6:
		c.Family = fetch.IPv6
	}
	if err := s.bind(c); err != nil {
		return err
	}
	var err error
	c.Proxy, err = s.proxies()
	return err
}

// bind puts the local address into c. It decides the family, too: from an IPv4 address nothing leads to IPv6.
func (s settings) bind(c *fetch.Config) error {
	if s.Bind == "" {
		return nil
	}
	a, err := netip.ParseAddr(s.Bind)
	if err != nil {
		return fmt.Errorf("--bind %q: write an address of this machine in digits, like 192.0.2.7 or 2001:db8::7", s.Bind)
	}
	a = a.Unmap()
	if c.Family != 0 && c.Family != fetch.FamilyOf(a) {
		return fmt.Errorf("--bind %s: this address cannot be used with only %s (--ipv4, --ipv6)", s.Bind, c.Family)
	}
	if err := fetch.CheckLocal(a); err != nil {
		return fmt.Errorf("--bind: %w; write one that it has, or leave --bind out", err)
	}
	c.Bind, c.Family = a, fetch.FamilyOf(a)
	return nil
}
