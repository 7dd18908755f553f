package text

import (
	_ "embed" // for the page
	"encoding/xml"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"curtsy/crawler/check"
	"curtsy/storage/plainly"
)

// How much of a list is shown; JSON has all.
const (
	maxBroken = 200 // broken links
	maxOther  = 10  // of what is no defect
	maxPlaces = 5   // of a link
)

// Links is what is said of a result.
func Links(r *check.Result) string {
	var b strings.Builder
	b.WriteString(summary(r))
	broken := func(title string, all []check.Finding) { section(&b, title, maxBroken, all, head) }
	if r.Since == nil {
		broken("BROKEN", r.Broken)
	} else {
		b.WriteString(sinceLine(r.Since))
		fresh := map[string]bool{}
		for _, f := range r.Since.New {
			fresh[f.URL] = true
		}
		broken("NEWLY BROKEN", r.Since.New)
		broken("STILL BROKEN", slices.DeleteFunc(slices.Clone(r.Broken), func(f check.Finding) bool { return fresh[f.URL] }))
		broken("REPAIRED: no longer broken, or no longer linked", withoutPlaces(r.Since.Repaired))
	}
	redirects(&b, r.Redirects)
	section(&b, "HTTP WHERE HTTPS ANSWERS", maxOther, r.Insecure, bare)
	section(&b, "MIXED CONTENT: a page by https that needs this by http", maxOther, r.Mixed, bare)
	section(&b, "DUPLICATE IDS IN A PAGE", maxOther, byID(r.Duplicates), func(f check.Finding) string {
		return plainly.OneLine(f.Reason) + " in " + plainly.OneLine(f.URL)
	})
	section(&b, "UNDECIDED: these hosts refuse robots, or require a delay", maxOther, r.Undecided, head)
	section(&b, "NOT TESTED", maxOther, r.Untested, func(f check.Finding) string {
		return plainly.OneLine(f.URL) + ": " + reason(f.Reason)
	})
	return b.String()
}

// summary says how it is in a line or two.
func summary(r *check.Result) string {
	var b strings.Builder
	if r.Partial {
		b.WriteString("partial, interrupted: ")
	}
	if len(r.Broken) == 0 {
		b.WriteString("no broken links")
	} else {
		var places int64
		on := map[string]bool{}
		for _, f := range r.Broken {
			places += f.Count
			for _, p := range f.On {
				on[p.Page] = true
			}
		}
		fmt.Fprintf(&b, "%s, in %s on %s", plainly.Count(len(r.Broken), "broken link"), plainly.Count(places, "place"), plainly.Count(len(on), "page"))
	}
	fmt.Fprintf(&b, "; checked %s, read %s with %s\n", plainly.Count(r.Checked, "URL"), plainly.Count(r.Documents, "document"), plainly.Count(r.Mentions, "link"))
	for _, n := range []struct {
		count       int64
		thing, what string
	}{
		{r.External, "URL", "on other hosts not checked; --external head checks them"},
		{r.Unread, "document", "not read in full, so not all links in them are known"},
		{int64(len(r.Ignored)), "broken link", "ignored (--ignore)"},
		{int64(len(r.Known)), "broken link", "already in the baseline (--baseline)"},
		{r.Left, "finding", "left out: there are too many"},
	} {
		if n.count > 0 {
			fmt.Fprintf(&b, "%s %s\n", plainly.Count(n.count, n.thing), n.what)
		}
	}
	return b.String()
}

func sinceLine(s *check.Since) string {
	return fmt.Sprintf("since %s: %d newly broken, %d repaired, %d still broken\n", plainly.OneLine(string(s.Earlier)), len(s.New), len(s.Repaired), s.Still)
}

// withoutPlaces drops where the findings of an earlier result were mentioned.
func withoutPlaces(all []check.Finding) []check.Finding {
	all = slices.Clone(all)
	for i := range all {
		all[i].On, all[i].Count = nil, 0
	}
	return all
}

// head says what is wrong with a URL.
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

// byID has each id once: a template gives the same to all of its pages.
func byID(all []check.Finding) []check.Finding {
	var ids []check.Finding
	at, pages := map[string]int{}, map[string]int{}
	for _, f := range all {
		i, met := at[f.Reason]
		if pages[f.Reason]++; !met {
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

func bare(f check.Finding) string { return plainly.OneLine(f.URL) }

// section lists findings with their places.
func section(b *strings.Builder, title string, most int, all []check.Finding, head func(check.Finding) string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for i, f := range all {
		if i == most {
			more(b, len(all)-i, "  ")
			return
		}
		fmt.Fprintf(b, "  %s\n", head(f))
		places(b, f)
	}
}

func redirects(b *strings.Builder, all []check.Redirect) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\nREDIRECTED: update these links\n")
	for i, r := range all {
		if i == maxOther {
			more(b, len(all)-i, "  ")
			return
		}
		via := ""
		if n := len(r.Via); n > 0 {
			via = fmt.Sprintf(", in %d steps", n+1)
		}
		if !r.Permanent {
			via += ", temporary"
		}
		fmt.Fprintf(b, "  %s  to %s (%d%s)\n", plainly.OneLine(r.URL), plainly.OneLine(r.To), r.Status, via)
		places(b, r.Finding)
	}
}

// places says where a URL is mentioned.
func places(b *strings.Builder, f check.Finding) {
	for i, p := range f.On {
		if i == maxPlaces {
			break
		}
		b.WriteString("      " + plainly.OneLine(p.Page))
		if p.Line > 0 {
			fmt.Fprintf(b, ":%d:%d", p.Line, p.Column)
		}
		if at := strings.TrimSpace(p.Element + " " + p.Attribute); at != "" {
			b.WriteString("  " + plainly.OneLine(at))
		}
		if p.Text != "" {
			b.WriteString("  “" + plainly.OneLine(p.Text) + "”")
		}
		b.WriteByte('\n')
	}
	if n := f.Count - int64(min(len(f.On), maxPlaces)); n > 0 {
		more(b, int(n), "      ")
	}
}

func more(b *strings.Builder, n int, indent string) {
	fmt.Fprintf(b, "%s… and %d more\n", indent, n)
}

// JUnitMark stands near the beginning of each file that WriteJUnit writes.
const JUnitMark = `<testsuites name="curtsy linkcheck"`

type (
	junitSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int64      `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Suite    junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int64       `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes a result as JUnit's XML: a broken URL is a test that failed, and all others are one that passed.
func WriteJUnit(w io.Writer, r *check.Result) error {
	s := junitSuite{Name: "links", Tests: int64(len(r.Broken)) + 1, Failures: len(r.Broken)}
	s.Cases = append(s.Cases, junitCase{Class: "links", Name: plainly.Count(r.Checked, "URL") + " checked"})
	for _, f := range r.Broken {
		var b strings.Builder
		places(&b, f)
		s.Cases = append(s.Cases, junitCase{string(f.Kind), plainly.OneLine(f.URL), &junitFailure{head(f), b.String()}})
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{Name: "curtsy linkcheck", Tests: s.Tests, Failures: s.Failures, Suite: s}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// maxAnnotations is how many annotations are written: GitHub shows ten of a step, and keeps some more.
const maxAnnotations = 50

// Annotations are the broken links as commands that GitHub Actions show beside the lines of files, and of sites, whose
// pages are no files, in the log.
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
			fmt.Fprintf(&b, "::error %s::%s\n", at, data(message))
		}
	}
	return b.String()
}

// data and property escape what a workflow command would take for its own.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(plainly.OneLine(s))
}

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
