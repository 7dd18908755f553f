package crawldir

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"curtsy/crawler/fetch"
	"curtsy/frontier/canon"
)

// ownHosts says which hosts may be the operator's own: names of public hosts, which are to prove it, and whether loopback is.
type ownHosts struct {
	Names    []string
	Loopback bool
}

// Credentials are those that --auth and --header name. The error quotes nothing that may be a secret.
func (s settings) Credentials(own ownHosts) (*fetch.Set, error) {
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
			a, path, err := own.parse(from.flag, given)
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

// parse reads HOST=FILE. A name alone means https at its usual port, which is what a public host can prove; http is for
// loopback alone, and only where it is written.
func (o ownHosts) parse(flag, given string) (a canon.Authority, path string, err error) {
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
	if a = u.Authority(); !o.may(a) {
		return a, "", fmt.Errorf("%s %s: credentials go only to hosts that are proved to be your own: %s", flag, a.Origin(), o.how(a))
	}
	if _, err := os.Stat(path); err != nil && looksLikeField(path) {
		return a, "", fmt.Errorf("%s %s: other users of this machine can see command lines, and settings are stored: "+
			"write the header field into a file that only you can read, and give the file", flag, a.Origin())
	}
	return a, path, nil
}

// may reports whether a can be an own host at all.
func (o ownHosts) may(a canon.Authority) bool {
	if a.Loopback() {
		return o.Loopback
	}
	return a.Scheme() == "https" && a.HostPort() == a.Host() && slices.Contains(o.Names, a.Host())
}

// how is what makes a an own host, if anything does.
func (o ownHosts) how(a canon.Authority) string {
	switch _, literal := a.Addr(); {
	case a.Loopback():
		return "--own-site none says that this machine's are not"
	case literal || !strings.Contains(a.Host(), "."):
		return "only a host with a public name can prove that it is"
	case a.Scheme() != "https" || a.HostPort() != a.Host():
		return "the proof is of https at its usual port, and of nothing else; write " + a.Host()
	}
	return "add --own-site " + a.Host() + ", and put there what curtsy identity own " + a.Host() + " prints"
}

// looksLikeField reports whether what should be a file is a header field, or user and password.
func looksLikeField(s string) bool { return strings.Contains(s, ":") || strings.ContainsAny(s, " \t") }

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
