package policypage

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Statement is what a crawler says of itself.
type Statement struct {
	Token     string // the name that robots.txt knows
	UserAgent string // as requests carry it
	Operator  string
	Purpose   string
	Contact   string         // a mailbox or an http(s) URL
	Retention string         // how long data is kept
	Ranges    []netip.Prefix // the addresses that requests come from; none if they are not fixed
	Key       string         // the verifier key of ledgers; empty if there is none
	Earlier   []EarlierKey   // those that it took the place of, the oldest first
	Directory string         // where the keys of signed requests are published; empty if requests are not signed
	URL       string         // where the page is published; empty if that is not known yet
	Made      time.Time
}

// An EarlierKey is a verifier key that another took the place of.
type EarlierKey struct {
	Key   string
	Until time.Time
}

// The most characters of each text, and the most ranges.
const (
	MaxOperator  = 200
	MaxPurpose   = 2000
	MaxRetention = 1000
	MaxRanges    = 1000
	maxURL       = 2048
)

// Text refuses what cannot stand on the page as one paragraph of at most so many characters.
func Text(s string, most int) error {
	switch {
	case strings.TrimSpace(s) == "":
		return errors.New("it is empty")
	case !utf8.ValidString(s):
		return errors.New("it is not UTF-8")
	case utf8.RuneCountInString(s) > most:
		return fmt.Errorf("it has over %d characters", most)
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		r, _ := utf8.DecodeRuneInString(s[i:])
		return fmt.Errorf("it has the control character %q", r)
	}
	return nil
}

// PageURL refuses what cannot be the address of the page: other documents stand beside it.
func PageURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || len(s) > maxURL:
		return errors.New("write an http or https URL, like https://www.your-domain.org/crawler.html")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(s, "#"):
		return errors.New("a page that others have to find has no user name, query or fragment in its URL")
	case strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsGraphic(r) || r == ' ' }) >= 0:
		return errors.New("write it in ASCII, without spaces: %20 for a space")
	}
	return nil
}

// ParseRange reads an address or a network. Bits below its length are cleared.
func ParseRange(s string) (netip.Prefix, error) {
	s = strings.TrimSpace(s)
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil || p.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%q is not a network: write it like 192.0.2.0/28 or 2001:db8::/48", s)
	}
	return p.Masked(), nil
}

// SortRanges puts ranges in their order, each once.
func SortRanges(ps []netip.Prefix) []netip.Prefix {
	ps = slices.Clone(ps)
	slices.SortFunc(ps, netip.Prefix.Compare)
	return slices.Compact(ps)
}

// The names of the documents beside the page.
const (
	RangesName = "crawler-ranges.json"
	CardName   = "agent-card.json"
)

// PageName is the name of the page's file: the last part of its URL where that names a file, or index.html.
func (s *Statement) PageName() string {
	u, err := url.Parse(s.URL)
	if err != nil || s.URL == "" || u.Path == "" || strings.HasSuffix(u.Path, "/") {
		return "index.html"
	}
	name := path.Base(u.Path)
	if strings.ContainsAny(name, "\\:\x00") || name == "." || name == ".." {
		return "index.html"
	}
	if !strings.Contains(name, ".") { // served without its ending
		name += ".html"
	}
	return name
}

// beside is where a document beside the page is published; its name alone if the page's URL is not known.
func (s *Statement) beside(name string) string {
	u, err := url.Parse(s.URL)
	if err != nil || s.URL == "" {
		return name
	}
	return u.ResolveReference(&url.URL{Path: name}).String()
}

// ContactURI is a contact as a link leads to it.
func ContactURI(contact string) string {
	if strings.Contains(contact, "://") || contact == "" {
		return contact
	}
	return "mailto:" + contact
}

// https returns s if that is an https URL, which drafts demand of some members, and nothing otherwise.
func https(s string) string {
	if strings.HasPrefix(s, "https://") {
		return s
	}
	return ""
}
