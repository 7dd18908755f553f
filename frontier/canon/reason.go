package canon

import (
	"errors"
	"strconv"
	"strings"
)

// Reason says why a string is no canonical URL. Reasons are stable: they are counted and written to the ledger.
type Reason string

// The reasons.
const (
	Malformed Reason = "malformed"    // the URL Standard's parser fails, or DNS cannot hold the host
	Scheme    Reason = "scheme"       // neither http nor https
	NoHost    Reason = "no host"      // no host, or an empty one
	TooLong   Reason = "url too long" // over MaxLength octets
)

// MaxLength is the longest canonical URL in octets (politeness rule 22).
const MaxLength = 8192

// maxInput is the longest input that is looked at, its fragment aside: what dot segments, userinfo, tabs and line
// breaks may add to a URL of MaxLength is allowed for, and no more.
const maxInput = 4 * MaxLength

// maxShown is how much of a URL or a cause an Error holds and shows, in octets.
const maxShown = 256

// Error is a string that is no canonical URL.
type Error struct {
	Reason Reason
	URL    string // what was given, cut to 256 octets
	Cause  error  // what is wrong with it in detail; nil when Reason says it all
}

// Error returns text that is safe to print to a terminal: the URL is quoted, and everything is cut.
func (e *Error) Error() string {
	text := "canon: " + strconv.Quote(e.URL) + ": " + string(e.Reason)
	if e.Cause != nil {
		text += ": " + excerpt(e.Cause.Error())
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// ReasonOf returns the Reason of an error of this package, also when wrapped, and "" for any other.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return ""
}

// excerpt cuts s to maxShown octets. The copy lets go of the rest, which may be a data: URL of a megabyte.
func excerpt(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown-len("…")], "") + "…"
}

// The causes.
var (
	errNoScheme = errors.New("no scheme, and no base to resolve it against")
	errPort     = errors.New("the port is not a number up to 65535")
	errIPv4     = errors.New("the host ends in a number but is not an IPv4 address")
	errIPv6     = errors.New("the host is not an IPv6 address")
	errDomain   = errors.New("the host is not a domain name")
	errLabel    = errors.New("the host has a label that is empty or over 63 bytes")
	errHostLong = errors.New("the host is too long for a domain name")
	errOrigin   = errors.New("an authority is scheme://host:port and no more")
	errTarget   = errors.New("a request target begins with a slash")
)
