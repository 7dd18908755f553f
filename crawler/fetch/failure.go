package fetch

import (
	"crypto/x509"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"curtsy/storage"
)

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
