package crawldir

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/fetch"
)

// environment is the word of --proxy that stands for the proxies of the environment.
const environment = "env"

// maxSecret bounds a file with a secret.
const maxSecret = 64 << 10

// proxies are those that --proxy names. A URL with a password is refused, for a command line is seen by all users of a
// machine, and settings are kept in the crawl directory and bound by the ledger: such a URL comes from a file.
func (s settings) proxies() (*fetch.Chooser, error) {
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

// Absolute makes paths absolute: resume may be called elsewhere.
func (s *settings) Absolute() error {
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

// Declare says in the archive which proxies the requests go through, and which kind of judgement that leaves. It has no
// user and no password.
func (s settings) Declare() (lines []string) {
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
	if err := onlyOwners(path, info); err != nil {
		return "", err
	}
	b, err := userfile.ReadAll(path, maxSecret)
	if err != nil {
		return "", err
	}
	return string(b), nil
}
