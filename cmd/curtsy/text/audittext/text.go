package audittext

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"curtsy/cmd/curtsy/text"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/plainly"
)

// findingsShown bounds the findings of a code in the text; JSON and HTML have what the result keeps.
const findingsShown = 5

// Text is the result for a terminal: the verdict and what stands against it first.
func Text(r *audit.Result) string {
	var head, tail strings.Builder
	fmt.Fprintf(&head, "%s\n%s.\n", verdict(r), times(r))
	fmt.Fprintf(&head, "Level reached: %s.\n", levelWords(r))
	ownHosts(&head, r)
	findings(&head, r, false)
	list(&tail, "How far it reaches", reach(r))
	unprovable(&tail, r)
	clocks(&tail, r)
	witnesses(&tail, r)
	findings(&tail, r, true)
	list(&tail, "What the archive says of its making", making(r))
	list(&tail, "Settings that differ from the default", settings(r))
	list(&tail, "What was required", r.Measures)
	list(&tail, "What this cannot show", r.CannotShow)
	return text.Wrap(head.String()) + hosts(r) + text.Wrap(tail.String())
}

// verdict is the headline: what was found in how much, and how much could not be found out.
func verdict(r *audit.Result) string {
	t := r.Totals
	asked := int64(0)
	for _, h := range r.Hosts {
		if h.Pages+h.Robots > 0 { // of others the archive says only that they were not asked
			asked++
		}
	}
	s := fmt.Sprintf("in %s with %s", plainly.Count(t.Exchanges, "exchange"), plainly.Count(asked, "host"))
	if r.Clean {
		s = "No violation " + s
	} else {
		s = plainly.Count(t.Violations, "violation") + " " + s
	}
	if l := r.Ledger; l != nil && l.Unsent > 0 {
		s += " and " + plainly.Count(l.Unsent, "attempt") + " that reached nobody"
	}
	if l := r.Ledger; l != nil && l.Untold > 0 {
		s += fmt.Sprintf("; no line of the ledger tells of %d of %d records and refusals", l.Untold, l.Records+l.Refusals)
	}
	for _, c := range r.Counts {
		if c.Code == finding.ClockStep {
			s += "; the clock is said to have been set back " + plainly.Count(c.Found, "time")
		}
	}
	if t.Unprovable > 0 {
		s += "; " + plainly.Count(t.Unprovable, "check") + " could not be proved either way"
	}
	return s
}

func times(r *audit.Result) string {
	if r.From.IsZero() {
		return "At no known time"
	}
	return fmt.Sprintf("From %s to %s", r.From.UTC().Format(time.DateTime), r.To.UTC().Format(time.DateTime+" UTC"))
}

// levels say what the levels mean, from the lowest.
var levels = []struct {
	level audit.Level
	words string
	not   string // what is missing for it
}{
	{audit.SelfConsistent, "archive, ledger, index and settings were compared with one another alone", ""},
	{audit.SignedByKnown, "nobody but the operator can have made it, or who has the key", "give the operator's verifier key, --key"},
	{audit.Lodged, "the operator has not changed it since, nor cut it off", "give a head that was lodged, --head, or those who saw it, --witness-key and --tsa-ca"},
	{audit.ConfirmedByLog, "the sites' own access logs tell of the same requests", "give the logs of the sites, --access-log"},
	{audit.LogAlone, "there is no archive: it is what the site's own access log and the robots.txt that was given show", ""},
}

func levelWords(r *audit.Result) string {
	s := string(r.Level)
	if how := how(r, r.Level); how != "" {
		s += ": " + how
	}
	for _, l := range levels {
		if l.level == r.Level {
			s += " (" + l.words + ")"
		}
	}
	return s
}

// how says how far a level reaches.
func how(r *audit.Result, level audit.Level) string {
	if c := r.Confirmed; c != nil && level == audit.ConfirmedByLog {
		return fmt.Sprintf("%d of %s and %d of %s", c.Hosts, plainly.Count(c.OfHosts, "host"), c.Exchanges, plainly.Count(c.OfExchanges, "exchange"))
	}
	for _, l := range r.Levels {
		if l.Level == level {
			return l.How
		}
	}
	return ""
}

// reach says of each level whether it is reached.
func reach(r *audit.Result) (all []string) {
	if r.Level == audit.LogAlone {
		return nil
	}
	for _, l := range levels[:len(levels)-1] {
		switch far := how(r, l.level); {
		case l.level == audit.SelfConsistent && !r.Clean:
			all = append(all, string(l.level)+": no, there are violations")
		case far != "":
			all = append(all, fmt.Sprintf("%s: %s", l.level, far))
		case l.not == "":
			all = append(all, string(l.level))
		default:
			all = append(all, fmt.Sprintf("%s: not shown; %s", l.level, l.not))
		}
	}
	return all
}

