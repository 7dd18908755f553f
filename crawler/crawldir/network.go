package crawldir

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"curtsy/crawler"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/fetch"
	"curtsy/frontier/canon"
)

// way configures family, local address, proxy and credentials.
func (s *Settings) way(c *fetch.Config) error {
	switch {
	case s.IPv4 && s.IPv6:
		return fmt.Errorf("--ipv4 and --ipv6 exclude each other: write --ipv4=false or --ipv6=false")
	case s.IPv4:
		c.Family = fetch.IPv4
	case s.IPv6:
		c.Family = fetch.IPv6
	}
	if s.Bind != "" { // the address decides the family: an IPv4 address does not reach IPv6
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
	}
	var err error
	if c.Proxy, err = s.proxies(); err != nil {
		return err
	}
	c.Credentials, err = s.credentials()
	return err
}

const environment = "env"

const maxSecret = 64 << 10

// proxies returns the proxies of --proxy. It refuses a URL with a password: other users see command lines, and the crawl
// directory keeps settings, which the ledger binds. Such a URL comes from a file.
func (s *Settings) proxies() (*fetch.Chooser, error) {
	switch path, inFile := strings.CutPrefix(s.Proxy, "@"); {
	case s.Proxy == "":
		return nil, nil
	case s.Proxy == environment:
		c, err := fetch.FromEnvironment(os.Getenv)
		if err != nil {
			return nil, fmt.Errorf("--proxy env: %w", err)
		}
		if len(c.Proxies()) == 0 {
			return nil, fmt.Errorf("--proxy env: neither http_proxy nor https_proxy is set; set them, or leave --proxy out")
		}
		return c, nil
	case inFile:
		raw, err := readSecret(path)
		if err != nil {
			return nil, fmt.Errorf("--proxy: %w", err)
		}
		p, err := fetch.Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("--proxy @%s: %w", path, err)
		}
		return fetch.Always(p), nil
	}
	p, err := fetch.Parse(s.Proxy)
	if err != nil {
		return nil, fmt.Errorf("--proxy: %w", err)
	}
	if p.HasCredentials() {
		return nil, fmt.Errorf("--proxy: others on this machine see a password on a command line, and settings are kept: " +
			"write the whole URL into a file that only you can read, and give --proxy @FILE")
	}
	return fetch.Always(p), nil
}

// absolute makes paths absolute, because resume may run in another directory.
func (s *Settings) absolute() error {
	for _, given := range [][]string{s.Auth, s.Header} {
		for i := range given {
			host, path, ok := strings.Cut(given[i], "=")
			whole, err := filepath.Abs(path)
			if err != nil {
				return fmt.Errorf("--auth and --header %s: %w", host, err)
			}
			if ok && path != "" {
				given[i] = host + "=" + whole
			}
		}
	}
	path, inFile := strings.CutPrefix(s.Proxy, "@")
	if !inFile {
		return nil
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("--proxy @%s: %w", path, err)
	}
	s.Proxy = "@" + whole
	return nil
}

// declareProxies describes the proxies for the archive, and how they limit an audit, without user or password.
func (s *Settings) declareProxies() (lines []string) {
	c, err := s.proxies()
	if err != nil {
		return []string{"unknown"} // FetchConfig has reported the error
	}
	all := c.Proxies()
	for _, scheme := range slices.Sorted(maps.Keys(all)) {
		p := all[scheme]
		line := p.String()
		if scheme != "" {
			line += ", only for " + scheme
		}
		if p.Blind() {
			line += "; it looks names up: addresses of hosts are unknown, hosts were judged by name, and no pace of addresses was kept"
		}
		lines = append(lines, line)
	}
	return lines
}

// readSecret reads the single line of a file that only its owner may read.
func readSecret(path string) (string, error) {
	text, err := readSecrets(path)
	if err != nil {
		return "", err
	}
	line := strings.TrimRight(text, "\r\n")
	if line == "" || strings.ContainsAny(line, "\r\n\x00") {
		return "", fmt.Errorf("%s: one line is expected", path)
	}
	return line, nil
}

// readSecrets reads a file that only its owner may read.
func readSecrets(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() { // resume could not read a pipe again
		return "", fmt.Errorf("%s: not a regular file", path)
	}
	// On Windows files have no mode.
	if m := info.Mode().Perm(); runtime.GOOS != "windows" && m&0o077 != 0 {
		return "", fmt.Errorf("%s may be read by others (mode %04o), and holds a secret: chmod 600 %s", path, m, path)
	}
	b, err := userfile.ReadAll(path, maxSecret)
	return string(b), err
}

