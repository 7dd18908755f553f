package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/coding"
)

// Config is what a Fetcher is made with. The zero value is complete: it fetches from public addresses, but see
// Identity.CheckContact.
type Config struct {
	Identity Identity

	// Signer signs every request (package webbotauth). Nil sends them unsigned.
	Signer Signer

	// Resolve returns the addresses of a host name, in the order to be tried; a *net.DNSError with IsNotFound says
	// that the name does not exist. It is asked at most 64 times at once, those not counted that take over a second. Nil
	// means the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)

	// Dial connects to address, "ip:port", the very one that was picked and guarded. Nil means a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Bind is the local address of all connections that a nil Dial makes. The zero Addr leaves it to the system.
	Bind netip.Addr

	// Family is the one kind of addresses that hosts are asked at. A host without such an address fails with NoIPv4 or
	// NoIPv6. Zero means both.
	Family Family

	// Proxy says which proxy leads to a host. Nil means none to any. Where a proxy looks names up itself, guard and pace
	// have no address to judge; see Fetcher.Addresses.
	Proxy *Chooser

	// AllowNet exempts addresses from the guard, whatever name leads to them (politeness rule 23).
	AllowNet []netip.Prefix

	// AllowAddr exempts literal addresses given as seeds: that address and port, and only when the URL spells the
	// address itself. A name exempts nothing.
	AllowAddr []netip.AddrPort

	// AllowLocalhost are the ports on which the name localhost, given as a seed, may be reached on loopback.
	AllowLocalhost []uint16

	// Refuse says why an address may not be dialled whatever else holds, or nil: an opt-out (politeness rule 16). It is
	// asked before every exchange, kept connections included. Nil refuses nothing.
	Refuse func(netip.Addr) error

	// Credentials are header fields for hosts of the operator's own; see Request.Own. Nil means none.
	Credentials *Set

	// RootCAs are the certificates that TLS trusts. Nil means the system's.
	RootCAs *x509.CertPool

	// SpoolDir is where bodies over 256 KiB lie until Exchange.Close. Empty means os.TempDir().
	SpoolDir string

	// AcceptLanguage is the value of that field. Empty means it is not sent.
	AcceptLanguage string

	// AcceptZstd offers the coding zstd beside gzip and br. Few tools read archives with bodies in it.
	AcceptZstd bool

	// MaxBody is the most octets of a decoded body. Zero means 100 MiB.
	MaxBody int64

	// MaxRate is the most octets per second that are read, over all connections together. Zero means no limit. Time spent
	// waiting for it counts against no time-out.
	MaxRate int64

	// ConnectTimeout bounds, each on its own, the look-up, the connection to one address and the TLS handshake. Zero
	// means 10 s.
	ConnectTimeout time.Duration

	// FirstByteTimeout bounds the wait from the request to the first octet of the answer. Zero means 60 s.
	FirstByteTimeout time.Duration

	// IdleTimeout bounds the wait for any later octet, and for the connection to take the request. Zero means 20 s.
	IdleTimeout time.Duration

	// WholeTimeout bounds the exchange. Zero means 20 min.
	WholeTimeout time.Duration

	// MinRate is how many octets of an answer per second must come, head included and on average over SpeedSpan; an
	// answer that comes more slowly fails with ErrSlow (politeness rule 25). Zero means 100; negative means any speed.
	MinRate int64

	// SpeedSpan is the time over which MinRate is measured, again and again from the first octet. Zero means 30 s.
	SpeedSpan time.Duration

	// KeepAlive is how long an idle connection may be used again. Zero means 4 s, below the 5 s after which common
	// servers close. Negative means never: requests carry "Connection: close".
	KeepAlive time.Duration
}

// The defaults of Config that are settings elsewhere. The least speed is slower than the slowest modem still in use,
// faster than any trickle that only means to hold a connection.
const (
	DefaultMaxBody    = 100 << 20
	DefaultLeastSpeed = 100 // octets per second
	DefaultSpeedSpan  = 30 * time.Second
)

// The bounds that are no setting.
const (
	headLimit  = storage.MaxHead // octets of response head, interim responses included (politeness rule 24)
	maxInterim = 16              // interim responses before the final one
	maxAddrs   = 3               // addresses tried in one exchange
	maxLookups = 64              // look-ups at once that are not slow
	maxIdle    = 512             // idle connections in all
	readBuffer = 4 << 10         // octets of a connection's read buffer
	copyBuffer = 32 << 10        // octets of body moved at once
)

