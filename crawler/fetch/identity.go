package fetch

import (
	_ "embed"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
)

// Identity is who asks (politeness rules 1 and 2). Operator and Purpose are for archive and report; they are not sent.
type Identity struct {
	Token    string // product token; empty means "curtsy"
	Version  string // of curtsy; empty leaves the versions out
	Contact  string // an http or https URL, or a mailbox; empty is enough for loopback only
	Operator string
	Purpose  string
}

const (
	ownToken   = "curtsy"
	maxToken   = 64  // octets
	maxContact = 256 // octets
)

// ProductToken returns the token that groups of robots.txt name us by.
func (id Identity) ProductToken() string {
	if id.Token == "" {
		return ownToken
	}
	return id.Token
}

// UserAgent returns "<token>/<version> (+<contact>) curtsy/<version>": derived from the token, so that the header and
// the robots group that binds us cannot diverge. The last part stands only beside another token, the parenthesis only
// with a contact.
func (id Identity) UserAgent() string {
	version := ""
	if id.Version != "" {
		version = "/" + id.Version
	}
	s := id.ProductToken() + version
	if id.Contact != "" {
		s += " (+" + id.Contact + ")"
	}
	if !strings.EqualFold(id.ProductToken(), ownToken) {
		s += " " + ownToken + version
	}
	return s
}

// From returns the mailbox to be sent as From (RFC 9110 10.1.2); empty when the contact is none.
func (id Identity) From() string {
	if _, ok := mailDomain(id.Contact); ok {
		return id.Contact
	}
	return ""
}

// Validate reports what cannot be sent or must not be claimed: a token outside RFC 9309 2.2.1 or of a known crawler or
// browser, a version that is no token of RFC 9110 5.6.2, a contact that is neither URL nor mailbox.
func (id Identity) Validate() error {
	token := id.ProductToken()
	if len(token) > maxToken || strings.Trim(token, letters+"-_") != "" || strings.Trim(token, "-_") == "" {
		return fmt.Errorf("fetch: agent %q: a product token has letters, \"-\" and \"_\" only (RFC 9309 2.2.1), at most %d",
			token, maxToken)
	}
	if taken := takenBy(token); taken != "" {
		return fmt.Errorf("fetch: agent %q: is that of %s; choose a name of your own", token, taken)
	}
	if len(id.Version) > maxToken || strings.Trim(id.Version, letters+"0123456789!#$%&'*+-.^_`|~") != "" {
		return fmt.Errorf("fetch: version %q: not a token (RFC 9110 5.6.2)", id.Version)
	}
	if id.Contact == "" {
		return nil
	}
	if _, err := id.contactHost(); err != nil {
		return fmt.Errorf("fetch: %w", err)
	}
	return nil
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

//go:embed tokens.txt
var tokens string

// takenBy returns the known crawler or browser that token names, alone or as its first part ("Mozilla-x"): matchers
// that take a prefix for the name would obey its group.
func takenBy(token string) string {
	lower := strings.ToLower(token)
	for line := range strings.Lines(tokens) {
		known := strings.TrimSpace(line)
		if known == "" || known[0] == '#' {
			continue
		}
		rest, ok := strings.CutPrefix(lower, strings.ToLower(known))
		if ok && (rest == "" || rest[0] == '-' || rest[0] == '_') {
			return known
		}
	}
	return ""
}

// CheckContact reports whether a webmaster could reach us: an error without a contact, or with one in a domain that
// nobody can have. Required before any host but loopback is asked for anything.
func (id Identity) CheckContact() error {
	if err := id.checkContact(); err != nil {
		return fmt.Errorf("fetch: %w", err)
	}
	return nil
}

func (id Identity) checkContact() error {
	const what = "your mailbox, or the URL of a page about your crawler"
	if id.Contact == "" {
		return fmt.Errorf("no contact is set: curtsy sends every site, except on loopback, an address where its owner can reach you; set it once with curtsy identity set --contact ADDRESS (%s)", what)
	}
	host, err := id.contactHost()
	if err != nil {
		return err
	}
	if why := unreachable(host); why != "" {
		return fmt.Errorf("contact %q: %s %s; set an address of your own with curtsy identity set --contact ADDRESS (%s)", id.Contact, host, why, what)
	}
	return nil
}

// contactHost returns the host of the contact's URL, or the domain of its mailbox.
func (id Identity) contactHost() (string, error) {
	c := id.Contact
	// The contact stands in a comment of User-Agent, where parentheses and backslash have a meaning (RFC 9110 5.6.5).
	if len(c) > maxContact || !graphic(c) || strings.ContainsAny(c, `()\`) {
		return "", fmt.Errorf("contact %q: at most %d visible ASCII characters, without parentheses and backslash", c, maxContact)
	}
	if domain, ok := mailDomain(c); ok {
		return domain, nil
	}
	u, err := url.Parse(c)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return "", fmt.Errorf("contact %q: neither an http or https URL nor a mailbox", c)
	}
	return u.Hostname(), nil
}

// mailDomain returns the domain of a bare mailbox.
func mailDomain(s string) (domain string, ok bool) {
	if !graphic(s) || strings.ContainsAny(s, `()\":/<>,;`) {
		return "", false
	}
	a, err := mail.ParseAddress(s)
	if err != nil || a.Address != s {
		return "", false
	}
	return s[strings.LastIndexByte(s, '@')+1:], true
}

// placeholder is the domain that README and the guides write where the reader's own belongs.
const placeholder = "your-domain.org"

// unreachable says why host cannot be where a webmaster writes to; empty when it can.
func unreachable(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return "is an address, not a name"
	}
	for _, d := range []string{
		"example", "example.com", "example.net", "example.org", "test", "invalid", "localhost", // RFC 2606, RFC 6761
		placeholder,
		"local",     // RFC 6762
		"home.arpa", // RFC 8375
		"onion",     // RFC 7686
		"alt",       // RFC 9476
		"internal",  // ICANN Board resolution 2024.07.29.06
	} {
		if host == d || strings.HasSuffix(host, "."+d) {
			if d == placeholder {
				return "is an example from the documentation, not yours"
			}
			if host == d {
				return "is a reserved domain"
			}
			return "is in the reserved domain " + d
		}
	}
	if !strings.Contains(host, ".") {
		return "has no dot: it names no host on the Internet"
	}
	return ""
}
