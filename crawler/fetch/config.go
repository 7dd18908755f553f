package fetch

import (
	"cmp"
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
	"curtsy/storage/spool"
)

// Config configures a Fetcher. The zero value fetches from public addresses; see also Identity.CheckContact.
type Config struct {
	Identity Identity

	// Signer signs every request (package webbotauth). Nil sends them unsigned.
	Signer Signer

	// Resolve returns the addresses of a host name, in the order to be tried; a *net.DNSError with IsNotFound means
	// that the name does not exist. At most 64 calls run at once, those over a second not counted. Nil means the system's
	// resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)

	// Dial connects to address, "ip:port". Nil means a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Bind is the local address of connections that a nil Dial makes. The zero Addr leaves it to the system.
	Bind netip.Addr

	// Family restricts addresses. A host without one of that family fails with NoIPv4 or NoIPv6. Zero means any.
	Family Family

	// Proxy chooses the proxy for a host. Nil means none. Where a proxy looks names up itself, guard and pace have no
	// address to judge; see Fetcher.Addresses.
	Proxy *Chooser

	// AllowNet exempts addresses from the guard, whatever name leads to them (politeness rule 23).
	AllowNet []netip.Prefix

	// AllowAddr exempts an address and port given as a seed, only when the URL spells the address itself.
	AllowAddr []netip.AddrPort

	// AllowLocalhost are the loopback ports on which the name localhost, given as a seed, may be reached.
	AllowLocalhost []uint16

	// Refuse returns why an address may not be dialled, or nil: an opt-out (politeness rule 16). It is called before every
	// exchange, also over a kept connection. Nil refuses no address.
	Refuse func(netip.Addr) error

	// Credentials are header fields for the operator's hosts; see Request.Own. Nil means none.
	Credentials *Set

	// RootCAs are the certificates that TLS trusts. Nil means the system's.
	RootCAs *x509.CertPool

	// SpoolDir holds bodies over 256 KiB until Exchange.Close. Empty means os.TempDir().
	SpoolDir string

	// AcceptLanguage is the value of that field, which is not sent if empty.
	AcceptLanguage string

	// AcceptZstd offers the coding zstd beside gzip and br. Few tools read archives with bodies in it.
	AcceptZstd bool

	// MaxBody bounds the bytes of a decoded body. Zero means 100 MiB.
	MaxBody int64

	// MaxRate bounds the bytes per second read over all connections. Zero means no limit. Waiting for it counts against no
	// timeout.
	MaxRate int64

	// ConnectTimeout bounds each of lookup, connection to one address and TLS handshake. Zero means 10 s.
	ConnectTimeout time.Duration

	// FirstByteTimeout bounds the time from the request to the first byte of the response. Zero means 60 s.
	FirstByteTimeout time.Duration

	// IdleTimeout bounds the wait for any later byte, and for sending the request. Zero means 20 s.
	IdleTimeout time.Duration

	// WholeTimeout bounds the exchange. Zero means 20 min.
	WholeTimeout time.Duration

	// MinRate is the least average speed of a response over SpeedSpan in bytes per second; a slower one fails with ErrSlow
	// (politeness rule 25). Zero means 100; negative means any speed.
	MinRate int64

	// SpeedSpan is the time over which MinRate is measured, repeatedly from the first byte on. Zero means 30 s.
	SpeedSpan time.Duration

	// KeepAlive is how long an idle connection may be reused. Zero means 4 s, below the 5 s after which common servers
	// close. Negative means never: requests carry "Connection: close".
	KeepAlive time.Duration
}

// Defaults of Config that are settings elsewhere. The least speed is below the slowest modem still in use and above a
// trickle that only holds a connection.
const (
	DefaultMaxBody    = 100 << 20
	DefaultLeastSpeed = 100 // octets per second
	DefaultSpeedSpan  = 30 * time.Second
)

const (
	headLimit  = storage.MaxHead // bytes of response head, interim responses included (politeness rule 24)
	maxInterim = 16              // interim responses before the final one
	maxAddrs   = 3               // addresses tried in one exchange
	maxLookups = 64              // lookups at once that are not slow
	maxIdle    = 512             // idle connections in all
	readBuffer = 4 << 10         // bytes of a connection's read buffer
	copyBuffer = 32 << 10        // bytes of body copied at once
)

// Validate reports the first invalid setting.
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