// Validate reports the first setting that no exchange could be made with.
func (c Config) Validate() error {
	if err := c.Identity.Validate(); err != nil {
		return err
	}
	if !httpguts.ValidHeaderFieldValue(c.AcceptLanguage) {
		return fmt.Errorf("fetch: accept-language %q: not the value of a header field", c.AcceptLanguage)
	}
	if c.MaxBody < 0 {
		return fmt.Errorf("fetch: largest body %d: negative", c.MaxBody)
	}
	if c.MaxRate < 0 {
		return fmt.Errorf("fetch: max-rate %d: negative", c.MaxRate)
	}
	if c.Bind.IsValid() && !c.Family.has(c.Bind) {
		return fmt.Errorf("fetch: bind %s: no connection to %s leaves from there", c.Bind, c.Family)
	}
	for _, d := range []time.Duration{c.ConnectTimeout, c.FirstByteTimeout, c.IdleTimeout, c.WholeTimeout, c.SpeedSpan} {
		if d < 0 {
			return fmt.Errorf("fetch: time-out %v: negative", d)
		}
	}
	return nil
}

// defaults returns c with every zero replaced.
func (c Config) defaults() Config {
	for _, d := range []struct {
		field *time.Duration
		zero  time.Duration
	}{
		{&c.ConnectTimeout, 10 * time.Second},
		{&c.FirstByteTimeout, 60 * time.Second},
		{&c.IdleTimeout, 20 * time.Second},
		{&c.WholeTimeout, 20 * time.Minute},
		{&c.SpeedSpan, DefaultSpeedSpan},
		{&c.KeepAlive, 4 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.zero
		}
	}
	if c.MaxBody == 0 {
		c.MaxBody = DefaultMaxBody
	}
	if c.MinRate == 0 {
		c.MinRate = DefaultLeastSpeed
	}
	if c.SpoolDir == "" {
		c.SpoolDir = os.TempDir()
	}
	if c.Resolve == nil {
		c.Resolve = lookUpBySystem
	}
	if c.Dial == nil {
		// Probes of TCP are for long silences; ours end after seconds.
		d := &net.Dialer{KeepAlive: -1}
		if c.Bind.IsValid() {
			d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.Bind, 0))
		}
		c.Dial = d.DialContext
	}
	return c
}

// Fetcher makes exchanges. Its methods may be called concurrently. Close it when done.
type Fetcher struct {
	c       Config // without zeros
	contact error  // why nothing but loopback may be asked; nil when everything may
	fields  string // the header fields that every request carries alike
	tls     *tls.Config
	idle    idleLines

	memory   sync.Pool // *spool.Spool, of bodies
	copies   sync.Pool // *[]byte of copyBuffer octets
	decoders coding.Pool
	large    chan struct{} // has an element for each decoder with a large window
	names    *names
	budget   *budget // nil without Config.MaxRate

	leastInSpan int64 // octets that must come in each Config.SpeedSpan; zero or less for any
}

// New returns a Fetcher, or what is wrong with c.
func New(c Config) (*Fetcher, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.defaults()
	return &Fetcher{
		c:       c,
		contact: c.Identity.checkContact(),
		fields:  commonFields(c.Identity),
		tls:     &tls.Config{RootCAs: c.RootCAs, NextProtos: []string{"http/1.1"}},
		idle:    idleLines{lines: map[canon.Authority][]*connection{}, life: c.KeepAlive},
		memory:  sync.Pool{New: newSpool(c.SpoolDir)},
		copies:  sync.Pool{New: func() any { b := make([]byte, copyBuffer); return &b }},
		large:   make(chan struct{}, largeDecoders),
		names:   newNames(c.Resolve, c.ConnectTimeout),
		budget:  newBudget(c.MaxRate),

		leastInSpan: int64(float64(c.MinRate) * c.SpeedSpan.Seconds()),
	}, nil
}

// CloseIdle closes the idle connections to a: a's queue has run dry.
func (f *Fetcher) CloseIdle(a canon.Authority) {
	for l := f.idle.remove(a); l != nil; l = f.idle.remove(a) {
		l.close()
	}
}

// Close closes the idle connections and keeps no others: an exchange still going on ends as usual and closes its own.
// The error is always nil; it makes a Fetcher an io.Closer.
func (f *Fetcher) Close() error {
	for _, l := range f.idle.shut() {
		l.close()
	}
	return nil
}

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
