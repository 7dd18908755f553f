package finding

import (
	_ "embed"
	"slices"
	"strings"
	"time"
)

// Code names the finding of a check. Codes are stable: scripts may rely on them.
type Code string

// The checks of the archive itself.
const (
	RobotsMissing     Code = "robots-missing"     // a page was requested before any robots.txt of its authority
	RobotsExpired     Code = "robots-expired"     // the robots.txt that decided about a page was too old
	RobotsUnreachable Code = "robots-unreachable" // a page was requested though robots.txt was unavailable
	Disallowed        Code = "disallowed"         // robots.txt forbids the URL
	Gap               Code = "gap"                // the delay since the authority's last exchange was too short
	InFlight          Code = "in-flight"          // two exchanges of one authority at one time
	RetryAfter        Code = "retry-after"        // the server had requested a longer back-off
	AddressPace       Code = "address-pace"       // too many exchanges began at one address
	Hours             Code = "hours"              // a request to a host outside of the hours that the crawl had set
	Window            Code = "window"             // a request outside of the window that the crawl had set
	PerDay            Code = "per-day"            // more requests to a host in a day than the crawl had set for it
	Digest            Code = "digest"             // bytes are not those that were digested
	Verdict           Code = "verdict"            // the crawl recorded another deciding line of robots.txt
	GapTold           Code = "gap-told"           // the crawl recorded another delay than its records show
	UserAgent         Code = "user-agent"         // the request does not identify the crawler
	Method            Code = "method"             // a method other than GET and HEAD
	Credentials       Code = "credentials"        // the request has cookies or credentials
	BadRecord         Code = "record"             // a record is malformed, misplaced or isolated
)

// The checks of the evidence beside the archive.
const (
	LedgerLines   Code = "ledger-lines"    // lines or marks of the ledger are changed, missing or damaged
	LedgerRoot    Code = "ledger-root"     // a checkpoint is not of the ledger's lines
	LedgerHosts   Code = "ledger-hosts"    // a completeness map is not that of the lines
	LedgerTiles   Code = "ledger-tiles"    // the tiles are not those of the checkpoint
	LedgerSigner  Code = "ledger-signer"   // a checkpoint is not signed by the key of its run
	LedgerKey     Code = "ledger-key"      // the signer is not the one given to the auditor
	LedgerOrigin  Code = "ledger-origin"   // a checkpoint or a segment is of another log
	LedgerShort   Code = "ledger-rollback" // a checkpoint is of more lines than there are
	LedgerFork    Code = "ledger-fork"     // a third party vouches for other lines
	LedgerMissing Code = "ledger-missing"  // a record of the archive has no line in the ledger
	LedgerExtra   Code = "ledger-extra"    // a line of the ledger has no record in the archive
	LedgerDiffers Code = "ledger-differs"  // line and record have different values
	LedgerHead    Code = "ledger-head"     // the ledger does not have the submitted checkpoint
	Redacted      Code = "redaction"       // a line was removed, and no mark names it
	TakenDown     Code = "redacted"        // not a violation: redacted, as a mark of the ledger records
	Cosignature   Code = "cosignature"     // a cosignature of a known witness is invalid
	FileDiffers   Code = "file-differs"    // a finished file is not the one that the ledger has a mark of
	FileMissing   Code = "file-missing"    // the ledger has a mark of a missing file
	FileExtra     Code = "file-extra"      // a finished file of archive or index has no mark
	Settings      Code = "settings"        // the settings are not those of the last run
	OptOuts       Code = "opt-outs"        // a line names an opt-out list that no mark has
	LogMissing    Code = "log-missing"     // an archived exchange is not in the site's access log
	LogExtra      Code = "log-extra"       // the access log has a request of the crawler that the archive has not
	LogLine       Code = "access-log-line" // a line of the access log cannot be read
	BadPackage    Code = "wacz"            // the WACZ file contradicts its manifest, its digest or its signatures
	Owner         Code = "owner"           // a member of a fleet requested from a host of another
	MemberMissing Code = "member-missing"  // the directory of a member of a fleet was not given
	ClockStep     Code = "clock-step"      // not a violation: the crawl's clock was set back between two runs
	CrashInFlight Code = "crash-in-flight" // not a violation: requests in flight when the crawl was killed
)

//go:embed codes.txt
var text string

// The codes of the text, in its order, and their words.
var codes, words = func() (all []Code, said map[Code]string) {
	said = map[Code]string{}
	for line := range strings.Lines(text) {
		code, what, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		all, said[Code(code)] = append(all, Code(code)), what
	}
	return all, said
}()

// Codes are all codes, in the order in which results list them.
func Codes() []Code { return slices.Clone(codes) }

// Contradicts reports whether a finding of the code shows that the evidence contradicts itself: it was damaged or changed.
// Others are about the crawl, or about evidence of a third party.
func (c Code) Contradicts() bool {
	switch c {
	case Digest, Verdict, GapTold, LedgerLines, LedgerRoot, LedgerHosts, LedgerTiles, LedgerSigner, LedgerOrigin, LedgerShort,
		LedgerFork, LedgerMissing, LedgerExtra, LedgerDiffers, Redacted, FileDiffers, FileMissing, FileExtra, Settings,
		OptOuts, BadPackage:
		return true
	}
	return false
}

// Words describe a finding of the code, without capital and full stop.
func (c Code) Words() string { return words[c] }

// Place is the place of a record.
type Place struct {
	File   string `json:"file,omitempty"`
	Offset int64  `json:"offset"`           // of the record, or of the gzip member that holds it
	Record string `json:"record,omitempty"` // its id, a URI without angle brackets
}

// Finding is one result of a check. Its texts come from the archive, cut at a few hundred bytes: escape them for display.
type Finding struct {
	Code      Code   `json:"code"`
	Note      bool   `json:"note,omitempty"` // reported, but not a violation
	Authority string `json:"authority,omitempty"`
	URL       string `json:"url,omitempty"`
	Place
	Time       time.Time `json:"time,omitzero"`
	Required   string    `json:"required"` // and the document that requires it
	Observed   string    `json:"observed"`
	Unreadable bool      `json:"unreadable,omitempty"` // the record at Place is damaged
}

type Report func(Finding)

// Doubt is an unprovable property of a host, and the reason. The delays concerned are between Least and Most.
type Doubt struct {
	Authority   string
	What        Code
	Why         string
	Least, Most time.Duration
}

// Hearing takes a judge's findings, and its doubts.
type Hearing struct {
	Add      Report
	Unproved func(Doubt)
}

func (h Hearing) Doubt(authority string, what Code, why string, least, most time.Duration) {
	h.Unproved(Doubt{authority, what, why, least, most})
}

// MaxText bounds the texts in a finding, in bytes.
const MaxText = 500

// Short cuts a text that comes from the archive.
func Short(s string) string {
	if len(s) <= MaxText {
		return s
	}
	return s[:MaxText] + "…"
}

// Clock writes an instant as findings do.
func Clock(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Round writes a duration as findings do.
func Round(d time.Duration) string { return d.Round(time.Microsecond).String() }
