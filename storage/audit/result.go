package audit

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/plainly"
)

// Version is the version of the Result's JSON form. Fields may be added without a new one.
const Version = 1

// Level is the strength of the evidence.
type Level string

// The levels, from the lowest.
const (
	SelfConsistent Level = "self-consistent"          // the archive does not contradict itself
	SignedByKnown  Level = "signed by a key you know" // and the ledger is that of an operator
	Lodged         Level = "submitted or cosigned"    // and it is unchanged since a third party saw its head
	ConfirmedByLog Level = "confirmed by access log"  // and the site's own log confirms it

	NoLevel  Level = "none"            // the evidence contradicts itself
	LogAlone Level = "access log only" // without an archive: only the site's own log
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

const inPart = ", in part"

// InPart is the level where entries of the ledger do not reach it.
func (l Level) InPart() Level { return l + inPart }

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

func (l Level) rank() int {
	return slices.Index([]Level{SelfConsistent, SignedByKnown, Lodged, ConfirmedByLog}, l.Whole())
}

// Result is the result of an audit.
type Result struct {
	Version int       `json:"version"`
	Clean   bool      `json:"clean"`             // no violation
	Level   Level     `json:"level"`             // the highest; it ends in ", in part" while entries follow the last checkpoint
	Levels  []Reached `json:"levels,omitempty"`  // all but the lowest, from the lowest
	Refuted []Reached `json:"refuted,omitempty"` // which the given evidence contradicts
	From    time.Time `json:"from,omitzero"`     // the first exchange
	To      time.Time `json:"to,omitzero"`       // the end of the last

	Files      []evidence.File   `json:"files"`
	Archives   []*evidence.Info  `json:"archives"`            // the archive's own descriptions: each warcinfo that differs
	OwnHosts   []OwnHost         `json:"own_hosts,omitempty"` // judged as the operator's own, and why
	Totals     Totals            `json:"totals"`
	Counts     []Count           `json:"counts,omitempty"`   // of findings, by code
	Findings   []finding.Finding `json:"findings,omitempty"` // in the order found, at most Limit of one code and host
	Hosts      []*Host           `json:"hosts"`              // by name
	Measures   []string          `json:"measures"`           // what was required, in words
	CannotShow []string          `json:"cannot_show"`

	Ledger *LedgerCheck `json:"ledger,omitempty"`      // how the ledger agrees; nil without one
	Logs   []*HostLog   `json:"access_logs,omitempty"` // how the access logs agree, by host

	Package *PackageCheck `json:"wacz,omitempty"` // the WACZ file that had all of it; nil without one

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
	Other      int64 `json:"other_records"` // not part of an exchange over HTTP
	Exchanges  int64 `json:"exchanges"`
	Pages      int64 `json:"pages"`  // exchanges that were not for robots.txt
	Robots     int64 `json:"robots"` // exchanges for robots.txt and its redirects
	Unanswered int64 `json:"unanswered"`
	Revisits   int64 `json:"revisits"`
	Elsewhere  int64 `json:"revisits_elsewhere"` // revisits of records that are not in the files, as far as known
	Refusals   int64 `json:"refusals"`           // URLs that were not requested, by the archive's records
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
	Notes int64        `json:"notes,omitempty"` // of those found, the ones that are not violations
}

// Host has the results of one authority.
type Host struct {
	Authority string `json:"authority"`
	Own       bool   `json:"own,omitempty"`
	Pages     int64  `json:"pages"`
	Robots    int64  `json:"robots"`
	Policy    string `json:"policy"` // the last: "rules", "none", "unreachable", "unknown"
	// RobotsSHA256 is the digest of its text, "" without one, and RobotsTime since when that holds: when it was fetched or confirmed last.
	RobotsSHA256 string    `json:"robots_sha256,omitempty"`
	RobotsTime   time.Time `json:"robots_time,omitzero"`
	Disallowed   int64     `json:"disallowed_avoided"` // URLs not requested because of robots.txt
	Required     float64   `json:"required_pace_s"`    // the longest that floor or Crawl-delay required, in seconds
	RequiredBy   string    `json:"required_by,omitempty"`
	Lowest       float64   `json:"lowest_required_pace_s"` // the shortest: less than Required if robots.txt or the settings changed
	Gaps         int64     `json:"gaps"`                   // pauses measured
	MinGap       float64   `json:"min_gap_s"`
	MedianGap    float64   `json:"median_gap_s"`
	// StartToStart is set if the archive lacks the ends of exchanges: the delays were at most so long.
	StartToStart bool `json:"gaps_start_to_start,omitempty"`

	// By how much the Date fields of answers are ahead of the archive's dates: an observation, not a finding.
	Dates int64   `json:"dates,omitempty"` // answers with one
	Skew  float64 `json:"median_skew_s,omitempty"`

	Violations int64      `json:"violations"`
	Unprovable int64      `json:"unprovable"`
	Why        []Unproved `json:"unprovable_why,omitempty"`
}

// Unproved has the reason why a property of a host is unprovable, and its bounds.
type Unproved struct {
	What  finding.Code `json:"what"`
	Why   string       `json:"why"`
	Count int64        `json:"count"`
	Least float64      `json:"least_s"` // of the pauses concerned: the lowest bound, in seconds
	Most  float64      `json:"most_s"`  // and the highest
}

// Tally counts the findings of judges into a Result, and keeps the first of each code and host.
type Tally struct {
	*Result

	limit int // how many of one code and host are kept
	found map[codeAt]int
	codes map[finding.Code]*Count
}

type codeAt struct {
	code finding.Code
	at   *Host
}

const maxFindings = 20000 // kept of all codes and hosts

// NewTally returns a Tally of nothing that keeps up to limit findings of a code and host. Zero means 100.
func NewTally(level Level, limit int) *Tally {
	return &Tally{&Result{Version: Version, Level: level}, cmp.Or(limit, 100), map[codeAt]int{}, map[finding.Code]*Count{}}
}

// Find counts a finding about a host, or nil, and keeps it within the limit.
func (t *Tally) Find(f finding.Finding, at *Host) {
	c := t.codes[f.Code]
	if c == nil {
		c = &Count{Code: f.Code}
		t.codes[f.Code] = c
	}
	c.Found++
	if f.Note {
		c.Notes++
		t.Totals.Notes++
	} else {
		t.Totals.Violations++
		if at != nil {
			at.Violations++
		}
	}
	k := codeAt{f.Code, at}
	if t.found[k]++; t.found[k] > t.limit || len(t.Findings) >= maxFindings {
		return
	}
	c.Kept++
	f.URL, f.Authority = finding.Short(f.URL), finding.Short(f.Authority)
	f.Required, f.Observed = finding.Short(f.Required), finding.Short(f.Observed)
	t.Findings = append(t.Findings, f)
}

// Doubt counts an unprovable property of a host.
func (t *Tally) Doubt(d finding.Doubt, at *Host) {
	t.Totals.Unprovable++
	at.Unprovable++
	low, high := max(d.Least, 0).Seconds(), max(d.Most, 0).Seconds()
	for i := range at.Why {
		if u := &at.Why[i]; u.What == d.What && u.Why == d.Why {
			u.Count++
			u.Least, u.Most = min(u.Least, low), max(u.Most, high)
			return
		}
	}
	at.Why = append(at.Why, Unproved{d.What, d.Why, 1, low, high}) // as many as there are reasons in the code
}

// Counted completes the result by the counts of all codes.
func (t *Tally) Counted() *Result {
	for _, c := range finding.Codes() {
		if n := t.codes[c]; n != nil {
			t.Counts = append(t.Counts, *n)
		}
	}
	t.Clean = t.Totals.Violations == 0
	return t.Result
}

// HostLog is how the logs of one host and the archive agree.
type HostLog struct {
	Host       string    `json:"host"`
	Files      []string  `json:"files"`
	Lines      int64     `json:"lines"`                // read
	Unread     int64     `json:"unread,omitempty"`     // in neither format
	Others     int64     `json:"others"`               // lines of other clients
	Ours       int64     `json:"ours"`                 // lines of the crawler, within the time of the archive
	Outside    int64     `json:"outside,omitempty"`    // lines of the crawler before or after the archive
	Copies     int64     `json:"copies,omitempty"`     // lines of the crawler that are also in another of the files
	Exchanges  int64     `json:"exchanges"`            // archived, with this host
	Agree      int64     `json:"agree"`                // in both
	Missing    int64     `json:"missing,omitempty"`    // archived and not logged, or with another status
	Extra      int64     `json:"extra,omitempty"`      // logged and not archived
	Crash      int64     `json:"crash,omitempty"`      // logged, and lost in flight when the crawl was killed
	Uncovered  int64     `json:"uncovered,omitempty"`  // archived before the first or after the last line of the log
	Unanswered int64     `json:"unanswered,omitempty"` // archived without a whole answer and not logged
	Agentless  bool      `json:"agentless,omitempty"`  // some lines have no user agent
	Confirmed  bool      `json:"confirmed"`            // both agree
	First      time.Time `json:"first,omitzero"`       // line
	Last       time.Time `json:"last,omitzero"`
}

// Line counts a line. agent is set if it has the user agent.
func (h *HostLog) Line(at time.Time, agent bool) {
	h.Lines++
	h.Agentless = h.Agentless || !agent
	if h.First.IsZero() || at.Before(h.First) {
		h.First = at
	}
	if at.After(h.Last) {
		h.Last = at
	}
}

// Silent returns why the log confirms nothing; "" if it has archived requests.
func (h *HostLog) Silent() string {
	switch {
	case h.Exchanges == 0:
		return "the archive has no request to this host"
	case h.Agree == 0:
		return "it has none of the archived requests to this host"
	}
	return ""
}

// Share is the share of an archive's exchanges that a third party confirms.
type Share struct {
	Hosts       int64 `json:"hosts"`
	OfHosts     int64 `json:"of_hosts"`
	Exchanges   int64 `json:"exchanges"`
	OfExchanges int64 `json:"of_exchanges"`
}

// LedgerCheck is how ledger and archive agree, and the vouchers of the ledger.
type LedgerCheck struct {
	Dir       string `json:"dir"`
	Segments  int64  `json:"segments"`
	Lines     int64  `json:"lines"`               // decisions
	Refusals  int64  `json:"refusals"`            // of those, the ones without an exchange
	Unsent    int64  `json:"unsent,omitempty"`    // attempts that reached no server and so left no record
	Forgotten int64  `json:"forgotten,omitempty"` // redacted lines, of which only a hash remains
	Redacted  int64  `json:"redacted,omitempty"`  // exchanges without bodies that a mark redacted; they agree
	Records   int64  `json:"records"`             // exchanges of the archive
	Agree     int64  `json:"agree"`               // exchanges and refusals that both have, with the same values
	InFlight  int64  `json:"in_flight"`           // in only one of them, because the crawl was killed
	Untold    int64  `json:"untold,omitempty"`    // exchanges and refusals of the archive without a line
	Runs      int64  `json:"runs"`                // by the marks
	Crashes   int64  `json:"crashes"`             // runs that did not end cleanly

	Files      int64 `json:"files"`       // finished files of archive and index that the ledger has marks of
	FilesAgree int64 `json:"files_agree"` // of those, the ones that match their marks

	Origin  string `json:"origin,omitempty"` // of the log
	Entries int64  `json:"entries"`          // lines, marks among them
	Covered int64  `json:"covered"`          // of those, the ones that the latest checkpoint covers
	Head    string `json:"head,omitempty"`   // that checkpoint: its size, a colon, and its root

	Signer      string    `json:"signer,omitempty"`          // verifier key of that checkpoint
	SignerKnown bool      `json:"signer_known,omitempty"`    // it is the auditor's, or one that rotations lead to from it
	Keys        []string  `json:"keys,omitempty"`            // verifier keys of the runs, at most 16
	Lodged      []Lodging `json:"submitted,omitempty"`       // its other vouchers
	Since       int64     `json:"since_submitted,omitempty"` // decisions after the last head that a third party vouches for
}

// The kinds of third-party vouchers for a ledger.
const (
	ByHead    = "head"    // a head that was submitted elsewhere
	ByWitness = "witness" // a cosignature
)

// Lodging is a third-party voucher for the first entries of a ledger.
type Lodging struct {
	How  string    `json:"how"` // a word above
	By   string    `json:"by"`  // the witness's name, or the head itself
	Size int64     `json:"size"`
	At   time.Time `json:"at,omitzero"` // unknown for a head
}

// PackageCheck compares a WACZ file with its own manifest and signatures.
type PackageCheck struct {
	File     string   `json:"file"`
	Version  string   `json:"version,omitempty"` // of the format, by the file
	Software string   `json:"software,omitempty"`
	Created  string   `json:"created,omitempty"`
	Files    int64    `json:"files"`               // in it, except the manifest and its digest
	Agree    int64    `json:"agree"`               // of these, those with the size and hash in the manifest
	Octets   int64    `json:"octets"`              // unpacked
	Signed   []string `json:"signed_by,omitempty"` // signers with valid signatures: fingerprint, domain or ledger key
	LeftOut  int64    `json:"left_out,omitempty"`  // noarchive records that the packer left out, by its count
	Wrong    int64    `json:"wrong,omitempty"`     // defects
	OK       bool     `json:"ok"`                  // it has no defect
}

func (a *audit) conclude(ctx context.Context) (*Result, error) {
	r, read := a.Result, a.read.Summary()
	r.Files, r.Archives = read.Files, read.Archives
	r.Totals.Records, r.Totals.Other, r.Totals.Revisits = read.Records, read.Other, read.Revisits
	r.Totals.Elsewhere, r.Totals.Digests = read.Elsewhere, read.Digests
	if r.Totals.Records == 0 && !a.o.Ours { // beside a ledger, an archive may be empty
		return nil, ErrNothing
	}
	a.pace.Flush()
	for _, name := range slices.Sorted(maps.Keys(a.hosts)) {
		if f, short := a.hosts[name].pace.Whole(name); short {
			a.report(f)
		}
	}
	r.Totals.Gaps, r.Totals.Judged = a.pace.Gaps, a.judge.judged
	ours := slices.ContainsFunc(r.Archives, func(in *evidence.Info) bool { return in.Ours })
	summary := struct {
		*Result
		Ours, Strict bool
		Floor        time.Duration
		Signed       [][2]string // hosts with credentials, and their fields
	}{Result: r, Ours: ours, Strict: a.o.Strict, Floor: a.o.Floor}
	for _, in := range r.Archives {
		for _, of := range in.Credentials {
			host, fields, _ := strings.Cut(of, ": ")
			summary.Signed = append(summary.Signed, [2]string{host, fields})
		}
	}
	r.Measures, r.CannotShow = measures(summary), cannotShow(summary)
	for _, w := range a.o.Witnesses {
		if err := w.Close(ctx, r, a.report); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.hosts)) {
		h := a.hosts[name]
		r.Hosts = append(r.Hosts, h.show())
		if h.Own {
			why := "its proof is in the archive"
			if evidence.Loopback(name) {
				why = "loopback"
			}
			r.OwnHosts = append(r.OwnHosts, OwnHost{finding.Short(name), why})
		}
	}
	if r.Confirmed != nil {
		for _, h := range r.Hosts {
			if h.Pages+h.Robots > 0 {
				r.Confirmed.OfHosts++
			}
		}
		r.Confirmed.OfExchanges = r.Totals.Exchanges
	}
	for _, n := range a.Counted().Counts {
		if n.Code.Contradicts() && n.Found > n.Notes {
			r.Level, r.Levels, r.Confirmed = NoLevel, nil, nil
		}
	}
	return r, nil
}

