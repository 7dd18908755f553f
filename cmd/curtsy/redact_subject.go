package main

import (
	"fmt"
	"net/netip"
	"strings"

	"curtsy/cmd/curtsy/cli"
	"curtsy/frontier/canon"
	"curtsy/storage/optout"
	"curtsy/storage/plainly"
	"curtsy/storage/redact"
)

// subject is what a user means.
type subject struct {
	redact.Subject
	kind  string // of the words below
	entry string // of opt-out lists, for the same
}

// The kinds of subjects.
const (
	kindURL    = "url"
	kindPart   = "part of a host"
	kindHost   = "host"
	kindDomain = "domain"
)

// parseSubject reads what stands on the command line. With a scheme and a path it is that URL alone; else it is an
// entry as in opt-out lists, whose package says what is under it.
func parseSubject(text string) (s subject, err error) {
	_, rest, schemed := strings.Cut(text, "://")
	if schemed && strings.Contains(rest, "/") {
		return urlSubject(text)
	}
	return entrySubject(text)
}

// urlSubject is one URL.
func urlSubject(text string) (s subject, err error) {
	if prefix, starred := strings.CutSuffix(text, "*"); starred {
		_, rest, _ := strings.Cut(prefix, "://")
		return s, cli.Usagef("%s: * is taken literally; for all URLs of the host that begin so write %s, without the scheme",
			plainly.OneLine(text), plainly.OneLine(rest))
	}
	u, err := cli.URL(text)
	if err != nil {
		return s, err
	}
	if u.RequestURI() == "/robots.txt" {
		return s, cli.Usagef("%s bound the crawl, which cannot be judged without it: it is removed only with everything of its host (--all) and not before", u)
	}
	s = subject{kind: kindURL, entry: u.String() + "$"}
	s.Text = u.String()
	key := u.Key()
	s.Covers = func(raw string) bool {
		other, err := canon.Parse(raw)
		return err == nil && other.Key() == key
	}
	return s, nil
}

// entrySubject is what an entry of an opt-out list means.
func entrySubject(text string) (s subject, err error) {
	if _, err := netip.ParsePrefix(text); err == nil {
		return s, cli.Usagef("%s is a network, and the archive is ordered by URL: name the hosts (curtsy report lists them)", plainly.OneLine(text))
	}
	if strings.ContainsAny(text, "\t\n\r#") || strings.TrimSpace(text) != text {
		return s, cli.Usagef("%s is not a host, URL, or host/path", plainly.OneLine(text))
	}
	list, err := optout.Parse("", []byte(text))
	if err != nil || len(list.Entries()) != 1 {
		return s, cli.Usagef("%s: name a host, a URL, a .domain, or host/path: %w", plainly.OneLine(text), bare(err))
	}
	s = subject{kind: kindHost, entry: text}
	s.Text, s.Host = text, true
	site := text[strings.Index(text, "://")+1:]
	switch _, path, has := strings.Cut(strings.TrimLeft(site, "/"), "/"); {
	case strings.HasPrefix(text, "."):
		s.kind = kindDomain
	case strings.HasSuffix(text, "$"):
		s.kind, s.Host = kindURL, false
	case has && path != "":
		s.kind, s.Host = kindPart, false
	}
	s.Covers = func(raw string) bool {
		u, err := canon.Parse(raw)
		if err != nil {
			return false
		}
		_, under := list.URL(u)
		return under
	}
	return s, nil
}

// bare is an error of a list of one line without its place.
func bare(err error) error {
	if err == nil {
		return fmt.Errorf("invalid entry")
	}
	text := err.Error()
	if i := strings.Index(text, `": `); i >= 0 {
		text = text[i+3:]
	}
	return fmt.Errorf("%s", text)
}

// means says what a subject is, for people.
func (s *subject) means() string {
	switch s.kind {
	case kindURL:
		return "only the URL " + s.Text
	case kindPart:
		return "all URLs that begin with " + s.Text
	case kindDomain:
		return "the domain " + s.Text[1:] + " with everything below it"
	}
	return "the host " + s.Text
}

// of is means behind the word "of".
func (s *subject) of() string {
	if s.kind == kindPart {
		return "the URLs that begin with " + s.Text
	}
	return strings.TrimPrefix(s.means(), "only ")
}
