package text

import (
	_ "embed" // for the page
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"curtsy/crawler/crawldir"
	"curtsy/storage/audit"
	"curtsy/storage/audit/cbcp"
	"curtsy/storage/audit/finding"
	"curtsy/storage/plainly"
)

//go:embed page.html
var pageHTML string

//go:embed practices.html
var practicesHTML string

// WriteAuditPage writes the result as one page that needs nothing else: no script, no other file. html/template escapes all
// that the archive brought, and plain what cannot be seen.
func WriteAuditPage(w io.Writer, r *audit.Result) error { return WritePageWith(w, r, nil) }

// WritePageWith is WritePage with how the crawl stands to the crawler best practices, unless that is nil.
func WritePageWith(w io.Writer, r *audit.Result, practices *cbcp.Result) error {
	t, err := template.New("audit").Funcs(template.FuncMap{
		"plain": plainly.OneLine, "row": row, "unproved": unproved, "skew": skewText, "place": findingPlace,
		"ledger": func(l *audit.LedgerCheck) string { return Render("ledger words", l) },
		"log":    func(h *audit.HostLog) string { return Render("log words", h) },
		"by": func(who string) string { // without the document that says so
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

// sheet is what page and text show.
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

// codeFindings is all that was found under one code.
type codeFindings struct {
	Code     finding.Code
	Count    int64
	Words    string
	Findings []finding.Finding
	More     int64 // not kept
}

// firstShown is how many findings of a code stand open on the page.
const firstShown = 3

// First are the findings that stand open.
func (c codeFindings) First() []finding.Finding { return c.Findings[:min(firstShown, len(c.Findings))] }

// Rest are the others.
func (c codeFindings) Rest() []finding.Finding { return c.Findings[len(c.First()):] }

// Shown are the findings that the text has, and Unshown counts the others.
func (c codeFindings) Shown() []finding.Finding {
	return c.Findings[:min(findingsShown, len(c.Findings))]
}

func (c codeFindings) Unshown() int64 { return c.Count - int64(len(c.Shown())) }

func newSheet(r *audit.Result) sheet {
	s := sheet{
		Result: r, Verdict: verdict(r), When: times(r), LevelWords: levelWords(r), Reach: reach(r), Damage: damage(r), OfNoHost: ofNoHost(r),
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

// Practices is for a terminal how a crawl stands to the crawler best practices: broken clauses first.
func Practices(r *cbcp.Result) string { return Wrap(Render("practices", newPractices(r))) }

// practicesSheet is what is shown of the crawler best practices.
type practicesSheet struct {
	Verdict, Texts string
	States         []practiceState
}

func newPractices(r *cbcp.Result) *practicesSheet {
	return &practicesSheet{practicesVerdict(r), practicesTexts(r), practiceStates(r)}
}

// EvidenceOf reports whether the evidence of a clause is to be shown: the next clause may have the same.
func (s practiceState) EvidenceOf(i int) bool {
	c := s.Clauses[i]
	return i+1 == len(s.Clauses) || s.Clauses[i+1].Evidence != c.Evidence || len(c.Examples) > 0
}

// practicesVerdict is the headline.
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

// practicesTexts says by which texts the clauses are judged.
func practicesTexts(r *cbcp.Result) string {
	return r.Draft + ", its texts " + r.Texts + ". Levels: in -00, and in the editors' copy where it differs; the higher one counts"
}

// clauseLevel is where a clause stands in the draft, and how strongly it asks there.
func clauseLevel(c cbcp.Judged) string {
	switch {
	case c.First == cbcp.Absent:
		return c.Section + ", new: " + string(c.Copy)
	case c.First == c.Copy:
		return c.Section + ", " + string(c.First)
	}
	return c.Section + ", " + string(c.First) + ", now " + string(c.Copy)
}

// practiceState is all clauses in a state.
type practiceState struct {
	State   cbcp.State
	Title   string
	Clauses []cbcp.Judged
}

var stateTitles = map[cbcp.State]string{cbcp.Broken: "Broken", cbcp.Kept: "Kept", cbcp.NotProvable: "Not provable"}

// practiceStates sorts the clauses by their state, those broken first.
func practiceStates(r *cbcp.Result) (all []practiceState) {
	for _, state := range []cbcp.State{cbcp.Broken, cbcp.Kept, cbcp.NotProvable} {
		in := slices.DeleteFunc(slices.Clone(r.Clauses), func(c cbcp.Judged) bool { return c.State != state })
		if len(in) > 0 {
			all = append(all, practiceState{state, stateTitles[state], in})
		}
	}
	return all
}
