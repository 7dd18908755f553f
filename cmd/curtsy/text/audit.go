package text

import (
	"fmt"
	"strings"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/plainly"
)

// Audit is the result for a terminal: the verdict and what stands against it first.
func Audit(r *audit.Result) string {
	var head, tail strings.Builder
	fmt.Fprintf(&head, "%s\n%s.\n", verdict(r), times(r))
	fmt.Fprintf(&head, "Level reached: %s.\n", levelWords(r))
	for _, s := range silentLogs(r) {
		fmt.Fprintf(&head, "Access log%s; check HOST and FILE.\n", s)
	}
	ownHosts(&head, r)
	list(&head, "Damaged or changed records: they cannot be read, or do not match their digests", damage(r))
	findings(&head, r, false)
	list(&tail, "How far it reaches", reach(r))
	unprovable(&tail, r)
	clocks(&tail, r)
	witnesses(&tail, r)
	findings(&tail, r, true)
	list(&tail, "robots.txt used, the last of each host", policies(r))
	list(&tail, "Origin of the archive", making(r))
	list(&tail, "Politeness settings that differ from the default, as the archive states them", settings(r))
	list(&tail, "Requirements", r.Measures)
	list(&tail, "Not shown by this result", r.CannotShow)
	return Wrap(head.String()) + hosts(r) + Wrap(tail.String())
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
	s := fmt.Sprintf("in %s to %s", plainly.Count(t.Exchanges, "request"), plainly.Count(asked, "host"))
	if r.Clean {
		s = "No violation " + s
	} else {
		s = plainly.Count(t.Violations, "violation") + " " + s
	}
	if l := r.Ledger; l != nil && l.Unsent > 0 {
		s += " and " + plainly.Count(l.Unsent, "attempt") + " that reached no server"
	}
	if l := r.Ledger; l != nil && l.Untold > 0 {
		s += fmt.Sprintf("; without a ledger line: %d of %d records and refusals", l.Untold, l.Records+l.Refusals)
	}
	if what := redacted(r); what != "" {
		s += "; redacted: " + what
	}
	for _, c := range r.Counts {
		if c.Code == finding.ClockStep {
			s += "; the clock was set back, according to the ledger, " + plainly.Count(c.Found, "time")
		}
	}
	if damage(r) != nil {
		s += "; the archive is damaged or changed"
		if !impolite(r) {
			s += ", but no breach of a politeness rule was found"
		}
	}
	if t.Unprovable > 0 {
		s += "; " + plainly.Count(t.Unprovable, "check") + " could not be proved either way"
	}
	return s
}

// redacted says what was redacted, as ledger and archive show; "" if nothing was.
func redacted(r *audit.Result) string {
	l := r.Ledger
	if l == nil {
		return ""
	}
	var all []string
	if l.Forgotten > 0 {
		all = append(all, plainly.Count(l.Forgotten, "ledger line"))
	}
	if l.Redacted > 0 {
		all = append(all, "the bodies of "+plainly.Count(l.Redacted, "request"))
	}
	return strings.Join(all, " and ")
}

func times(r *audit.Result) string {
	if r.From.IsZero() {
		return "At no known time"
	}
	return fmt.Sprintf("From %s to %s", r.From.UTC().Format(time.DateTime), r.To.UTC().Format(time.DateTime+" UTC"))
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
