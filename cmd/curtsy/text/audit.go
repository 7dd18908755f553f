package text

import (
	"cmp"
	_ "embed" // for the page
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"curtsy/crawler/crawldir"
	"curtsy/storage/audit"
	"curtsy/storage/audit/cbcp"
	"curtsy/storage/audit/finding"
	"curtsy/storage/htmlpage"
	"curtsy/storage/plainly"
)

// Audit is the result for a terminal, the verdict and the findings first.
func Audit(r *audit.Result) string {
	s := newSheet(r)
	return Wrap(Render("audit head", s)) + hosts(r) + Wrap(Render("audit tail", s))
}

type titled struct {
	Title string
	Items []string
}

// shorten cuts a list to most items, and adds a line on the rest.
func shorten(all []string, most int, more func(n int) string) []string {
	if n := len(all) - most; n > 0 {
		return append(slices.Clip(all[:most]), more(n))
	}
	return all
}

// listed is a last line for shorten: other forms of the result have more.
func listed(thing string) func(int) string {
	return func(n int) string { return "and " + plainly.Count(n, thing) + "; --json and --html list them" }
}

// about puts the time, if known, before a text.
func about(at time.Time, what string) string {
	if at.IsZero() {
		return what
	}
	return strings.TrimSpace(at.UTC().Format("2006-01-02T15:04:05.999999Z") + " " + what)
}

