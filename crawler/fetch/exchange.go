package fetch

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"curtsy/frontier/canon"
	"curtsy/storage"
)

// Request says what to ask for.
type Request struct {
	URL canon.URL

	// Head asks for the head alone, by HEAD. The method is GET otherwise. The answer is one without its body, as if that was not wanted:
	// Truncated says so.
	Head bool

	// Addr is the address that the exchange goes to, one of Fetcher.Addresses: a fresh connection is made to it and to no
	// other, and a kept one is used only if it leads there. The guard judges it again. Zero means any, in order.
	Addr netip.AddrPort

	// Own is the authority that the caller knows to be the operator's own: the fields of Config.Credentials go to it, and to no
	// other, whatever URL has. The zero value sends none.
	Own canon.Authority

	// Accept is the value of that field. Empty means one that prefers pages and takes anything.
	Accept string

	// IfNoneMatch and IfModifiedSince make the request conditional (RFC 9110 13.1). They come from an earlier answer;
	// a value that is not fit for a header field is left out, which makes the request unconditional and so right.
	IfNoneMatch, IfModifiedSince string

	// MaxBody is the most octets of a decoded body. Zero means Config.MaxBody.
	MaxBody int64

	// Partial asks for the body up to MaxBody even when its declared length is over that: the beginning of an oversized
	// robots.txt counts (RFC 9309 2.5).
	Partial bool

	// FirstByteTimeout and WholeTimeout take the place of those of Config, when not zero: some requests are worth less
	// patience than a page.
	FirstByteTimeout, WholeTimeout time.Duration

	// Begin, if not nil, is called when a connection stands and the request is about to go out over it, Begun once it has
	// gone out, or could not: Begun follows each Begin that returns no error. Begin may wait, which counts against no
	// time-out; its error ends the exchange. Where a kept connection proves dead, both are called again for the fresh one.
	Begin func(ctx context.Context) error
	Begun func()

	// Meter, if not nil, is told how the exchange goes on.
	Meter *Meter

	// Want is called once the final response head is there. A reason stops before the body; it becomes
	// Exchange.Unwanted, and the connection is closed. Nil wants everything.
	Want func(status int, h http.Header) (reason string)

	// Lines is how many idle connections to the authority may be kept, this one among them. Zero means 1.
	Lines int
}

// Meter tells how an exchange goes on, to whoever wants to know while it does.
type Meter struct {
	octets, ours atomic.Int64
}

// Octets is how many octets have been read of the answer.
func (m *Meter) Octets() int64 { return m.octets.Load() }

// Ours is how long the exchange has waited for us and not for the host: in Request.Begin, and for Config.MaxRate. A
// wait counts when it is over.
func (m *Meter) Ours() time.Duration { return time.Duration(m.ours.Load()) }

// add notes so many octets and a wait of ours. A nil Meter takes no notes.
func (m *Meter) add(octets int, wait time.Duration) {
	if m != nil {
		m.octets.Add(int64(octets))
		m.ours.Add(int64(wait))
	}
}

// TooLarge is the Exchange.Unwanted of a body whose declared length is over the cap.
const TooLarge = "too large"

// The values of Exchange.Truncated, in the words of WARC 1.1 5.13.
const (
	CutLength     = "length"      // a cap of ours
	CutTime       = "time"        // a time-out
	CutDisconnect = "disconnect"  // the connection ended
	CutOther      = "unspecified" // it was not wanted, or made no sense
)

// Exchange is one request and what came of it. It must be closed.
type Exchange struct {
	URL    canon.URL
	Addr   netip.AddrPort // the address dialled, or that a proxy was told; zero when it did not come to that, or a proxy alone knows it
	Proxy  string         // the proxy it went through, without user and password; empty for none
	Reused bool           // over a connection that had carried an exchange before

	// Start is when the first octet of the request was sent or, if it did not come to that, when work began. End is
	// when the last octet was read, or the failure.
	Start, End time.Time

	// ResponseTime is from the request sent to the first octet of the answer, without look-up, connect and TLS
	// (politeness rule 9). It is at least 1 ns when an answer began, and zero when none did.
	ResponseTime time.Duration

	Request  []byte            // octets sent
	Response *io.SectionReader // octets of the final response as they crossed the connection; nil when none came
	// octets of Response that are its head, the empty line included; zero without a complete head
	HeadSize int64
	Interim  int // interim responses (1xx) before it, not part of Response

	// Protocols are the protocols spoken, the upper one first: "http/1.1", or "http/1.0" when the answer says so, and
	// above TLS its version, as "tls/1.3". Nil when nothing was sent.
	Protocols []string

	// Status and Header are those of the final response; zero and nil without a complete head. Header is as net/http
	// parses it: names in canonical case, and without the fields that net/http takes for framing
	// (Transfer-Encoding, and then Content-Length). Response has the bytes as they were sent.
	Status int
	Header http.Header

	// Body is the decoded body, as far as it came. Nil when the response has none by its status (204, 304), it was not
	// wanted, or there is no complete head.
	Body *io.SectionReader

	// Undecoded is the value of Content-Encoding when Body still carries it; empty when Body is plain.
	Undecoded string

	// PayloadDigest is the SHA-256, and PayloadSize the octets, of the body as far as it came, without transfer coding
	// and with its content coding (WARC 1.1 5.9). When no octet was read the digest is that of none, and without a
	// complete head it is zero. When the cap cut Body, both go as far as Response does, which may be further.
	PayloadDigest [32]byte
	PayloadSize   int64

	Truncated string   // why Response, or Body alone, ends early (CutLength, …); empty when they do not
	Unwanted  string   // why the body was not read: what Request.Want said, or TooLarge
	Failure   *Failure // nil when the response is complete, unwanted, or cut by the cap on its length

	raw, body *spooled // body is nil when Body is a part of raw
	closed    bool
}