var (
	measures = plainly.Sentences(`robots.txt before pages, used for 24 h at most, as read by RFC 9309 (2.2 to 2.4) by the audit's own parser
Crawl-delay from the end of a response to the start of the next request to the same authority
nothing during a Retry-After (RFC 9110 10.2.3)
one request at a time to an authority, where the archive records when responses ended
GET and HEAD only, with a User-Agent that names the crawler (RFC 9309 2.2.1)
block and payload digests (WARC 1.1, 5.8 and 5.9)
{{if .Ours}}curtsy's politeness rules: a floor of 1 s or what the archive declares, the groups of the token and of curtsy, Cache-Control of robots.txt, 429 and 5xx as unreachable, the delay of addresses, Request-rate, RateLimit, five times the response time, the crawl's own statements, and its reason for each delay
{{else if .Strict}}of another crawler, as requested, curtsy's politeness rules that its archive can show: a floor of 1 s, Cache-Control of robots.txt, 429, 408, 425 and 5xx as unreachable, delays after 429 and errors, the delay of addresses (100 ms), Request-rate, RateLimit, five times the response time, a contact in the User-Agent, no cookies and no credentials
{{end}}{{if .Floor}}a delay of {{.Floor}} for hosts that are not the operator's own, as requested{{end}}`)
	cannotShow = plainly.Sentences(`that every request was archived: only the sites' own access logs can confirm that
that the clock of the crawling computer was right (the dates of responses show how it differs from the servers', which may be wrong or made up), or that the files are those that the crawl wrote: a checkpoint stored elsewhere at the time confirms the second
requests of which no byte was sent, which leave no record
{{range .Archives}}{{if .Proxy}}the addresses of hosts behind a proxy ({{.Proxy}}): where the archive has no address, neither private addresses nor the delay of addresses were checked; names and the delay of hosts were
{{break}}{{end}}{{end}}{{range .Signed}}what other clients see of {{index . 0}}, one of the operator's own hosts, which was requested with credentials ({{index . 1}}), whose values the archive does not have
{{end}}{{if .Ours}}that the value in a host's /.well-known/curtsy-owner.txt was made with the operator's key: only that key can show it
that delays after repeated errors are as long as politeness rules 11 and 12 require: the audit uses those that the crawl recorded
when a response began: the audit accepts the recorded time of the first byte if it is not after the last, and computes the delay for slow responses from it
whether a run continued without the last two responses of the previous file, as after a kill: their response times and RateLimit do not bind it
when exactly a connection to an address was opened: the delay of addresses is judged over many exchanges
{{else}}that the software is the one that the archive names{{if not .Strict}}: this crawler's own promises beyond the standards were not checked{{end}}
which product token the crawler obeyed, unless the archive or its requests name it
{{end}}{{if .Totals.Unprovable}}the checks that the table of hosts counts as unprovable, for the reasons given there
{{end}}{{if .Totals.Elsewhere}}that what some revisit records repeat exists: it is not in these files{{end}}`)
)
