// Package storage defines the stored data of a crawl: a Record per request, and a Line per decision. It holds the
// values and the two interfaces between the crawler, which produces them, and the packages below it, which write them:
// storage/warc the records, storage/ledger the lines. Values only, no I/O.
//
// Order is the point: a record is written before the line that names it, both before the frontier is told that
// the URL is done, and both are synced by the frontier's barrier before that is durable. So a Done without its
// record cannot exist; a record without a Done can (a kill came between), and the repeat carries attempt + 1.
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
	Time     time.Time         // when the first byte of the request was sent; kept to the microsecond, in UTC
	Addr     netip.AddrPort    // the address dialled
	Request  []byte            // bytes sent
	Response *io.SectionReader // bytes received, head and body with their transfer coding; nil when none came
	// bytes of Response that are its head, the empty line included; zero without a complete head
	HeadSize int64

	// PayloadDigest is the SHA-256 of the body without its transfer coding, its content coding kept (WARC 1.1
	// 5.9), valid when HasPayload.
	PayloadDigest [32]byte
	PayloadSize   int64
	HasPayload    bool

	// Protocols are the protocols spoken, in the words of the field WARC-Protocol that the IIPC's tools share:
	// "http/1.1" and, above TLS, "tls/1.3". Nil when they are not known.
	// https://github.com/iipc/warc-specifications/issues/42
	Protocols []string

	// HeadOnly says that there was a body, which Response is without because it is not to be kept. The digest is then no
	// field of the answer's record, whose payload has another, but one of the metadata record, as Line has it.
	HeadOnly bool

	// Truncated is empty, or why the block ends early, in the words of WARC 1.1 5.13: "length", "time",
	// "disconnect" or "unspecified".
	Truncated string

	// Repeatable says that the answer may be kept as a revisit of an earlier one with the same payload, and that a later
	// one may be kept as a revisit of it. It is false for robots.txt, which is always kept whole, and for what was cut.
	Repeatable bool
	// NotModified is the exchange whose answer the server says still holds (304). Nil for any other answer.
	NotModified *Original

	// Line is the decision that the exchange belongs to, without what a Receipt has; it becomes the metadata record. Nil
	// means that there is none.
	Line *Line
	// Outlinks are the links found in the answer, in their order, for the metadata record.
	Outlinks []Outlink
}

// MaxHead is the longest head of an answer that a crawl takes, interim responses included, in bytes (politeness rule
// 24). Readers of archives take heads as long, and longer ones of other crawlers (warc.MaxHTTPHead).
const MaxHead = 64 << 10

// Original is an archived answer that a revisit refers to (WARC 1.1 6.7).
type Original struct {
	URL  string    // its WARC-Target-URI
	Date time.Time // its WARC-Date
	ID   string    // its WARC-Record-ID, a URN without angle brackets; empty when that is not known
}

// Outlink is a link of a page.
type Outlink struct {
	URL  string
	Kind Kind // "link", "embed" or "redirect"
}

// Receipt is what a line of the ledger holds of archived records.
type Receipt struct {
	ID     string // of the response or revisit or, without one, of the request: a URN
	Blocks string // as Line.Blocks
	Heads  string // as Line.Heads
	Repeat bool   // the record refers to an earlier one, which has the body
}

// MaxGather is how long a Recorder may keep what it was given by Refuse before a Sync has it written.
const MaxGather = 10 * time.Second

// Recorder keeps records. Its methods may be called concurrently.
type Recorder interface {
	// Record appends r. An exchange of which nothing crossed the connection leaves no record, and an empty Receipt. It
	// does not sync.
	Record(ctx context.Context, r Record) (Receipt, error)
	// Refuse keeps the line of a decision without an exchange: a URL that was not asked for, and why. Such lines may be
	// gathered, for MaxGather: a Sync later than that puts them into the archive, and so does the end of the Recorder. A
	// caller with nothing else to sync must call it for them.
	Refuse(ctx context.Context, l Line) error
	// Sync makes durable what Record returned for before the call.
	Sync(ctx context.Context) error
}