func ownHosts(b *strings.Builder, r *audit.Result) {
	if len(r.OwnHosts) == 0 {
		return
	}
	b.WriteString("\nThe operator's own hosts, for which other rules hold:\n")
	for i, h := range r.OwnHosts {
		if i == text.MaxShown {
			fmt.Fprintf(b, "  and %d more\n", len(r.OwnHosts)-i)
			break
		}
		fmt.Fprintf(b, "  %s: %s\n", plainly.OneLine(h.Authority), plainly.OneLine(h.Why))
	}
}

// codeWords say what a finding of a code says.
var codeWords = map[finding.Code]string{
	finding.RobotsMissing:     "a page was asked for before robots.txt",
	finding.RobotsExpired:     "robots.txt was too old",
	finding.RobotsUnreachable: "robots.txt could not be had, and pages were asked for",
	finding.Disallowed:        "robots.txt forbids the URL",
	finding.Gap:               "the pause was too short",
	finding.InFlight:          "two exchanges with one host at one time",
	finding.RetryAfter:        "the server had asked to be left alone",
	finding.AddressPace:       "too many exchanges began at one address",
	finding.Digest:            "octets are not those that were digested",
	finding.Verdict:           "the crawl names another verdict than robots.txt gives",
	finding.GapTold:           "the crawl tells another pause than its records show",
	finding.UserAgent:         "the request does not say who asks",
	finding.Method:            "a method other than GET and HEAD",
	finding.Credentials:       "a request with cookies or credentials",
	finding.BadRecord:         "a record is malformed, out of place or alone",
	finding.LedgerLines:       "lines of the ledger are changed, missing or damaged",
	finding.LedgerRoot:        "a checkpoint is not of the ledger's lines",
	finding.LedgerHosts:       "the completeness map is not that of the lines",
	finding.LedgerTiles:       "the tiles are not those of the checkpoint",
	finding.LedgerSigner:      "a checkpoint is not signed by the key of its run",
	finding.LedgerKey:         "the ledger is not signed by the key you know",
	finding.LedgerOrigin:      "a checkpoint or a segment is of another log",
	finding.LedgerShort:       "a checkpoint is of more lines than there are",
	finding.LedgerFork:        "somebody vouches for other lines than these",
	finding.LedgerHead:        "the ledger does not have the head that was lodged",
	finding.Redacted:          "a line was taken away, and no mark says so",
	finding.Cosignature:       "a cosignature of a known witness is none",
	finding.Timestamp:         "a time stamp is none, or of nobody who is known",
	finding.FileDiffers:       "a finished file is not the one that the ledger knows",
	finding.FileMissing:       "the ledger knows a file that is not there",
	finding.FileExtra:         "the ledger does not know a finished file",
	finding.Settings:          "the settings are not those of the last run",
	finding.OptOuts:           "a line names an opt-out list that no run had",
	finding.LedgerMissing:     "in the archive and not in the ledger",
	finding.LedgerExtra:       "in the ledger and not in the archive",
	finding.LedgerDiffers:     "ledger and archive tell different things",
	finding.LogMissing:        "archived, and not in the site's access log",
	finding.LogExtra:          "in the site's access log, and not archived",
	finding.LogLine:           "a line of the access log cannot be read",
	finding.BadPackage:        "the WACZ file is not what its manifest or its signatures say",
	finding.ClockStep:         "the clock of the crawling computer was set back between two runs",
	finding.TakenDown:         "taken down: the ledger says when, why and how much",
	finding.CrashInFlight:     "the crawl was killed, or still runs: what was in flight then is incomplete",
}