// credentials returns those of --auth and --header. Its error quotes no possible secret.
func (s *Settings) credentials() (*fetch.Set, error) {
	if len(s.Auth)+len(s.Header) == 0 {
		return nil, nil
	}
	set := &fetch.Set{}
	auth := func(a canon.Authority, line string) error {
		field, err := fetch.ParseAuth(line)
		if err != nil {
			return err
		}
		return set.Add(a, field)
	}
	header := func(a canon.Authority, text string) error {
		fields, err := fetch.ParseFields(text)
		if err != nil {
			return err
		}
		return set.Add(a, fields...)
	}
	for _, from := range []struct {
		flag  string
		given []string
		read  func(path string) (string, error)
		add   func(a canon.Authority, text string) error
	}{{"--auth", s.Auth, readSecret, auth}, {"--header", s.Header, readSecrets, header}} {
		for _, given := range from.given {
			a, path, err := s.loginAt(from.flag, given)
			if err != nil {
				return nil, err
			}
			text, err := from.read(path)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", from.flag, a.Origin(), err)
			}
			if err := from.add(a, text); err != nil {
				return nil, fmt.Errorf("%s %s: %s: %w", from.flag, a.Origin(), path, err)
			}
		}
	}
	return set, nil
}

// loginAt reads HOST=FILE. A bare name means https at port 443, which a public host can prove; http is only for loopback.
func (s *Settings) loginAt(flag, given string) (a canon.Authority, path string, err error) {
	host, path, ok := strings.Cut(given, "=")
	if !ok || host == "" || path == "" {
		return a, "", errors.New(flag + ": write HOST=FILE: the name of one of your own hosts, and the file with the secret")
	}
	raw := host
	if !strings.Contains(raw, "://") {
		raw = "https://" + raw
	}
	u, err := canon.Parse(raw + "/")
	if err != nil || u.RequestURI() != "/" || strings.ContainsAny(raw, "@?#\\ ") {
		return a, "", errors.New(flag + ": the part before = is not a host: write www.your-domain.org or, on this machine, http://127.0.0.1:8080")
	}
	if a = u.Authority(); !s.mayOwn(a) {
		return a, "", fmt.Errorf("%s %s: credentials go only to your own hosts: this machine, without --own-site none, or a public name, "+
			"over https at its usual port; for one, add --own-site %[3]s and put there what curtsy identity own %[3]s prints", flag, a.Origin(), a.Host())
	}
	if _, err := os.Stat(path); err != nil && strings.ContainsAny(path, ": \t") { // a header field, or user and password
		return a, "", fmt.Errorf("%s %s: other users of this machine can see command lines, and settings are stored: "+
			"write the header field into a file that only you can read, and give the file", flag, a.Origin())
	}
	return a, path, nil
}

func (s *Settings) mayOwn(a canon.Authority) bool {
	if a.Loopback() {
		return !s.LoopbackForeign()
	}
	return a.Scheme() == "https" && a.HostPort() == a.Host() && slices.ContainsFunc(s.OwnNames(), func(name string) bool {
		host, err := OwnHost(name) // own reports an invalid name
		return err == nil && host == a.Host()
	})
}

// declareCredentials lists hosts and names of fields for the archive, without values.
func declareCredentials(set *fetch.Set) (lines []string) {
	for _, a := range set.Authorities() {
		var names []string
		for _, f := range set.Of(a) {
			names = append(names, f.Name)
		}
		lines = append(lines, a.Origin()+": "+strings.Join(names, ", "))
	}
	return lines
}

// The values of --own-site other than names of hosts.
const (
	OwnLoopback = "loopback"
	OwnNone     = "none"
)

// LoopbackForeign reports whether --own-site excludes even loopback from the operator's own hosts.
func (s *Settings) LoopbackForeign() bool { return slices.Contains(s.OwnSite, OwnNone) }

// OwnNames returns the public hosts in --own-site.
func (s *Settings) OwnNames() []string {
	return slices.DeleteFunc(slices.Clone(s.OwnSite), func(name string) bool { return name == OwnLoopback || name == OwnNone })
}

// own configures the operator's own hosts. It reads the key only if a host has to prove something.
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

// OwnHost returns the name of a public host in canonical form.
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
