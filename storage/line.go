package storage

import (
	"context"
	"net/netip"
	"strings"
	"time"
)

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