// findings lists violations, or notes, by code.
func findings(b *strings.Builder, r *audit.Result, notes bool) {
	title := "\nViolations\n"
	if notes {
		title = "\nNamed, and no violation\n"
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

// pauseText writes a pause for people, as exact as it matters.
func pauseText(s float64) string { return fmt.Sprintf("%.3f s", s) }

// hosts is the table of hosts, as wide as their names make it.
func hosts(r *audit.Result) string {
	var b strings.Builder
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "ASKED\tROBOTS\tAVOIDED\tPACE DUE\tLEAST GAP\tMEDIAN GAP\tVIOLATIONS\tUNPROVABLE\t  HOST")
	for i, h := range r.Hosts {
		if i == 5*text.MaxShown {
			break
		}
		row := row(h)
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%s\t%s\t%d\t%d\t  %s\n", h.Pages, h.Robots, h.Disallowed, row.Pace, row.Least, row.Median, h.Violations, h.Unprovable, plainly.OneLine(h.Authority))
	}
	_ = w.Flush() // into memory
	if more := len(r.Hosts) - 5*text.MaxShown; more > 0 {
		fmt.Fprintf(&b, "and %s; --json and --html list them\n", plainly.Count(int64(more), "more host"))
	}
	return b.String()
}

// unprovable says what could not be proved of which host, and why.
func unprovable(b *strings.Builder, r *audit.Result) {
	shown := 0
	for _, h := range r.Hosts {
		for _, u := range h.Why {
			if shown++; shown <= text.MaxShown {
				fmt.Fprintf(b, "unprovable: %s, %s, %s: %s\n", plainly.OneLine(h.Authority), u.What, plainly.Count(u.Count, "time"), plainly.OneLine(unproved(u)))
			}
		}
	}
	if shown > text.MaxShown {
		fmt.Fprintf(b, "and %s; --json and --html list them\n", plainly.Count(int64(shown-text.MaxShown), "further reason"))
	}
}

// unproved says why something cannot be proved, and within which bounds it lies.
func unproved(u audit.Unproved) string {
	if u.Least == 0 && u.Most == 0 {
		return u.Why
	}
	return fmt.Sprintf("%s; between %s and %s", u.Why, pauseText(u.Least), pauseText(u.Most))
}

// gaps are a host's pauses in words.
type gaps struct{ Pace, Least, Median string }

func row(h *audit.Host) gaps {
	g := gaps{"–", "–", "–"}
	if h.RequiredBy != "" || h.Required > 0 {
		g.Pace = pauseText(h.Required)
		if h.Lowest < h.Required { // another robots.txt or other settings held for a part of the time
			g.Pace = fmt.Sprintf("%.3f–%s", h.Lowest, g.Pace)
		}
	}
	if h.Gaps > 0 {
		g.Least, g.Median = pauseText(h.MinGap), pauseText(h.MedianGap)
	}
	if h.Gaps > 0 && h.StartToStart { // of which the exchange is a part
		g.Least, g.Median = "≤ "+g.Least, "≤ "+g.Median
	}
	return g
}

func witnesses(b *strings.Builder, r *audit.Result) {
	if l := r.Ledger; l != nil {
		fmt.Fprintf(b, "\nLedger: %s\n", plainly.OneLine(ledgerWords(l)))
	}
	if p := r.Package; p != nil {
		fmt.Fprintf(b, "\nWACZ file: %s\n", plainly.OneLine(packageWords(p)))
	}
	for _, h := range r.Logs {
		fmt.Fprintf(b, "\nAccess log%s: %s\n", of(plainly.OneLine(h.Host)), logWords(h))
	}
}

// packageWords say what a WACZ file is.
func packageWords(p *audit.PackageCheck) string {
	s := fmt.Sprintf("%d of %s as the manifest says", p.Agree, plainly.Count(p.Files, "file"))
	if len(p.Signed) > 0 {
		s += "; signed by " + strings.Join(p.Signed, " and by ")
	} else {
		s += "; no signature holds"
	}
	if p.LeftOut > 0 {
		s += "; " + plainly.Count(p.LeftOut, "record") + " left out by the packer, for the pages ask not to be archived"
	}
	return s + "."
}

func of(name string) string {
	if name == "" {
		return ""
	}
	return " of " + name
}

func ledgerWords(l *audit.LedgerCheck) string {
	s := fmt.Sprintf("%s in %s of %s; %d of %d records and refusals agree", plainly.Count(l.Lines, "decision"), plainly.Count(l.Segments, "segment"),
		plainly.Count(l.Runs, "run"), l.Agree, l.Records+l.Refusals)
	if l.Files > 0 {
		s += fmt.Sprintf("; %d of %s as it has them", l.FilesAgree, plainly.Count(l.Files, "file"))
	}
	if l.Redacted > 0 {
		s += "; " + plainly.Count(l.Redacted, "exchange") + " without the body, as marks say"
	}
	if l.Forgotten > 0 {
		s += "; " + plainly.Count(l.Forgotten, "line") + " forgotten, as marks say"
	}
	if l.Head != "" {
		s += "; its last checkpoint is " + l.Head
	}
	switch name, _, _ := strings.Cut(l.Signer, "+"); {
	case name != "" && l.SignerKnown:
		s += ", signed by the key you know, " + name
	case name != "":
		s += ", signed by " + name + ", a signer unknown to you without --key"
	case l.Head != "":
		s += ", not signed"
	}
	for _, d := range l.Lodged {
		switch d.How {
		case audit.ByHead:
			s += "; it has the head that was lodged, " + d.By
		default:
			s += fmt.Sprintf("; %s saw its first %d entries on %s", d.By, d.Size, d.At.UTC().Format(time.DateTime+" UTC"))
		}
	}
	return s + "."
}

func logWords(h *audit.HostLog) string {
	if h.Exchanges == 0 && h.Ours > 0 { // it was judged alone
		return fmt.Sprintf("%s, %d of the crawler; from %s to %s.", plainly.Count(h.Lines, "line"), h.Ours, h.First.UTC().Format(time.DateTime), h.Last.UTC().Format(time.DateTime+" UTC"))
	}
	s := fmt.Sprintf("%s, %d of the crawler; %d of %s agree", plainly.Count(h.Lines, "line"), h.Ours, h.Agree, plainly.Count(h.Exchanges, "exchange"))
	if h.Missing > 0 {
		s += fmt.Sprintf("; %d are not in it so", h.Missing)
	}
	if h.Extra > 0 {
		s += fmt.Sprintf("; %d more stand in it", h.Extra)
	}
	if h.Unread > 0 {
		s += fmt.Sprintf("; %d lines cannot be read", h.Unread)
	}
	return s + "."
}

func list(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, item := range items {
		fmt.Fprintf(b, "  %s\n", plainly.OneLine(item))
	}
}