// verdict is the headline: the violations, the requests checked, and the checks without a result.
func verdict(r *audit.Result) string {
	t := r.Totals
	asked := int64(0)
	for _, h := range r.Hosts {
		if h.Pages+h.Robots > 0 { // other hosts got no request
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

// redacted describes the redactions in ledger and archive; "" for none.
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

// levels describes the levels, from the lowest.
var levels = []struct {
	level audit.Level
	words string
	not   string // the missing evidence for it
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

// how describes how far a level reaches.
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

// refuted describes how the evidence contradicts a level; "" if it does not.
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

// silentLogs lists the access logs that confirm nothing, with the reason, to print after the word "log".
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

// reached returns the level that was reached, whole or partial.
func reached(r *audit.Result, level audit.Level) audit.Level {
	for _, l := range r.Levels {
		if l.Level.Whole() == level {
			return l.Level
		}
	}
	return level
}

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

// clockSeconds is the least skew to report for a host: the Date field has whole seconds.
const clockSeconds = 2

// clocks describes the skew of the Date fields, and lists the hosts with much of it; nil without dates.
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
	title := fmt.Sprintf("%s, compared with the archive's: from %+.1f s to %+.1f s, median %+.1f s", plainly.Count(len(all), "host"),
		all[0], all[len(all)-1], all[len(all)/2])
	return &titled{title, shorten(off, MaxShown, listed("more host"))}
}

// skewText describes the skew of a host; "" without dates.
func skewText(h *audit.Host) string {
	if h.Dates == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f s by %s", h.Skew, plainly.Count(h.Dates, "date"))
}

// field returns the value of a field; "" if there is none.
func field(fields [][2]string, name string) string {
	for _, f := range fields {
		if f[0] == name {
			return f[1]
		}
	}
	return ""
}

// settings lists the settings that differ from the default, of archives of this crawler.
func settings(r *audit.Result) []string {
	var all []string
	s := crawldir.Defaults()
	usual := map[string]string{"robots": s.Standard.String(), "opt-out-sha256": "none"}
	for _, f := range s.PolitenessFields() {
		usual[f.Name] = f.Value
	}
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

// findingsShown bounds the findings of a code in the text.
const findingsShown = 5

// causes are the codes of damage that others follow from, such as a request for a page whose robots.txt is unreadable. They are
// listed first.
var causes = []finding.Code{
	finding.MemberMissing, finding.BadPackage, finding.FileMissing, finding.FileDiffers, finding.FileExtra, finding.Digest,
	finding.BadRecord, finding.LedgerLines,
}

// causesFirst returns the counts of a result, those of causes first.
func causesFirst(r *audit.Result) []audit.Count {
	rank := func(c audit.Count) int {
		if i := slices.Index(causes, c.Code); i >= 0 {
			return i
		}
		return len(causes)
	}
	return slices.SortedStableFunc(slices.Values(r.Counts), func(a, b audit.Count) int { return rank(a) - rank(b) })
}

// damage lists the damaged records and the remedies; nil for none.
func damage(r *audit.Result) []string {
	type place struct {
		file   string
		offset int64
	}
	var at []place
	urls := map[place]string{}
	for _, f := range r.Findings {
		if p := (place{f.File, f.Offset}); !f.Note && (f.Unreadable || f.Code == finding.Digest) {
			if _, known := urls[p]; !known {
				at = append(at, p)
			}
			urls[p] = cmp.Or(urls[p], f.URL)
		}
	}
	if len(at) == 0 {
		return nil
	}
	var all []string
	for _, p := range at {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s offset %d %s", p.file, p.offset, urls[p])))
	}
	all = shorten(all, findingsShown, func(n int) string { return fmt.Sprintf("… and %d more; curtsy warc check lists them", n) })
	return append(all, "Restore the files from a copy and audit again: other violations may follow from the damage.")
}

// impolite reports whether a violation of a politeness rule is possible: one that does not follow from damage.
func impolite(r *audit.Result) bool {
	return slices.ContainsFunc(r.Counts, func(c audit.Count) bool {
		return c.Found > c.Notes && c.Code != finding.BadRecord && (!c.Code.Contradicts() || c.Code == finding.OptOuts)
	}) || slices.ContainsFunc(r.Findings, func(f finding.Finding) bool {
		return f.Code == finding.BadRecord && !f.Note && !f.Unreadable
	})
}

func findingPlace(f *finding.Finding) string {
	if f.Unreadable && f.Record == "" {
		return fmt.Sprintf("%s offset %d", f.File, f.Offset)
	}
	return placeText(f.Place)
}

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

func owners(r *audit.Result) (all []string) {
	for _, h := range r.OwnHosts {
		all = append(all, h.Authority+": "+h.Why)
	}
	return shorten(all, MaxShown, func(n int) string { return fmt.Sprintf("and %d more", n) })
}

func hosts(r *audit.Result) string {
	var b strings.Builder
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "REQUESTS\tROBOTS\tAVOIDED\tDELAY DUE\tSHORTEST\tMEDIAN\tVIOLATIONS\tUNPROVABLE\t  HOST")
	for i, h := range r.Hosts {
		if i == 5*MaxShown {
			break
		}
		row := row(h)
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%s\t%s\t%d\t%d\t  %s\n", h.Pages, h.Robots, h.Disallowed, row.Pace, row.Least, row.Median, h.Violations, h.Unprovable, plainly.OneLine(h.Authority))
	}
	if n := ofNoHost(r); n > 0 {
		fmt.Fprintf(w, "–\t–\t–\t–\t–\t–\t%d\t–\t  (of no host)\n", n)
	}
	_ = w.Flush() // into memory
	if more := len(r.Hosts) - 5*MaxShown; more > 0 {
		fmt.Fprintf(&b, "and %s; --json and --html list them\n", plainly.Count(int64(more), "more host"))
	}
	return b.String()
}

// ofNoHost counts the violations of no host: of files, the ledger or a package.
func ofNoHost(r *audit.Result) int64 {
	n := r.Totals.Violations
	for _, h := range r.Hosts {
		n -= h.Violations
	}
	return n
}

// notProved lists the checks without a result, by reason.
func notProved(r *audit.Result) (all []string) {
	type group struct {
		what, why, host string // the first host
		count, hosts    int64
	}
	var groups []*group
	by := map[[2]string]*group{}
	for _, h := range r.Hosts {
		for _, u := range h.Why {
			key := [2]string{string(u.What), unproved(u)}
			g := by[key]
			if g == nil {
				g = &group{what: key[0], why: key[1], host: h.Authority}
				by[key], groups = g, append(groups, g)
			}
			g.count, g.hosts = g.count+u.Count, g.hosts+1
		}
	}
	for _, g := range groups {
		hosts := g.host
		if g.hosts > 1 {
			hosts += " and " + plainly.Count(g.hosts-1, "more host")
		}
		all = append(all, fmt.Sprintf("unprovable: %s, %s, %s: %s", hosts, g.what, plainly.Count(g.count, "time"), g.why))
	}
	return shorten(all, MaxShown, listed("further reason"))
}

// unproved gives the reason, and the bounds of the value.
func unproved(u audit.Unproved) string {
	if u.Least == 0 && u.Most == 0 {
		return u.Why
	}
	return fmt.Sprintf("%s; between %s and %s", u.Why, plainly.Seconds(u.Least), plainly.Seconds(u.Most))
}

// gaps are a host's delays.
type gaps struct{ Pace, Least, Median string }

func row(h *audit.Host) gaps {
	g := gaps{"–", "–", "–"}
	if h.RequiredBy != "" || h.Required > 0 {
		g.Pace = plainly.Seconds(h.Required)
		if h.Lowest < h.Required { // robots.txt or settings changed during the crawl
			g.Pace = strings.TrimSuffix(plainly.Seconds(h.Lowest), " s") + "–" + g.Pace
		}
	}
	if g.Pace == "–" && h.Gaps > 0 {
		g.Pace = "none"
		if h.Own {
			g.Pace = "none (own)"
		}
	}
	if h.Gaps > 0 {
		g.Least, g.Median = plainly.Seconds(h.MinGap), plainly.Seconds(h.MedianGap)
	}
	if h.Gaps > 0 && h.StartToStart { // the gap includes the exchange
		g.Least, g.Median = "≤ "+g.Least, "≤ "+g.Median
	}
	return g
}

// policies lists the last robots.txt of each host.
func policies(r *audit.Result) []string {
	return shorten(lines(Render("policies", r)), findingsShown, func(n int) string { return "and " + plainly.Count(n, "more host") + "; --json lists them" })
}

//go:embed page.html
var pageHTML string

//go:embed practices.html
var practicesHTML string

// WriteAuditPage writes the result as one page without scripts or other files. practices may be nil. html/template escapes the
// content of the archive, and plain its invisible characters.
func WriteAuditPage(w io.Writer, r *audit.Result, practices *cbcp.Result) error {
	t, err := htmlpage.New(template.FuncMap{
		"plain": plainly.OneLine, "row": row, "unproved": unproved, "skew": skewText, "place": findingPlace,
		"ledger": func(l *audit.LedgerCheck) string { return Render("ledger words", l) },
		"log":    func(h *audit.HostLog) string { return Render("log words", h) },
		"by": func(who string) string { // without its source
			short, _, _ := strings.Cut(who, " (")
			return plainly.OneLine(short)
		},
		"at": func(t time.Time) string {
			if t.IsZero() {
				return ""
			}
			return t.UTC().Format("2006-01-02 15:04:05.000000")
		},
		"level": clauseLevel, "where": placeText,
	}).Parse(pageHTML + practicesHTML)
	if err != nil {
		return fmt.Errorf("audit page: %w", err)
	}
	s := newSheet(r)
	if practices != nil {
		s.Practices = newPractices(practices)
	}
	return t.Execute(w, s)
}

// sheet is the content of page and text.
type sheet struct {
	*audit.Result
	Verdict, When    string
	LevelWords       string
	Reach, Damage    []string
	Against, Named   []codeFindings
	Making, Settings []string

	Owners, SilentLogs, NotProved, Policies []string
	Clocks                                  *titled

	Version   string
	Practices *practicesSheet
	OfNoHost  int64 // violations
}

// codeFindings are the findings of one code.
type codeFindings struct {
	Code     finding.Code
	Count    int64
	Words    string
	Findings []finding.Finding
	More     int64 // not kept
}

// First are the findings that the page shows unfolded.
func (c codeFindings) First() []finding.Finding { return c.Findings[:min(3, len(c.Findings))] }

func (c codeFindings) Rest() []finding.Finding { return c.Findings[len(c.First()):] }

// Shown are the findings in the text, and Unshown counts the others.
func (c codeFindings) Shown() []finding.Finding {
	return c.Findings[:min(findingsShown, len(c.Findings))]
}

func (c codeFindings) Unshown() int64 { return c.Count - int64(len(c.Shown())) }

func newSheet(r *audit.Result) sheet {
	when := "At no known time"
	if !r.From.IsZero() {
		when = fmt.Sprintf("From %s to %s", r.From.UTC().Format(time.DateTime), r.To.UTC().Format(time.DateTime+" UTC"))
	}
	s := sheet{
		Result: r, Verdict: verdict(r), When: when, LevelWords: levelWords(r), Reach: reach(r), Damage: damage(r), OfNoHost: ofNoHost(r),
		Making: lines(Render("making", r)), Settings: settings(r), Version: crawldir.Version,
		Owners: owners(r), SilentLogs: silentLogs(r), NotProved: notProved(r), Policies: policies(r), Clocks: clocks(r),
	}
	for _, c := range causesFirst(r) {
		against, named := codeFindings{Code: c.Code, Count: c.Found - c.Notes, Words: c.Code.Words()}, codeFindings{Code: c.Code, Count: c.Notes, Words: c.Code.Words()}
		for _, f := range r.Findings {
			switch {
			case f.Code != c.Code:
			case f.Note:
				named.Findings = append(named.Findings, f)
			default:
				against.Findings = append(against.Findings, f)
			}
		}
		if against.More = against.Count - int64(len(against.Findings)); against.Count > 0 {
			s.Against = append(s.Against, against)
		}
		if named.More = named.Count - int64(len(named.Findings)); named.Count > 0 {
			s.Named = append(s.Named, named)
		}
	}
	return s
}

// Practices is the judgement by the crawler best practices for a terminal, broken clauses first.
func Practices(r *cbcp.Result) string { return Wrap(Render("practices", newPractices(r))) }

type practicesSheet struct {
	Verdict, Texts string
	States         []practiceState
}

func newPractices(r *cbcp.Result) *practicesSheet {
	s := &practicesSheet{Verdict: practicesVerdict(r)}
	s.Texts = r.Draft + ", its texts " + r.Texts + ". Levels: in -00, and in the editors' copy where it differs; the higher one counts"
	for _, state := range []cbcp.State{cbcp.Broken, cbcp.Kept, cbcp.NotProvable} {
		in := slices.DeleteFunc(slices.Clone(r.Clauses), func(c cbcp.Judged) bool { return c.State != state })
		if len(in) > 0 {
			s.States = append(s.States, practiceState{state, stateTitles[state], in})
		}
	}
	return s
}

// EvidenceOf reports whether to show the evidence of a clause: the next clause may have the same.
func (s practiceState) EvidenceOf(i int) bool {
	c := s.Clauses[i]
	return i+1 == len(s.Clauses) || s.Clauses[i+1].Evidence != c.Evidence || len(c.Examples) > 0
}

func practicesVerdict(r *cbcp.Result) string {
	musts := ""
	switch {
	case r.Musts > 0:
		musts = fmt.Sprintf(" (%d of them a MUST)", r.Musts)
	case r.Broken > 0:
		musts = " (no MUST)"
	}
	return fmt.Sprintf("%d kept, %d broken%s, %d not provable", r.Kept, r.Broken, musts, r.Unknown)
}

// clauseLevel gives the section of a clause in the draft, and its requirement level.
func clauseLevel(c cbcp.Judged) string {
	switch {
	case c.First == cbcp.Absent:
		return c.Section + ", new: " + string(c.Copy)
	case c.First == c.Copy:
		return c.Section + ", " + string(c.First)
	}
	return c.Section + ", " + string(c.First) + ", now " + string(c.Copy)
}

type practiceState struct {
	State   cbcp.State
	Title   string
	Clauses []cbcp.Judged
}

var stateTitles = map[cbcp.State]string{cbcp.Broken: "Broken", cbcp.Kept: "Kept", cbcp.NotProvable: "Not provable"}
