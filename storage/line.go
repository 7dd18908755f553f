// Package storage defines the stored data of a crawl: a Record per request and a Line per decision. Through its
// interfaces the crawler hands them to storage/warc (records) and storage/ledger (lines). It does no I/O.
//
// A record is written before the line that names it, both before the frontier marks the URL as done, and the frontier's
// barrier syncs both before that is durable. So a Done without its record cannot exist; after a kill a record without a
// Done can, and the repeat carries attempt + 1.
package storage

import (
	"context"
	"io"
	"net/netip"
	"strings"
	"time"
)

// Record is one exchange (page, robots.txt or redirect) as transferred.
type Record struct {
	URL      string            // the fetch URL
	Time     time.Time         // when the first byte of the request was sent; kept to the microsecond, in UTC
	Addr     netip.AddrPort    // the address dialled
	Request  []byte            // bytes sent
	Response *io.SectionReader // bytes received, head and body with their transfer coding; nil when none came
	HeadSize int64             // bytes of Response up to and including the empty line; 0 without a complete head

	// PayloadDigest is the SHA-256 of the body without its transfer coding (WARC 1.1 5.9), valid when HasPayload.
	PayloadDigest [32]byte
	PayloadSize   int64
	HasPayload    bool

	// Protocols are those spoken, as in WARC-Protocol: "http/1.1" and, above TLS, "tls/1.3". Nil if unknown.
	// https://github.com/iipc/warc-specifications/issues/42
	Protocols []string

	// HeadOnly marks a Response without its body, which is not to be kept. The metadata record then has the digest, not
	// the response record, whose payload has another.
	HeadOnly bool

	// Truncated is empty, or why the block ends early (WARC 1.1 5.13): "length", "time", "disconnect" or "unspecified".
	Truncated string

	// Repeatable allows to store the response as a revisit of an earlier one with the same payload, and a later one as a
	// revisit of it. It is false for robots.txt and truncated responses.
	Repeatable bool
	// NotModified is the exchange whose response is still valid by a 304. Nil for any other status.
	NotModified *Original

	// Line is the decision for the metadata record, without the fields of a Receipt; or nil.
	Line *Line
	// Outlinks are the links found in the response, in their order, for the metadata record.
	Outlinks []Outlink
}

// MaxHead is the longest response head that a crawl accepts, interim responses included, in bytes (politeness rule 24).
// Readers accept longer ones, of other crawlers (warc.MaxHTTPHead).
const MaxHead = 64 << 10

// Original is the archived response that a revisit refers to (WARC 1.1 6.7).
type Original struct {
	URL  string    // its WARC-Target-URI
	Date time.Time // its WARC-Date
	ID   string    // its WARC-Record-ID, a URN without angle brackets; empty if unknown
}

// Outlink is a link of a page.
type Outlink struct {
	URL  string
	Kind Kind // "link", "embed" or "redirect"
}

// Receipt holds the references to archived records for a line of the ledger.
type Receipt struct {
	ID     string // of the response or revisit or, without one, of the request: a URN
	Blocks string // as Line.Blocks
	Heads  string // as Line.Heads
	Repeat bool   // the record refers to an earlier one, which has the body
}

// MaxGather is how long a Recorder may hold back the lines of Refuse before a Sync writes them.
const MaxGather = 10 * time.Second

