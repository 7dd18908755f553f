package storage

import (
	"context"
	"io"
	"net/netip"
	"time"
)

// Record is one exchange, page, robots.txt or redirect alike, as it crossed the connection.
type Record struct {
	URL      string            // the fetch URL
	Time     time.Time         // when the first octet of the request was sent; kept to the microsecond, in UTC
	Addr     netip.AddrPort    // the address dialled
	Request  []byte            // octets sent
	Response *io.SectionReader // octets received, head and body with their transfer coding; nil when none came

	// PayloadDigest is the SHA-256 of the body without its transfer coding, its content coding kept (WARC 1.1
	// 5.9), valid when HasPayload.
	PayloadDigest [32]byte
	HasPayload    bool

	// Protocols are the protocols spoken, in the words of the field WARC-Protocol that the IIPC's tools share:
	// "http/1.1" and, above TLS, "tls/1.3". Nil when they are not known.
	// https://github.com/iipc/warc-specifications/issues/42
	Protocols []string

	// Truncated is empty, or why the block ends early, in the words of WARC 1.1 5.13: "length", "time",
	// "disconnect" or "unspecified".
	Truncated string

	// Prefs are the usage preferences that hold for the response, as in Line.Prefs. They are metadata: no octet of them
	// is a part of the exchange.
	Prefs string
}

// Recorder keeps records. Its methods may be called concurrently.
type Recorder interface {
	// Record appends r and returns the record id of its response (or, without one, of its request), a URN. An
	// exchange of which nothing crossed the connection leaves no record, and its id is empty. It does not sync.
	Record(ctx context.Context, r Record) (id string, err error)
	// Sync makes durable what Record returned for before the call.
	Sync(ctx context.Context) error
}