// Close releases what the exchange holds. Response and Body must not be used after it; closing again does nothing.
func (x *Exchange) Close() error {
	if x.closed {
		return nil
	}
	x.closed = true
	return errors.Join(x.raw.close(), x.body.close())
}

// Class says which part of an exchange failed. Classes are stable: they are counted and written to the ledger.
type Class string

// The classes.
const (
	DNS            Class = storage.ReasonDNS            // the look-up failed or gave no address
	NXDomain       Class = storage.ReasonNXDomain       // the name does not exist
	PrivateAddress Class = storage.ReasonPrivateAddress // every address of the host is refused by the guard
	OptOut         Class = storage.ReasonOptOut         // the address is on an opt-out list
	NoIPv4         Class = storage.ReasonNoIPv4         // Config.Family is IPv4, of which the host has no address
	NoIPv6         Class = storage.ReasonNoIPv6         // likewise
	// nobody but a proxy was asked: Err is a *proxy.Fault, which says whom to blame
	Proxy   Class = storage.ReasonProxy
	Connect Class = storage.ReasonConnect // no connection: somebody is there, and refuses it
	NoRoute Class = storage.ReasonNoRoute // no connection: nobody is there, or no way leads there
	TLS     Class = storage.ReasonTLS     // handshake, or an alert later on
	// the server's certificate: nobody trusted issued it, it is for another name, or its time is over or has not begun
	TLSIssuer  Class = storage.ReasonTLSIssuer
	TLSName    Class = storage.ReasonTLSName
	TLSExpired Class = storage.ReasonTLSExpired
	Timeout    Class = storage.ReasonTimeout // any of the time-outs but that of the look-up
	Reset      Class = storage.ReasonReset   // the connection ended before a complete response head
	// not HTTP/1.x: malformed or oversized head, broken chunks, too many interim responses
	Protocol   Class = storage.ReasonProtocol
	Incomplete Class = storage.ReasonIncomplete // the connection ended within the body
	Coding     Class = storage.ReasonCoding     // the body arrived whole, its content coding is broken
	// the caller ended it, for a reason that is none of the host's: see Fetcher.Do
	Stopped Class = storage.ReasonAborted
)

// OfTLS reports whether c is TLS or one of its kinds.
func (c Class) OfTLS() bool { return c == TLS || c == TLSIssuer || c == TLSName || c == TLSExpired }

// classOfTLS returns the class of a failed handshake.
func classOfTLS(err error) Class {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return TLSIssuer
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return TLSName
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return TLSExpired
	}
	return TLS
}

// Unconnected reports whether no connection came about.
func (c Class) Unconnected() bool {
	return c == DNS || c == NXDomain || c == Connect || c == NoRoute || c.OfTLS()
}

// Ours reports whether a rule of our own kept the exchange from being made: nobody was asked, and the host is not to blame.
func (c Class) Ours() bool {
	return c == PrivateAddress || c == OptOut || c == NoIPv4 || c == NoIPv6
}

// ErrWhole is wrapped by a Failure of class Timeout that Config.WholeTimeout caused. That is a limit of ours: the
// host may still have been sending.
var ErrWhole = errors.New("the request took too long in all")

// ErrSlow is wrapped by a Failure of class Timeout of an answer that came more slowly than Config.MinRate, or that
// the caller ended because it was slow and others waited.
var ErrSlow = errors.New("too slow")

// ErrRepeated is wrapped by a Failure of an answer that repeats the credentials that it was asked with.
var ErrRepeated = errRepeated

// Failure is why an exchange brought no complete response.
type Failure struct {
	Class Class
	Err   error
}

// Error returns class and cause in at most 300 octets of printable text: the cause may quote what the host sent.
func (f *Failure) Error() string {
	const most = 300
	s := strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, "fetch: "+string(f.Class)+": "+f.Err.Error())
	if len(s) > most {
		cut := most - len("…")
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return s
}

func (f *Failure) Unwrap() error { return f.Err }
