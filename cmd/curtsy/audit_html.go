package main

import (
	_ "embed" // for the page
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"curtsy/crawler/crawldir"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
)

//go:embed audit.html
var auditHTML string

// auditPage writes the result as one page that needs nothing else: no script, no other file. html/template escapes all
// that the archive brought, and plain what cannot be seen.
func auditPage(w io.Writer, r *audit.Result) error {
	t, err := template.New("audit").Funcs(template.FuncMap{
		"plain": oneLine, "row": auditRow, "unproved": unproved, "skew": skewText, "place": findingPlace, "ledger": ledgerWords, "log": logWords,
		"by": func(who string) string { // without the document that says so
			short, _, _ := strings.Cut(who, " (")
			return oneLine(short)
		},
		"at": func(t time.Time) string {
			if t.IsZero() {
				return ""
			}
			return t.UTC().Format("2006-01-02 15:04:05.000000")
		},
	}).Parse(auditHTML)
	if err != nil {
		return fmt.Errorf("audit page: %w", err)
	}
	return t.Execute(w, newAuditSheet(r))
}

// auditSheet is what the page shows.
type auditSheet struct {
	*audit.Result
	Verdict, When    string
	LevelWords       string
	Against, Named   []auditCode
	Making, Settings []string
	Version          string
}

// auditCode is all that was found under one code.
type auditCode struct {
	Code     finding.Code
	Count    int64
	Words    string
	Findings []finding.Finding
	More     int64 // not kept
}

// firstShown is how many findings of a code stand open on the page.
const firstShown = 3

// First are the findings that stand open.
func (c auditCode) First() []finding.Finding { return c.Findings[:min(firstShown, len(c.Findings))] }

// Rest are the others.
func (c auditCode) Rest() []finding.Finding { return c.Findings[len(c.First()):] }

func newAuditSheet(r *audit.Result) auditSheet {
	s := auditSheet{
		Result: r, Verdict: auditVerdict(r), When: auditTime(r), LevelWords: levelWords(r),
		Making: auditMaking(r), Settings: auditSettings(r), Version: crawldir.Version,
	}
	for _, c := range r.Counts {
		against, named := auditCode{Code: c.Code, Count: c.Found - c.Notes, Words: codeWords[c.Code]}, auditCode{Code: c.Code, Count: c.Notes, Words: codeWords[c.Code]}
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
