package text

import (
	_ "embed" // for the page
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"curtsy/crawler/check"
	"curtsy/storage/htmlpage"
	"curtsy/storage/plainly"
)

// Bounds of lists; JSON has all.
const (
	maxBroken = 200 // broken links
	maxOther  = 10  // other findings
	maxPlaces = 5   // of a link
)

// Links is the result for a terminal.
func Links(r *check.Result) string { return Render("links", linksText{r}) }

type linksText struct{ *check.Result }

type linksSection struct {
	Title    string
	Most     int // findings to show
	Findings []linksFinding
}

// More counts the findings that are not shown.
func (s linksSection) More() int { return len(s.Findings) - s.Most }

type linksFinding struct {
	check.Finding
	Head string
}

// Shown are the places to show, and More counts the others.
func (f linksFinding) Shown() []check.Place { return f.On[:min(len(f.On), maxPlaces)] }
func (f linksFinding) More() int64          { return max(f.Count-int64(len(f.Shown())), 0) }

// Places counts the places of broken links.
func (t linksText) Places() (n int64) {
	for _, f := range t.Broken {
		n += f.Count
	}
	return n
}

// Pages counts the pages with broken links.
func (t linksText) Pages() int {
	on := map[string]bool{}
	for _, f := range t.Broken {
		for _, p := range f.On {
			on[p.Page] = true
		}
	}
	return len(on)
}

func (t linksText) Sections() (all []linksSection) {
	add := func(title string, most int, of []linksFinding) {
		if len(of) > 0 {
			all = append(all, linksSection{title, most, of})
		}
	}
	bare := func(f check.Finding) string { return f.URL }
	if t.Since == nil {
		add("BROKEN", maxBroken, headed(t.Broken, head))
	} else {
		fresh := map[string]bool{}
		for _, f := range t.Since.New {
			fresh[f.URL] = true
		}
		add("NEWLY BROKEN", maxBroken, headed(t.Since.New, head))
		add("STILL BROKEN", maxBroken, headed(slices.DeleteFunc(slices.Clone(t.Broken), func(f check.Finding) bool { return fresh[f.URL] }), head))
		add("REPAIRED: no longer broken, or no longer linked", maxBroken, headed(withoutPlaces(t.Since.Repaired), head))
	}
	var moved []linksFinding
	for _, r := range t.Redirects {
		moved = append(moved, linksFinding{r.Finding, Render("moved", r)})
	}
	add("REDIRECTED: update these links", maxOther, moved)
	add("HTTP WHERE HTTPS ANSWERS", maxOther, headed(t.Insecure, bare))
	add("MIXED CONTENT: a page by https that needs this by http", maxOther, headed(t.Mixed, bare))
	add("DUPLICATE IDS IN A PAGE", maxOther, headed(byID(t.Duplicates), func(f check.Finding) string { return f.Reason + " in " + f.URL }))
	add("UNDECIDED: these hosts refuse robots, or require a delay", maxOther, headed(t.Undecided, head))
	add("NOT TESTED", maxOther, headed(t.Untested, func(f check.Finding) string { return f.URL + ": " + plainly.Reason(f.Reason) }))
	return all
}

func headed(all []check.Finding, head func(check.Finding) string) []linksFinding {
	list := make([]linksFinding, len(all))
	for i, f := range all {
		list[i] = linksFinding{f, head(f)}
	}
	return list
}

// Tests counts the tests of JUnit's form: one failed for each broken URL, and one passed for all others.
func (t linksText) Tests() int { return len(t.Broken) + 1 }

func (t linksText) Failed() []linksFinding { return headed(t.Broken, head) }

// withoutPlaces drops the places of findings of an earlier result.
func withoutPlaces(all []check.Finding) []check.Finding {
	all = slices.Clone(all)
	for i := range all {
		all[i].On, all[i].Count = nil, 0
	}
	return all
}

func head(f check.Finding) string {
	what := reason(f.Reason)
	if f.Status > 0 && f.Reason == fmt.Sprintf("status %d", f.Status) {
		what = fmt.Sprint(f.Status)
	}
	if f.Kind != check.KindLink {
		what += ", " + string(f.Kind)
	}
	return plainly.OneLine(f.URL) + "  (" + what + ")"
}

func reason(name string) string { return plainly.OneLine(plainly.Reason(name)) }

// byID returns each id once: a template gives it to all of its pages.
func byID(all []check.Finding) []check.Finding {
	var ids []check.Finding
	at, pages := map[string]int{}, map[string]int{}
	for _, f := range all {
		i, known := at[f.Reason]
		if pages[f.Reason]++; !known {
			at[f.Reason] = len(ids)
			f.On = slices.Clip(f.On)
			ids = append(ids, f)
			continue
		}
		one := &ids[i]
		one.Count += f.Count
		one.On = append(one.On, f.On[:min(len(f.On), max(0, maxPlaces-len(one.On)))]...)
		one.URL = plainly.Count(pages[f.Reason], "page")
	}
	return ids
}

// JUnitMark is near the beginning of each file of WriteJUnit.
const JUnitMark = `<testsuites name="curtsy linkcheck"`

// WriteJUnit writes a result as JUnit's XML.
func WriteJUnit(w io.Writer, r *check.Result) error {
	_, err := io.WriteString(w, Render("junit", linksText{r}))
	return err
}

// maxAnnotations bounds the annotations: GitHub shows ten of a step, and keeps some more.
const maxAnnotations = 50

// Annotations are the broken links as commands of GitHub Actions, which shows them beside the lines of files; those of sites, whose
// pages are not files, are in the log.
func Annotations(r *check.Result, files bool) string {
	var b strings.Builder
	n := 0
	for _, f := range r.Broken {
		for _, p := range f.On[:min(len(f.On), maxPlaces)] {
			if n++; n > maxAnnotations {
				return b.String()
			}
			message := head(f)
			at := "title=" + property("Broken link")
			if files {
				at = fmt.Sprintf("file=%s,line=%d,col=%d,%s", property(p.Page), p.Line, p.Column, at)
			} else {
				message += fmt.Sprintf(" on %s:%d:%d", plainly.OneLine(p.Page), p.Line, p.Column)
			}
			fmt.Fprintf(&b, "::error %s::%s\n", at, strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(message))
		}
	}
	return b.String()
}

// property escapes a property of a workflow command.
func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(plainly.OneLine(s))
}

//go:embed linkcheck_page.html
var linksPageHTML string

// maxRows bounds the rows of a table.
const maxRows = 20_000

// WriteLinksPage writes a result as one page without other files. html/template escapes the content of sites.
func WriteLinksPage(w io.Writer, r *check.Result) error {
	t, err := htmlpage.New(template.FuncMap{
		"plain": plainly.OneLine, "reason": reason, "rows": rows,
		"web": func(s string) bool { return len(s) > 8 && (s[:7] == "http://" || s[:8] == "https://") },
	}).Parse(linksPageHTML)
	if err != nil {
		return fmt.Errorf("check page: %w", err)
	}
	return t.Execute(w, struct {
		*check.Result
		Summary string
		Tables  []table
	}{r, Render("links summary", linksText{r}), tablesOf(r)})
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

// linksRow is a place of a finding.
type linksRow struct {
	check.Finding
	At check.Place
}

// rows has a row for each place, and one for a finding without a place.
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
