package text

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/plainly"
)

// Audit is the result for a terminal: the verdict and what stands against it first. The table of hosts is as wide as their
// names make it.
func Audit(r *audit.Result) string {
	s := newSheet(r)
	return Wrap(Render("audit head", s)) + hosts(r) + Wrap(Render("audit tail", s))
}

// titled is a list with its title.
type titled struct {
	Title string
	Items []string
}

// shorten leaves out what comes after the first most of a list, and says how much that is.
func shorten(all []string, most int, more func(n int) string) []string {
	if n := len(all) - most; n > 0 {
		return append(slices.Clip(all[:most]), more(n))
	}
	return all
}

// listed says that other forms of the result list more things.
func listed(thing string) func(int) string {
	return func(n int) string { return "and " + plainly.Count(n, thing) + "; --json and --html list them" }
}

// about is what something concerns, with its time if that is known.
func about(at time.Time, what string) string {
	if at.IsZero() {
		return what
	}
	return strings.TrimSpace(at.UTC().Format("2006-01-02T15:04:05.999999Z") + " " + what)
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
