package text

import (
	_ "embed" // for the page
	"fmt"
	"html/template"
	"io"
	"net/url"

	"curtsy/crawler/changes"
	"curtsy/storage/plainly"
)

//go:embed diff_page.html
var changesPageHTML string

// ChangesPageMark stands near the beginning of each page that WritePage writes.
const ChangesPageMark = `<meta name="generator" content="curtsy changes">`

// maxOnPage is how many URLs of a section a page has, and maxDiffs how many bytes of diffs: more takes a browser too long.
const (
	maxOnPage = 2000
	maxDiffs  = 3 << 20
)

// WriteChangesPage writes a result as one page that needs nothing else. html/template escapes all that sites wrote.
func WriteChangesPage(w io.Writer, r *changes.Result) error {
	spent := 0
	t, err := template.New("changes").Funcs(template.FuncMap{
		"plain": plainly.OneLine, "note": func(e entry) string { return note(&e.Change) }, "name": name, "kind": changesKind, "day": day,
		"web": func(s string) bool {
			u, err := url.Parse(s)
			return err == nil && (u.Scheme == "http" || u.Scheme == "https")
		},
		"mark": func(m byte) string { return string(rune(m)) },
		"class": func(m byte) string {
			return map[byte]string{'@': "at", '+': "add", '-': "del"}[m]
		},
		"room": func(d *changes.Diff) bool {
			for _, l := range d.Lines {
				spent += len(l.String()) + 40
			}
			return spent <= maxDiffs
		},
		"shown": func(all []entry) []entry { return all[:min(len(all), maxOnPage)] },
		"more":  func(all []entry) int { return max(len(all)-maxOnPage, 0) },
		"open":  func(s changesSection) bool { return len(s.Changes) <= 200 && !s.Quiet },
	}).Parse(changesPageHTML)
	if err != nil {
		return fmt.Errorf("changes page: %w", err)
	}
	return t.Execute(w, struct {
		*changes.Result
		Words, KindsOf, Remarks []string
		Sections                []changesSection
	}{r, changes.Words(), changes.Kinds(), remarks(r), sections(r)})
}
