package text

import (
	"fmt"
	"strings"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/plainly"
)

// findingsShown bounds the findings of a code in the text; JSON and HTML have what the result keeps.
const findingsShown = 5

// codeWords say what a finding of a code says.
var codeWords = map[finding.Code]string{
	finding.RobotsMissing:     "a page was requested before robots.txt",
	finding.RobotsExpired:     "robots.txt was too old",
	finding.RobotsUnreachable: "pages were requested while robots.txt was unavailable",
	finding.Disallowed:        "robots.txt forbids the URL",
	finding.Gap:               "the delay was too short",
	finding.InFlight:          "two concurrent requests to one host",
	finding.RetryAfter:        "the server had requested a longer delay",
	finding.AddressPace:       "too many requests started at one address",
	finding.Window:            "a request outside the crawl's window",
	finding.Hours:             "a request outside the hours set for the host",
	finding.PerDay:            "more requests to a host in a day than allowed",
	finding.Digest:            "the bytes do not match their digest",
	finding.Verdict:           "the crawl recorded another verdict than robots.txt gives",
	finding.GapTold:           "the crawl recorded another delay than its records show",
	finding.UserAgent:         "the request does not identify the crawler",
	finding.Method:            "a method other than GET and HEAD",
	finding.Credentials:       "a request with cookies or credentials",
	finding.BadRecord:         "a record is malformed, misplaced or incomplete",
	finding.LedgerLines:       "lines of the ledger are changed, missing or damaged",
	finding.LedgerRoot:        "a checkpoint is not of the ledger's lines",
	finding.LedgerHosts:       "the completeness map does not match the lines",
	finding.LedgerTiles:       "the tiles do not match the checkpoint",
	finding.LedgerSigner:      "a checkpoint is not signed by the key of its run",
	finding.LedgerKey:         "the ledger is not signed by the key you know",
	finding.LedgerOrigin:      "a checkpoint or a segment belongs to another log",
	finding.LedgerShort:       "a checkpoint covers more lines than exist",
	finding.LedgerFork:        "a signature is for other lines than these",
	finding.LedgerHead:        "the ledger lacks a checkpoint that was submitted, or stored with the key",
	finding.Redacted:          "a line was removed without a record of it",
	finding.Cosignature:       "a cosignature of a known witness is invalid",
	finding.FileDiffers:       "a finished file differs from its mark in the ledger",
	finding.FileMissing:       "a file that the ledger has a mark of is missing",
	finding.FileExtra:         "a finished file has no mark in the ledger",
	finding.Settings:          "the settings are not from the last run",
	finding.OptOuts:           "a line names an opt-out list that no run had",
	finding.LedgerMissing:     "in the archive, but not in the ledger",
	finding.LedgerExtra:       "in the ledger, but not in the archive",
	finding.LedgerDiffers:     "ledger and archive differ",
	finding.LogMissing:        "archived, but not in the site's access log",
	finding.LogExtra:          "in the site's access log, but not archived",
	finding.LogLine:           "a line of the access log cannot be read",
	finding.BadPackage:        "the WACZ file does not match its manifest or signatures",
	finding.ClockStep:         "the clock of the crawling computer was set back between two runs",
	finding.TakenDown:         "redacted: the ledger has the time, the reason and the amount",
	finding.Owner:             "a member of a fleet requested from a host of another member",
	finding.MemberMissing:     "the directory of a member of a fleet was not given",
	finding.CrashInFlight:     "the crawl was killed, or is still running: its requests in flight are incomplete",
}

// findings lists violations, or notes, by code.
func findings(b *strings.Builder, r *audit.Result, notes bool) {
	title := "\nViolations\n"
	if notes {
		title = "\nNotes, not violations\n"
	}
	for _, c := range r.Counts {
		n := c.Found - c.Notes
		if notes {
			n = c.Notes
		}
		if n == 0 {
			continue
		}
		b.WriteString(title)
		title = ""
		fmt.Fprintf(b, "  %s: %d (%s)\n", c.Code, n, codeWords[c.Code])
		shown := int64(0)
		for _, f := range r.Findings {
			if f.Code != c.Code || f.Note != notes {
				continue
			}
			if shown == findingsShown {
				break
			}
			shown++
			oneFinding(b, &f)
		}
		if n > shown {
			fmt.Fprintf(b, "    … and %d more; --json and --html list them\n", n-shown)
		}
	}
}

func oneFinding(b *strings.Builder, f *finding.Finding) {
	what := f.URL
	if what == "" {
		what = f.Authority
	}
	if !f.Time.IsZero() {
		what = strings.TrimSpace(f.Time.UTC().Format("2006-01-02T15:04:05.999999Z") + " " + what)
	}
	if what != "" {
		fmt.Fprintf(b, "    %s\n", plainly.OneLine(what))
	}
	fmt.Fprintf(b, "      required  %s\n      observed  %s\n", plainly.OneLine(f.Required), plainly.OneLine(f.Observed))
	if where := findingPlace(f); where != "" {
		fmt.Fprintf(b, "      where     %s\n", plainly.OneLine(where))
	}
}

// findingPlace says where the record of a finding stands.
func findingPlace(f *finding.Finding) string { return placeText(f.Place) }

func placeText(p finding.Place) string {
	where := p.File
	if p.Record != "" && p.File != "" {
		where = fmt.Sprintf("%s offset %d", p.File, p.Offset)
	}
	if p.Record != "" {
		where = strings.TrimSpace(where + " " + p.Record)
	}
	return where
}
