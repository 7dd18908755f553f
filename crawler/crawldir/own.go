package crawldir

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"curtsy/crawler"
	"curtsy/frontier/canon"
)

// The words of --own-site that are no names of hosts.
const (
	OwnLoopback = "loopback"
	OwnNone     = "none"
)

// LoopbackForeign reports whether --own-site says that no host is the operator's own, loopback included.
func (s *Settings) LoopbackForeign() bool { return slices.Contains(s.OwnSite, OwnNone) }

// OwnNames are the names of public hosts in --own-site.
func (s *Settings) OwnNames() (names []string) {
	for _, name := range s.OwnSite {
		if name != OwnLoopback && name != OwnNone {
			names = append(names, name)
		}
	}
	return names
}

// own puts --own-site and --per-host into c. The key is read only where a host is to prove something.
func (s *Settings) own(c *crawler.Config) error {
	c.LoopbackForeign, c.PerHost = s.LoopbackForeign(), int(s.PerHost)
	names := s.OwnNames()
	if c.LoopbackForeign && len(s.OwnSite) > 1 {
		return misuse("--own-site none excludes other values: with it no host is your own")
	}
	for _, name := range names {
		host, err := OwnHost(name)
		if err != nil {
			return misuse("--own-site %q: %w", name, err)
		}
		c.OwnSites = append(c.OwnSites, host)
	}
	if len(names) == 0 {
		return nil
	}
	path, err := OwnKey.Path()
	if err != nil {
		return err
	}
	c.OwnKey, err = OwnKey.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return misuse("--own-site %s: no key for its proof yet: curtsy identity own %s makes it", names[0], names[0])
	}
	return err
}

// OwnHost is the name of a public host as crawls know it.
func OwnHost(name string) (string, error) {
	u, err := canon.Parse("https://" + name + "/")
	if err != nil || strings.ContainsAny(name, "/?#@:\\ ") {
		return "", fmt.Errorf("write the name of a host, like www.your-domain.org: loopback and none are the only other words")
	}
	a := u.Authority()
	if _, literal := a.Addr(); literal || !strings.Contains(a.Host(), ".") {
		return "", fmt.Errorf("only a host with a public name can prove that it is yours: write its name, loopback or none")
	}
	return a.Host(), nil
}
