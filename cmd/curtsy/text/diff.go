package text

import (
	"cmp"
	_ "embed" // for the page
	"fmt"
	"html/template"
	"io"
	"net/url"
	"strings"
	"time"

	"curtsy/crawler/changes"
	"curtsy/storage/htmlpage"
	"curtsy/storage/plainly"
)

// Bounds of the text; the page and JSON have more.
const (
	maxLines = 16 // lines of a diff
	maxWidth = 300
)

// Changes is the result for a terminal.
func Changes(r *changes.Result) string { return Render("diff", newChangesSheet(r)) }

type changesSheet struct {
	*changes.Result
	Words, KindsOf, Remarks []string
	Sections                []changesSection
}

func newChangesSheet(r *changes.Result) changesSheet {
	return changesSheet{r, changes.Words(), changes.Kinds(), lines(Render("remarks", r)), sections(r)}
}

func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// missing returns the reasons with a count, in the order of changes.Reasons.
func missing(r *changes.Result) (all []string) {
	for _, why := range changes.Reasons() {
		if r.Missing[why] > 0 {
			all = append(all, why)
		}
	}
	return all
}

func day(t time.Time) string {
	if t.IsZero() {
		return "no decision yet"
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// An entry is a change, with the other URLs that changed by the same lines.
type entry struct {
	changes.Change
	Alike []string
}

type changesSection struct {
	ID, Title string
	Changes   []entry
	Quiet     bool // only URLs
}

// All counts the URLs.
func (s changesSection) All() (n int) {
	for _, e := range s.Changes {
		n += 1 + len(e.Alike)
	}
	return n
}

// sections groups the changes, the most important first.
func sections(r *changes.Result) (all []changesSection) {
	by, alike := map[string][]entry{}, map[string][]string{}
	for _, c := range r.Changes {
		if c.SameAs != "" {
			alike[c.SameAs] = append(alike[c.SameAs], c.URL)
		}
	}
	for _, c := range r.Changes {
		key := c.Change
		switch {
		case c.MovedFrom != "", c.SameAs != "": // listed with the other URL
			continue
		case c.MovedTo != "":
			key = "moved"
		case c.Change == changes.Changed:
			key = c.Kind
		case !c.Page && c.Change == changes.New:
			key = "new files"
		}
		by[key] = append(by[key], entry{c, alike[c.URL]})
	}
	for _, s := range []changesSection{
		{ID: changes.New, Title: "New pages"},
		{ID: changes.Text, Title: "Changed: text"},
		{ID: changes.Redirect, Title: "Redirected, or elsewhere"},
		{ID: "moved", Title: "Moved"},
		{ID: changes.Gone, Title: "Gone (404, 410)"},
		{ID: changes.Unknown, Title: "Unknown now: no usable response"},
		{ID: changes.OptedOut, Title: "Opted out"},
		{ID: changes.Unlinked, Title: "No longer linked"},
		{ID: changes.Unasked, Title: "Not requested again"},
		{ID: changes.Unread, Title: "Changed, not comparable"},
		{ID: changes.Around, Title: "Changed only outside the main text"},
		{ID: changes.File, Title: "Changed files", Quiet: true},
		{ID: "new files", Title: "New files and redirects", Quiet: true},
		{ID: changes.Markup, Title: "Only the markup changed: the text is the same", Quiet: true},
		{ID: changes.Coding, Title: "Sent otherwise: the bytes are the same", Quiet: true},
	} {
		if s.Changes = by[s.ID]; len(s.Changes) > 0 {
			s.ID = strings.ReplaceAll(s.ID, " ", "-")
			all = append(all, s)
		}
	}
	return all
}

// Lines are the lines of a diff that a terminal shows.
func (e entry) Lines() (shown []string) {
	left := e.Diff.LeftOut
	for i, l := range e.Diff.Lines {
		switch text := plainly.OneLine(l.Text); {
		case i >= maxLines && l.Mark != '@':
			left++
		case i >= maxLines:
		case l.Mark == '@':
			shown = append(shown, "      "+text)
		default:
			shown = append(shown, fmt.Sprintf("    %c %s", l.Mark, cut(text)))
		}
	}
	if left > 0 {
		shown = append(shown, "      … "+plainly.Count(left, "more line"))
	}
	return shown
}

func cut(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxWidth {
			return s[:i] + "…"
		}
	}
	return s
}

// changeWords are the words for changes that need other than their own.
var changeWords = map[string]string{
	changes.Gone: "gone (404, 410)", changes.Unknown: "not known now", changes.OptedOut: "opted out", changes.Unlinked: "no longer linked",
	changes.Unasked: "not requested again", changes.Around: "only outside the main text", changes.Markup: "only the markup",
	changes.Coding: "only the content coding", changes.File: "files", changes.Redirect: "redirects", changes.Unread: "not to be compared",
}

func changeWord(word string) string { return cmp.Or(changeWords[word], word) }

//go:embed diff_page.html
var changesPageHTML string

// maxOnPage bounds the URLs of a section on a page, and maxDiffs the bytes of its diffs: browsers are slow with more.
const (
	maxOnPage = 2000
	maxDiffs  = 3 << 20
)

// WriteChangesPage writes a result as one page without other files. html/template escapes the content of sites.
func WriteChangesPage(w io.Writer, r *changes.Result) error {
	spent := 0
	t, err := htmlpage.New(template.FuncMap{
		"plain": plainly.OneLine, "note": func(e entry) string { return Render("change note", &e.Change) }, "name": changeWord, "kind": changeWord, "day": day,
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
				spent += len(l.Text) + 40
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
	return t.Execute(w, newChangesSheet(r))
}
