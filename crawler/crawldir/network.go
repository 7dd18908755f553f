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

// way puts into c which way the crawl goes out. Its error names the setting that is wrong, and what to write instead.
func (s *Settings) way(c *fetch.Config) error {
	switch {
	case s.IPv4 && s.IPv6:
		return fmt.Errorf("--ipv4 and --ipv6 exclude each other: write --ipv4=false or --ipv6=false")
	case s.IPv4:
		c.Family = fetch.IPv4
	case s.IPv6:
		c.Family = fetch.IPv6
	}
	if s.Bind != "" { // it decides the family, too: from an IPv4 address nothing leads to IPv6
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

// environment is the value of --proxy that selects the proxies of the environment.
const environment = "env"

// maxSecret bounds a file with a secret.
const maxSecret = 64 << 10

// proxies are those that --proxy names. A URL with a password is refused, for a command line is seen by all users of a
// machine, and settings are kept in the crawl directory and bound by the ledger: such a URL comes from a file.
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

// absolute makes paths absolute: resume may be called elsewhere.
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

// declareProxies says in the archive which proxies the requests go through, and which kind of judgement that leaves. It has no
// user and no password.
func (s *Settings) declareProxies() (lines []string) {
	c, err := s.proxies()
	if err != nil {
		return []string{"unknown"} // FetchConfig has said why
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

// readSecret reads the one line of a file that its owner alone may read.
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

// readSecrets reads a file that its owner alone may read.
func readSecrets(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() { // of a pipe nothing is left for resume
		return "", fmt.Errorf("%s: not a regular file", path)
	}
	// A secret that lies open is told to whoever looks. On Windows files have no mode.
	if m := info.Mode().Perm(); runtime.GOOS != "windows" && m&0o077 != 0 {
		return "", fmt.Errorf("%s may be read by others (mode %04o), and holds a secret: chmod 600 %s", path, m, path)
	}
	b, err := userfile.ReadAll(path, maxSecret)
	if err != nil {
		return "", err
	}
	return string(b), nil
}

// credentials are those that --auth and --header name. The error quotes nothing that may be a secret.
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

// loginAt reads HOST=FILE. A name alone means https at its usual port, which is what a public host can prove; http is for
// loopback alone, and only where it is written.
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

// mayOwn reports whether a can be an own host at all.
func (s *Settings) mayOwn(a canon.Authority) bool {
	if a.Loopback() {
		return !s.LoopbackForeign()
	}
	return a.Scheme() == "https" && a.HostPort() == a.Host() && slices.ContainsFunc(s.OwnNames(), func(name string) bool {
		host, err := OwnHost(name) // own says what is wrong with a name
		return err == nil && host == a.Host()
	})
}

// declareCredentials says in the archive which hosts got which fields. It has no value.
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
