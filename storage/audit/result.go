package audit

import (
	"slices"
	"strings"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// Version is the version of the Result's JSON form. Fields may be added without a new one.
const Version = 1

// Level says how far the evidence reaches.
type Level string

// The levels, from the lowest.
const (
	SelfConsistent Level = "self-consistent"          // the archive does not contradict itself
	SignedByKnown  Level = "signed by a key you know" // and the ledger is that of an operator
	Lodged         Level = "submitted or cosigned"    // and it is unchanged since somebody else saw its head
	ConfirmedByLog Level = "confirmed by access log"  // and the site's own log says the same

	NoLevel  Level = "none"            // the evidence contradicts itself
	LogAlone Level = "access log only" // there is no archive: only what the site's own log shows
)

// Reached is a level that the evidence reaches, and how far.
type Reached struct {
	Level Level  `json:"level"`
	How   string `json:"how,omitempty"`
}

// Reach adds a level. The result's own is the highest.
func (r *Result) Reach(level Level, how string) {
	r.Levels = append(r.Levels, Reached{level, how})
	if level.rank() > r.Level.rank() {
		r.Level = level
	}
}

// Refute adds a level that the given evidence contradicts, and how.
func (r *Result) Refute(level Level, how string) {
	r.Refuted = append(r.Refuted, Reached{level, how})
}

// inPart ends a level that entries of the ledger do not reach, for no checkpoint covers them.
const inPart = ", in part"

// InPart is the level where entries of the ledger do not reach it.
func (l Level) InPart() Level { return l + inPart }

// Whole is the level without "in part".
func (l Level) Whole() Level { return Level(strings.TrimSuffix(string(l), inPart)) }

// Withdraw takes a level away. The result's own is the highest that is left.
func (r *Result) Withdraw(level Level) {
	r.Levels = slices.DeleteFunc(r.Levels, func(l Reached) bool { return l.Level.Whole() == level })
	r.Level = SelfConsistent
	for _, l := range r.Levels {
		if l.Level.rank() > r.Level.rank() {
			r.Level = l.Level
		}
	}
}

// rank orders the levels.
func (l Level) rank() int {
	return slices.Index([]Level{SelfConsistent, SignedByKnown, Lodged, ConfirmedByLog}, l.Whole())
}

// Result is what an audit found.
type Result struct {
	Version int       `json:"version"`
	Clean   bool      `json:"clean"`             // no violation
	Level   Level     `json:"level"`             // the highest; it ends in ", in part" while entries are behind the last checkpoint
	Levels  []Reached `json:"levels,omitempty"`  // all but the lowest, from the lowest
	Refuted []Reached `json:"refuted,omitempty"` // what the given evidence contradicts
	From    time.Time `json:"from,omitzero"`     // the first exchange
	To      time.Time `json:"to,omitzero"`       // the end of the last

	Files      []evidence.File   `json:"files"`
	Archives   []*evidence.Info  `json:"archives"`            // what the archive says of its making: each warcinfo that differs
	OwnHosts   []OwnHost         `json:"own_hosts,omitempty"` // judged as the operator's own, and why
	Totals     Totals            `json:"totals"`
	Counts     []Count           `json:"counts,omitempty"`   // of findings, by code
	Findings   []finding.Finding `json:"findings,omitempty"` // in the order found, at most Limit of one code and host
	Hosts      []*Host           `json:"hosts"`              // by name
	Measures   []string          `json:"measures"`           // what was required, in words
	CannotShow []string          `json:"cannot_show"`

	Ledger *LedgerCheck `json:"ledger,omitempty"`      // how the ledger agrees; nil without one
	Logs   []*HostLog   `json:"access_logs,omitempty"` // how the access logs agree, by host

	Package *PackageCheck `json:"wacz,omitempty"` // the WACZ file that it all was in; nil without one

	Confirmed *Share `json:"confirmed,omitempty"` // by access logs; nil at a lower level
}

// OwnHost is a host that was judged as the operator's own.
type OwnHost struct {
	Authority string `json:"authority"`
	Why       string `json:"why"`
}

// Totals are counts over the whole archive.
type Totals struct {
	Records    int64 `json:"records"`
	Other      int64 `json:"other_records"` // that are no part of an exchange over HTTP
	Exchanges  int64 `json:"exchanges"`
	Pages      int64 `json:"pages"`  // exchanges that were not for robots.txt
	Robots     int64 `json:"robots"` // exchanges for robots.txt and its redirects
	Unanswered int64 `json:"unanswered"`
	Revisits   int64 `json:"revisits"`
	Elsewhere  int64 `json:"revisits_elsewhere"` // revisits of records that are not in the files, as far as can be told
	Refusals   int64 `json:"refusals"`           // URLs that were not asked for, as the archive says
	Disallowed int64 `json:"disallowed_avoided"` // of those, because of robots.txt
	Judged     int64 `json:"judged"`             // verdicts recomputed
	Gaps       int64 `json:"gaps"`               // pauses measured
	Digests    int64 `json:"digests"`            // digests recomputed
	Unprovable int64 `json:"unprovable"`
	Violations int64 `json:"violations"`
	Notes      int64 `json:"notes"`
}

// Count is how often a code was found.
type Count struct {
	Code  finding.Code `json:"code"`
	Found int64        `json:"found"`
	Kept  int64        `json:"kept"`            // in Findings
	Notes int64        `json:"notes,omitempty"` // of those found, the ones that are no violation
}

// Host is what is known of one authority.
type Host struct {
	Authority string `json:"authority"`
	Own       bool   `json:"own,omitempty"`
	Pages     int64  `json:"pages"`
	Robots    int64  `json:"robots"`
	Policy    string `json:"policy"` // the last: "rules", "none", "unreachable", "unknown"
	// RobotsSHA256 is the digest of its text, "" without one, and RobotsTime since when that holds: when it was fetched or confirmed last.
	RobotsSHA256 string    `json:"robots_sha256,omitempty"`
	RobotsTime   time.Time `json:"robots_time,omitzero"`
	Disallowed   int64     `json:"disallowed_avoided"` // URLs not asked for because of robots.txt
	Required     float64   `json:"required_pace_s"`    // the longest that floor or Crawl-delay asked for, in seconds
	RequiredBy   string    `json:"required_by,omitempty"`
	Lowest       float64   `json:"lowest_required_pace_s"` // the shortest: less than Required where robots.txt or the settings changed
	Gaps         int64     `json:"gaps"`                   // pauses measured
	MinGap       float64   `json:"min_gap_s"`
	MedianGap    float64   `json:"median_gap_s"`
	// StartToStart says that the archive lacks the ends of exchanges: the pauses were at most so long.
	StartToStart bool `json:"gaps_start_to_start,omitempty"`

	// By how much the Date fields of answers are ahead of the archive's dates. It is an observation, and no finding.
	Dates int64   `json:"dates,omitempty"` // answers with one
	Skew  float64 `json:"median_skew_s,omitempty"`

	Violations int64      `json:"violations"`
	Unprovable int64      `json:"unprovable"`
	Why        []Unproved `json:"unprovable_why,omitempty"`
}

// Unproved says why something of a host cannot be proved, and within which bounds it lies.
type Unproved struct {
	What  finding.Code `json:"what"`
	Why   string       `json:"why"`
	Count int64        `json:"count"`
	Least float64      `json:"least_s"` // of the pauses concerned: the lowest bound, in seconds
	Most  float64      `json:"most_s"`  // and the highest
}