// Recorder stores records. Its methods may be called concurrently.
type Recorder interface {
	// Record appends r without syncing. An exchange that transferred nothing leaves no record and an empty Receipt.
	Record(ctx context.Context, r Record) (Receipt, error)
	// Refuse stores the decision not to request a URL. The Recorder may batch such lines for MaxGather: a later Sync or the
	// end of the Recorder writes them. A caller with nothing else to sync must call Sync for them.
	Refuse(ctx context.Context, l Line) error
	// Sync makes the records durable for which Record returned before the call.
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
	Decision Decision // the kind of decision
	Reason   string   // a robots.Reason, a canon.Reason, the name of a rule, or a reason in words.go
	Own      bool     // the host is the operator's own (politeness rule 18)

	// The robots verdict, if there is one.
	RobotsLine   int    // line of robots.txt, from 1; 0 if none decided
	RobotsRule   string // that line's rule, as written
	RobotsGroup  string // the value of the user-agent line whose group decided, as written
	RunnerUp     string // the next best rule that matches, as written
	RobotsSHA256 string // hex digest of the file; empty without one
	RobotsRecord string // id of the record of the latest robots.txt exchange; empty if unknown
	Standard     string // "rfc9309", …

	Pace   time.Duration // the delay due before the exchange
	PaceBy PaceBy        // the reason for it
	Gap    time.Duration // from the end of the authority's previous exchange to the start of this one; 0 if unknown

	Rest   time.Duration // the back-off after this exchange, beyond the pace, that its response caused; 0 for none
	RestBy PaceBy        // the reason for it

	// The exchange, when there was one.
	Attempt   int            // 1 for the first; 0 without an exchange
	Began     time.Time      // when the first byte of the request was sent
	Took      time.Duration  // from then to the last byte of the answer, or the failure
	FirstByte time.Duration  // from the request sent to the first byte of the answer; 0 when none came
	Addr      netip.AddrPort // the address dialled
	Proxy     string         // the proxy it went through, without user and password; empty for none
	Outcome   Outcome        // the result for the URL
	Interim   int            // informational responses (1xx), which are not archived; at most 17
	Status    int            // HTTP status; 0 without one
	Type      string         // the answer's media type, without parameters and in lower case; empty without one
	Octets    int64          // received, as they crossed the connection
	Payload   string         // hex SHA-256 of the payload, as in the record; empty without one
	Truncated string         // why the answer ends early, as in the record
	Record    string         // id of the archived record; empty without one

	// Blocks is the hex SHA-256 of the SHA-256s of the blocks of request, response and metadata, in that order, as far as
	// they exist. Empty without a record.
	Blocks string
	// Heads is the hex SHA-256 of the request's block followed by the response's HTTP head, if that is complete, both as
	// archived: it binds the parts that can be shown without bodies. Empty without a record.
	Heads string

	// Ahead is how far the wall clock has jumped ahead of the monotonic one since the run began, as after sleep.
	Ahead time.Duration

	Modified time.Time     // Last-Modified, to the second, unless later than the response; zero without one
	Holds    time.Duration // how long the response is fresh by its own headers, from its arrival; 0 without such headers

	Change Change // since the previous generation

	// Count, if not 0, is the number of URLs of the host with the same decision and reason; URL is then a sample.
	Count int64

	List string // hex digest of the opt-out list that decided; RobotsLine and RobotsRule then are its line and entry

	// Directives are the robots directives for this crawler that it understood ("noindex, nofollow"); Asked has all of them
	// as written, one on a line ("X-Robots-Tag: noindex", "meta robots: nofollow").
	Directives string
	Asked      string

	// Prefs are the usage preferences that apply to the response, as written, one on a line: source ("robots" or
	// "header"), name and value, as in "robots content-signal: search=yes". The crawler does not act on them.
	Prefs string

	NeedsScript bool // the page is empty without scripts, which this crawler does not run
}

// IsPage reports whether l counts as a page for budgets: a 2xx response of HTML, or of an unnamed media type.
func (l *Line) IsPage() bool {
	return l.Outcome == OutcomeFetched && l.Record != "" && l.Status >= 200 && l.Status < 300 &&
		(l.Type == "" || l.Type == "text/html" || l.Type == "application/xhtml+xml")
}

// HasDirective reports whether a list of robots directives, such as "noindex, noarchive", contains one.
func HasDirective(directives, one string) bool {
	for d := range strings.SplitSeq(directives, ",") {
		if strings.EqualFold(strings.TrimSpace(d), one) {
			return true
		}
	}
	return false
}

// Ledger stores lines. Its methods may be called concurrently.
type Ledger interface {
	// Begin records durably that a run begins. A Crawl calls it before its first exchange.
	Begin(ctx context.Context) error
	// Append adds l. It need not be durable before the next Sync.
	Append(ctx context.Context, l Line) error
	// Sync makes durable everything appended before the call.
	Sync(ctx context.Context) error
}
