package text

import (
	_ "embed" // for the page
	"fmt"
	"html/template"
	"io"

	"curtsy/crawler/check"
	"curtsy/storage/plainly"
)

//go:embed linkcheck_page.html
var linksPageHTML string

// LinksPageMark stands near the beginning of each page that WritePage writes.
const LinksPageMark = `<meta name="generator" content="curtsy linkcheck">`

// maxRows is how many places of all findings of a table are shown.
const maxRows = 20_000

// WriteLinksPage writes a result as one page that needs nothing else. html/template escapes all that sites wrote.
func WriteLinksPage(w io.Writer, r *check.Result) error {
	t, err := template.New("check").Funcs(template.FuncMap{
		"plain": plainly.OneLine, "reason": reason, "rows": rows,
		"web": func(s string) bool { return len(s) > 8 && (s[:7] == "http://" || s[:8] == "https://") },
	}).Parse(linksPageHTML)
	if err != nil {
		return fmt.Errorf("check page: %w", err)
	}
	said := summary(r)
	if r.Since != nil {
		said += sinceLine(r.Since)
	}
	return t.Execute(w, struct {
		*check.Result
		Summary string
		Tables  []table
	}{r, said, tablesOf(r)})
}

type table struct {
	ID, Title string
	Findings  []check.Finding
}

func tablesOf(r *check.Result) []table {
	moved := make([]check.Finding, len(r.Redirects))
	for i, d := range r.Redirects {
		moved[i] = d.Finding
		moved[i].Reason = "to " + d.To
	}
	var repaired []check.Finding
	if r.Since != nil {
		repaired = r.Since.Repaired
	}
	return []table{
		{"broken", "Broken links", r.Broken}, {"repaired", "Repaired", repaired}, {"known", "Broken, and known", r.Known}, {"redirected", "Redirected: update these links", moved}, {"http", "http links to hosts that support https", r.Insecure},
		{"mixed", "Mixed content", r.Mixed}, {"ids", "Duplicate ids", r.Duplicates}, {"undecided", "Undecided", r.Undecided}, {"untested", "Not tested", r.Untested},
	}
}

// A row is a place of a finding.
type linksRow struct {
	check.Finding
	At check.Place
}

// rows are the places of findings; a finding without one has a row, too.
func rows(all []check.Finding) (list []linksRow) {
	for _, f := range all {
		on := f.On
		if len(on) == 0 {
			on = []check.Place{{}}
		}
		for _, p := range on {
			if len(list) == maxRows {
				return list
			}
			list = append(list, linksRow{f, p})
		}
	}
	return list
}