func (c Config) defaults() Config {
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 10*time.Second)
	c.FirstByteTimeout = cmp.Or(c.FirstByteTimeout, 60*time.Second)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 20*time.Second)
	c.WholeTimeout = cmp.Or(c.WholeTimeout, 20*time.Minute)
	c.SpeedSpan = cmp.Or(c.SpeedSpan, DefaultSpeedSpan)
	c.KeepAlive = cmp.Or(c.KeepAlive, 4*time.Second)
	c.MaxBody = cmp.Or(c.MaxBody, DefaultMaxBody)
	c.MinRate = cmp.Or(c.MinRate, DefaultLeastSpeed)
	c.SpoolDir = cmp.Or(c.SpoolDir, os.TempDir())
	if c.Resolve == nil {
		c.Resolve = lookUpBySystem
	}
	if c.Dial == nil {
		// TCP probes are for long silences; idle connections end after seconds.
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
	c       Config // with defaults
	contact error  // why only loopback may be contacted; nil if every host may
	fields  string // of every request
	tls     *tls.Config
	idle    idleLines

	memory   sync.Pool // *spool.Spool, of bodies
	copies   sync.Pool // *[]byte of copyBuffer bytes
	decoders coding.Pool
	large    chan struct{} // semaphore of decoders with a large window
	names    *names
	budget   *budget // nil without Config.MaxRate

	leastInSpan int64 // bytes required in each Config.SpeedSpan; zero or less for any
}

// New returns a Fetcher. Its error is that of Config.Validate.
func New(c Config) (*Fetcher, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.defaults()
	fields := "User-Agent: " + c.Identity.UserAgent() + "\r\n"
	if from := c.Identity.From(); from != "" {
		fields += "From: " + from + "\r\n"
	}
	return &Fetcher{
		c:       c,
		contact: c.Identity.checkContact(),
		fields:  fields,
		tls:     &tls.Config{RootCAs: c.RootCAs, NextProtos: []string{"http/1.1"}},
		idle:    idleLines{lines: map[canon.Authority][]*connection{}, life: c.KeepAlive},
		memory: sync.Pool{New: func() any {
			s := &spool.Spool{Dir: c.SpoolDir, Pattern: "curtsy-body-*"}
			s.Grow(spoolFirst)
			return s
		}},
		copies: sync.Pool{New: func() any { b := make([]byte, copyBuffer); return &b }},
		large:  make(chan struct{}, largeDecoders),
		names:  newNames(c.Resolve, c.ConnectTimeout),
		budget: newBudget(c.MaxRate),

		leastInSpan: int64(float64(c.MinRate) * c.SpeedSpan.Seconds()),
	}, nil
}

// CloseIdle closes the idle connections to a.
func (f *Fetcher) CloseIdle(a canon.Authority) {
	for l := f.idle.remove(a); l != nil; l = f.idle.remove(a) {
		l.close()
	}
}

// Close closes the idle connections and keeps no others: an exchange still under way ends as usual and closes its own.
// The error is always nil.
func (f *Fetcher) Close() error {
	for _, l := range f.idle.shut() {
		l.close()
	}
	return nil
}

// Identity identifies the crawler (politeness rules 1 and 2). Operator and Purpose are for archive and report only.
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

// ProductToken returns the token by which robots.txt groups name the crawler.
func (id Identity) ProductToken() string { return cmp.Or(id.Token, ownToken) }

// UserAgent returns "<token>/<version> (+<contact>) curtsy/<version>", so that the header and the robots.txt group
// cannot diverge. The last part appears only after another token, the parenthesis only with a contact.
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

// From returns the mailbox to send as From (RFC 9110 10.1.2); empty if the contact is not a mailbox.
func (id Identity) From() string {
	if _, ok := mailDomain(id.Contact); ok {
		return id.Contact
	}
	return ""
}

// Validate reports a token outside RFC 9309 2.2.1 or of a known crawler or browser, a version that is not a token
// (RFC 9110 5.6.2), or a contact that is neither URL nor mailbox.
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

// takenBy returns the known crawler or browser that token names, also as its first part ("Mozilla-x"), because some
// robots.txt matchers compare prefixes.
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

// CheckContact returns an error without a contact, or for one in a reserved domain. Only loopback may be contacted then.
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

// contactHost returns the host of the contact's URL or mailbox.
func (id Identity) contactHost() (string, error) {
	c := id.Contact
	// The contact is sent in a comment of User-Agent, where parentheses and backslash have a meaning (RFC 9110 5.6.5).
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

// placeholder is the domain in examples of README and guides.
const placeholder = "your-domain.org"

// unreachable returns why host cannot be a contact; empty if it can.
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
