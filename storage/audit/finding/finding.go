package finding

import (
	_ "embed"
	"slices"
	"strings"
	"time"
)

// Code names what a check found. Codes are stable: scripts may rely on them.
type Code string

// The checks of the archive itself.
const (
	RobotsMissing     Code = "robots-missing"     // a page was asked for before any robots.txt of its authority
	RobotsExpired     Code = "robots-expired"     // the robots.txt that a page was judged by was too old
	RobotsUnreachable Code = "robots-unreachable" // a page was asked for though robots.txt could not be had
	Disallowed        Code = "disallowed"         // robots.txt forbids the URL
	Gap               Code = "gap"                // the pause since the authority's last exchange was too short
	InFlight          Code = "in-flight"          // two exchanges of one authority at one time
	RetryAfter        Code = "retry-after"        // the server had asked to be left alone
	AddressPace       Code = "address-pace"       // too many exchanges began at one address
	Hours             Code = "hours"              // a host was asked outside of the hours that the crawl had set for it
	Window            Code = "window"             // somebody was asked outside of the window that the crawl had set
	PerDay            Code = "per-day"            // a host was asked more often in a day than the crawl had set for it
	Digest            Code = "digest"             // bytes are not those that were digested
	Verdict           Code = "verdict"            // the crawl says that another line of robots.txt decided
	GapTold           Code = "gap-told"           // the crawl says another pause than its records show
	UserAgent         Code = "user-agent"         // the request does not say who asks
	Method            Code = "method"             // a method other than GET and HEAD
	Credentials       Code = "credentials"        // the request has cookies or credentials
	BadRecord         Code = "record"             // a record is malformed, out of place or alone
)

// The checks of what stands beside the archive.
const (
	LedgerLines   Code = "ledger-lines"    // lines or marks of the ledger are changed, missing or damaged
	LedgerRoot    Code = "ledger-root"     // a checkpoint is not of the ledger's lines
	LedgerHosts   Code = "ledger-hosts"    // a completeness map is not that of the lines
	LedgerTiles   Code = "ledger-tiles"    // the tiles are not those of the checkpoint
	LedgerSigner  Code = "ledger-signer"   // a checkpoint is not signed by the key of its run
	LedgerKey     Code = "ledger-key"      // the signer is not the one that the auditor knows
	LedgerOrigin  Code = "ledger-origin"   // a checkpoint or a segment is of another log
	LedgerShort   Code = "ledger-rollback" // a checkpoint is of more lines than there are
	LedgerFork    Code = "ledger-fork"     // somebody vouches for other lines than these
	LedgerMissing Code = "ledger-missing"  // a record of the archive has no line in the ledger
	LedgerExtra   Code = "ledger-extra"    // a line of the ledger has no record in the archive
	LedgerDiffers Code = "ledger-differs"  // line and record say different things
	LedgerHead    Code = "ledger-head"     // the ledger does not have the submitted checkpoint
	Redacted      Code = "redaction"       // a line was taken away, and no mark says so
	TakenDown     Code = "redacted"        // named, no violation: what was taken down, as a mark of the ledger says
	Cosignature   Code = "cosignature"     // a cosignature of a known witness is none
	FileDiffers   Code = "file-differs"    // a finished file is not the one that the ledger has a mark of
	FileMissing   Code = "file-missing"    // the ledger has a mark of a file that is not there
	FileExtra     Code = "file-extra"      // a finished file of archive or index has no mark
	Settings      Code = "settings"        // the settings are not those of the last run
	OptOuts       Code = "opt-outs"        // a line names an opt-out list that no mark has
	LogMissing    Code = "log-missing"     // an archived exchange does not stand in the site's access log
	LogExtra      Code = "log-extra"       // the access log has a request of the crawler that the archive has not
	LogLine       Code = "access-log-line" // a line of the access log cannot be read
	BadPackage    Code = "wacz"            // the WACZ file is not what its manifest, its digest or its signatures say
	Owner         Code = "owner"           // a member of a fleet requested from a host of another
	MemberMissing Code = "member-missing"  // the directory of a member of a fleet was not given
	ClockStep     Code = "clock-step"      // named, no violation: the crawl's clock was set back between two runs
	CrashInFlight Code = "crash-in-flight" // named, no violation: what was in flight when the crawl was killed
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

// Words say what a finding of the code says, without capital and full stop.
func (c Code) Words() string { return words[c] }

// Place says where a record stands.
type Place struct {
	File   string `json:"file,omitempty"`
	Offset int64  `json:"offset"`           // of the record, or of the gzip member that holds it
	Record string `json:"record,omitempty"` // its id, a URI without angle brackets
}

// Finding is one result of a check. Its texts come from the archive, cut at a few hundred bytes: escape them for display.
type Finding struct {
	Code      Code   `json:"code"`
	Note      bool   `json:"note,omitempty"` // named, but no violation
	Authority string `json:"authority,omitempty"`
	URL       string `json:"url,omitempty"`
	Place
	Time       time.Time `json:"time,omitzero"`
	Required   string    `json:"required"` // and by which document
	Observed   string    `json:"observed"`
	Unreadable bool      `json:"unreadable,omitempty"` // the record at Place is damaged
}

type Report func(Finding)

// Doubt is what cannot be proved of a host, and why. The pauses concerned lie between Least and Most.
type Doubt struct {
	Authority   string
	What        Code
	Why         string
	Least, Most time.Duration
}

// Hearing takes what a judge finds, and what it cannot prove.
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
