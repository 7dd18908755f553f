package text

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"curtsy/crawler/crawldir"
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

// levels say what the levels mean, from the lowest.
var levels = []struct {
	level audit.Level
	words string
	not   string // what is missing for it
}{
	{audit.SelfConsistent, "archive, ledger, index and settings were compared only with one another", ""},
	{audit.SignedByKnown, "only the operator, or someone with the key, can have written it", "give the operator's verifier key, --key"},
	{audit.Lodged, "the operator has not changed or truncated it since", "give a stored checkpoint, --checkpoint, or the key of a witness that cosigned it, --witness-key"},
	{audit.ConfirmedByLog, "the sites' own access logs have the same requests", "give the logs of the sites, --access-log"},
	{audit.NoLevel, "the evidence contradicts itself", ""},
	{audit.LogAlone, "no archive: the result is from the site's own access log", ""},
}

func levelWords(r *audit.Result) string {
	s := string(r.Level)
	if how := how(r, r.Level); how != "" {
		s += ": " + how
	}
	for _, l := range levels {
		if l.level != r.Level.Whole() {
			continue
		}
		s += " (" + l.words
		if l.level == audit.Lodged && redacted(r) != "" {
			s += ", except for redactions, which its entries record"
		}
		s += ")"
	}
	return s
}

// how says how far a level reaches.
func how(r *audit.Result, level audit.Level) string {
	if c := r.Confirmed; c != nil && level == audit.ConfirmedByLog {
		return fmt.Sprintf("%d of %s and %d of %s", c.Hosts, plainly.Count(c.OfHosts, "host"), c.Exchanges, plainly.Count(c.OfExchanges, "request"))
	}
	for _, l := range r.Levels {
		if l.Level.Whole() == level.Whole() {
			return l.How
		}
	}
	return ""
}

// refuted says how the given evidence contradicts a level; "" if it does not.
func refuted(r *audit.Result, level audit.Level) string {
	var all []string
	for _, l := range r.Refuted {
		if l.Level == level {
			all = append(all, l.How)
		}
	}
	all = shorten(all, MaxShown, func(n int) string { return fmt.Sprintf("and %d more", n) })
	agree := 0
	for _, h := range r.Logs {
		if h.Confirmed {
			agree++
		}
	}
	if len(all) > 0 && level == audit.ConfirmedByLog && agree > 0 {
		all = append(all, fmt.Sprintf("%d of %s agree", agree, plainly.Count(int64(len(r.Logs)), "log")))
	}
	return strings.Join(all, "; ")
}

// silentLogs says of each access log that confirms nothing why, after the word "log".
func silentLogs(r *audit.Result) (all []string) {
	if r.Level == audit.LogAlone {
		return nil
	}
	for _, h := range r.Logs {
		if why := h.Silent(); why != "" {
			all = append(all, auditOf(plainly.OneLine(h.Host))+" confirms nothing: "+why)
		}
	}
	return shorten(all, MaxShown, func(n int) string { return fmt.Sprintf("s: %d more confirm nothing", n) })
}

// reached is a level as it was reached, whole or in part.
func reached(r *audit.Result, level audit.Level) audit.Level {
	for _, l := range r.Levels {
		if l.Level.Whole() == level {
			return l.Level
		}
	}
	return level
}

// reach says of each level whether it is reached.
func reach(r *audit.Result) (all []string) {
	if r.Level == audit.LogAlone {
		return nil
	}
	none := r.Level == audit.NoLevel
	for _, l := range levels[:len(levels)-2] {
		switch far, against := how(r, l.level), refuted(r, l.level); {
		case l.level == audit.SelfConsistent && none:
			all = append(all, string(l.level)+": no, the evidence contradicts itself")
		case against != "":
			all = append(all, fmt.Sprintf("%s: refuted: %s", l.level, against))
		case none:
			all = append(all, string(l.level)+": no")
		case far != "":
			all = append(all, fmt.Sprintf("%s: %s", reached(r, l.level), far))
		case l.not == "":
			all = append(all, string(l.level))
		case l.level == audit.ConfirmedByLog && len(silentLogs(r)) > 0:
			all = append(all, fmt.Sprintf("%s: not shown; access log%s", l.level, strings.Join(silentLogs(r), "; access log")))
		default:
			all = append(all, fmt.Sprintf("%s: not shown; %s", l.level, l.not))
		}
	}
	return all
}

// clockSeconds is the skew from which a host's is worth a line: the field Date has whole seconds.
const clockSeconds = 2

// clocks says by how much the dates of answers differ from the archive's, and at which hosts by much; nil without dates.
func clocks(r *audit.Result) *titled {
	var all []float64
	var off []string
	for _, h := range r.Hosts {
		if h.Dates == 0 {
			continue
		}
		if all = append(all, h.Skew); math.Abs(h.Skew) >= clockSeconds {
			off = append(off, h.Authority+": "+skewText(h))
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return &titled{clockWords(all), shorten(off, MaxShown, listed("more host"))}
}

// clockWords say how hosts' clocks stand to the archive's dates. all is by how much each is ahead, in order.
func clockWords(all []float64) string {
	least, middle, most := all[0], all[len(all)/2], all[len(all)-1]
	hosts := plainly.Count(int64(len(all)), "host")
	if -least < clockSeconds && most < clockSeconds { // Date has whole seconds
		return fmt.Sprintf("%s within a second of the archive's", hosts)
	}
	if len(all) == 1 {
		return "1 host, compared with the archive's: " + aheadBy(middle)
	}
	return fmt.Sprintf("%s, compared with the archive's: from %s to %s, median %s", hosts, aheadBy(least),
		aheadBy(most), aheadBy(middle))
}

func aheadBy(s float64) string {
	if s < 0 {
		return fmt.Sprintf("%.1f s behind", -s)
	}
	return fmt.Sprintf("%.1f s ahead", s)
}

// skewText is the skew of a host in words, "" when it sent no dates.
func skewText(h *audit.Host) string {
	if h.Dates == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f s by %s", h.Skew, plainly.Count(h.Dates, "date"))
}

// field is the value of a field; empty if there is none.
func field(fields [][2]string, name string) string {
	for _, f := range fields {
		if f[0] == name {
			return f[1]
		}
	}
	return ""
}

// defaults are the fields that the warcinfo record of a crawl with no settings of its own has.
func defaults() map[string]string {
	s := crawldir.Defaults()
	usual := map[string]string{"robots": s.Standard.String(), "opt-out-sha256": "none"}
	for _, f := range s.PolitenessFields() {
		usual[f.Name] = f.Value
	}
	return usual
}

// settings names the settings of archives of this crawler that are not the default.
func settings(r *audit.Result) []string {
	var all []string
	usual := defaults()
	seen := map[string]bool{}
	for _, in := range r.Archives {
		if !in.Ours {
			continue
		}
		for _, f := range in.Fields {
			normal, known := usual[f[0]]
			line := f[0] + ": " + f[1]
			if known && f[1] != normal && !seen[line] {
				seen[line] = true
				all = append(all, line+" (default "+normal+")")
			}
		}
	}
	return all
}

func auditOf(name string) string {
	if name == "" {
		return ""
	}
	return " of " + name
}
