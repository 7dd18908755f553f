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
	"strings"
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

// Line is one decision on one URL: an outcome, a deferral, or a refusal that never became a task.
type Line struct {
	Time     time.Time // when it was decided
	URL      string
	Via      string   // the page that led here, or the URL that redirected; empty for a seed
	Kind     Kind     // how it was found
	Depth    int      // links between it and its seed; redirects and embeds do not count
	Seed     string   // the seed it descends from
	Tag      string   // that seed's tag
	Decision Decision // which part of the story decided
	// in that part's words: a robots.Reason, a canon.Reason, the name of a rule, or one of those in words.go
	Reason string
	Own    bool // the host is the operator's own (politeness rule 18)

	// The robots verdict, when one was asked for.
	RobotsLine   int    // line of robots.txt, from 1; 0 when no line decided
	RobotsRule   string // that line's rule, as written
	RobotsGroup  string // the value of the user-agent line whose group decided, as written
	RunnerUp     string // the next best rule that matches, as written
	RobotsSHA256 string // hex digest of the file; empty without one
	RobotsRecord string // id of the record of the exchange that last said what the policy is; empty when that is not known
	Standard     string // "rfc9309", …

	Pace   time.Duration // the pause that was due before the exchange
	PaceBy PaceBy        // who asked for it
	// from the end of the previous exchange with the authority to the start of this one; 0 when none is known
	Gap time.Duration

	// the rest, from the end of this exchange, that its answer imposed on the host beyond the pace; 0 for none
	Rest   time.Duration
	RestBy PaceBy // who asked for it

	// The exchange, when there was one.
	Attempt   int            // 1 for the first; 0 without an exchange
	Began     time.Time      // when the first byte of the request was sent
	Took      time.Duration  // from then to the last byte of the answer, or the failure
	FirstByte time.Duration  // from the request sent to the first byte of the answer; 0 when none came
	Addr      netip.AddrPort // the address dialled
	Proxy     string         // the proxy it went through, without user and password; empty for none
	Outcome   Outcome        // what became of the URL
	Interim   int            // answers that only announced it (1xx), which are not archived; at most 17
	Status    int            // HTTP status; 0 without one
	Type      string         // the answer's media type, without parameters and in lower case; empty without one
	Octets    int64          // received, as they crossed the connection
	Payload   string         // hex SHA-256 of the payload, as in the record; empty without one
	Truncated string         // why the answer ends early, as in the record
	Record    string         // id of the archived record; empty without one

	// Blocks binds the exchange's records: the hex SHA-256 of the SHA-256s of their blocks, of request, answer and
	// metadata in that order, as far as there are such. Empty without a record.
	Blocks string
	// Heads binds what can be shown of the exchange without its bodies: the hex SHA-256 of the block of the request
	// followed by the answer's HTTP head, both as archived; without a complete head it is that of the request alone.
	// Empty without a record.
	Heads string

	// Ahead is how far dates ran ahead of the steady clock that pauses are measured with, since the run began: the wall
	// clock jumped by so much, as after the computer slept.
	Ahead time.Duration

	// Modified and Holds are what the answer says of itself: they tell when the next one is worth a request.
	Modified time.Time     // Last-Modified, to the second, unless it lies after the answer; zero without one
	Holds    time.Duration // for how long the server says that the answer holds, from when it came; 0 where it does not say

	Change Change // what became of the URL since the crawl's generation before

	// Count is not zero on a line that stands for others: so many URLs of the host met the same decision and reason, and
	// URL is one of them (a sample).
	Count int64

	List string // hex digest of the opt-out list that decided; RobotsLine and RobotsRule then are its line and entry

	// The answer's wishes to robots, as far as they are addressed to us: those that we understood ("noindex, nofollow"),
	// and everything as it was written, a statement on a line ("X-Robots-Tag: noindex", "meta robots: nofollow").
	Directives string
	Asked      string

	// Prefs are the usage preferences that hold for the answer, as they were written, one on a line: where it was said
	// ("robots" or "header"), the name, and the value, as in "robots content-signal: search=yes". Nothing is made of them.
	Prefs string

	NeedsScript bool // the page shows nothing to whoever runs no scripts, as this crawler
}

// IsPage reports whether l is of a page, as budgets count them: an answer of status 2xx that is HTML, or may be, since its media
// type is not named.
func (l *Line) IsPage() bool {
	return l.Outcome == OutcomeFetched && l.Record != "" && l.Status >= 200 && l.Status < 300 &&
		(l.Type == "" || l.Type == "text/html" || l.Type == "application/xhtml+xml")
}

// HasDirective reports whether robots directives, such as "noindex, noarchive", have one among them.
func HasDirective(directives, one string) bool {
	for d := range strings.SplitSeq(directives, ",") {
		if strings.EqualFold(strings.TrimSpace(d), one) {
			return true
		}
	}
	return false
}

// Ledger keeps lines. Its methods may be called concurrently.
type Ledger interface {
	// Begin says that a run begins, and makes that durable: a Crawl calls it before its first exchange.
	Begin(ctx context.Context) error
	// Append adds l. It need not be durable before the next Sync.
	Append(ctx context.Context, l Line) error
	// Sync makes durable what was appended before the call.
	Sync(ctx context.Context) error
}
