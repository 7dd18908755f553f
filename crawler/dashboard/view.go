package dashboard

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"curtsy/crawler/explain"
	"curtsy/crawler/status"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
)

//go:embed pages
var pages embed.FS

// view is what a page is made of. What a page does not show is empty.
type view struct {
	seen
	Title   string
	Page    string // which one it is, for the links to the others
	N       int    // the number of the crawl
	Name    string
	Crawls  []crawlLink
	Form    string // the token of forms
	Said    string // what came of an act
	Trouble string
	Query   url.Values
	Here    string         // where the page is
	Still   bool           // it does not reload itself where there is no script
	Answers map[string]int // the status of the last answer of hosts, as far as it was seen

	Table  table
	One    status.One
	Robots []robotsLine
	Judged *explain.Explanation
	Asked  string // the URL that is explained
	Gaps   histogram
	Lines  []storage.Line

	Settings Settings
	Acts     []ledger.Mark
	Try      preview
}

// crawlLink is another crawl that is shown here.
type crawlLink struct {
	N    int
	Name string
	Here bool
	seen
}

// templates are read when the first page is asked for, as no other command needs them.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"n": plainly.Grouped, "per": perS, "size": plainly.RoughSize[int64], "sizef": plainly.RoughSize[float64], "dur": lasting, "secs": secondsText, "share": share,
		"clock": clock, "stamp": stamp, "bar": bar, "meter": meter, "curve": curve, "reason": plainly.Reason,
		"line": plainly.OneLine, "f": func(n int64) float64 { return float64(n) },
		"base": filepath.Base, "n64": func(n int) string { return plainly.Grouped(int64(n)) },
		"np":   func(n *int64) string { return plainly.Grouped(*n) },
		"ltc":  func(a int, b int64) bool { return int64(a) < b },
		"slug": slug, "act": act, "hostact": hostAct, "patterns": patterns, "held": held,
		"table":  func(caption string, all []count) countTable { return countTable{caption, all, most(all)} },
		"secsp":  func(s *float64) string { return secondsText(*s) },
		"budget": budget, "budgetp": func(name string, n *int64) string { return budget(name, *n) },
	}).ParseFS(pages, "pages/*.html"))
})

func render(w io.Writer, name string, v *view) error {
	if err := templates().ExecuteTemplate(w, name, v); err != nil {
		return fmt.Errorf("dashboard: page %s: %w", name, err)
	}
	return nil
}

func (s *Server) newView(r *http.Request, x *watcher, n int) *view {
	v := &view{seen: x.seen(), N: n, Name: x.source.Name(), Form: s.guard.formToken(), Query: r.URL.Query(), Here: here(r), Said: s.said.of(r.URL.Query().Get(paramDid))}
	for i, other := range s.watchers {
		link := crawlLink{N: i, Name: other.source.Name(), Here: i == n}
		v.Crawls = append(v.Crawls, link)
	}
	v.Still = v.Query.Has(paramStill)
	return v
}

// paramStill keeps a page without a script from reloading itself, under the hands of whoever reads it or fills a form.
const paramStill = "still"

// Toggle is this page with reloading, or without.
func (v *view) Toggle() string {
	u, err := url.Parse(v.Here)
	if err != nil {
		return ""
	}
	q := u.Query()
	if q.Del(paramStill); !v.Still {
		q.Set(paramStill, "1")
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// here is where a page is, without what came of the act before.
func here(r *http.Request) string {
	q := r.URL.Query()
	q.Del(paramDid)
	to := url.URL{Path: r.URL.Path, RawQuery: q.Encode()}
	return to.String()
}

// State is how the crawl is, in a word.
func (v seen) State() string {
	switch {
	case !v.First && v.Err != nil:
		return "unavailable"
	case !v.First:
		return "no data yet"
	}
	return v.Status.State
}

// Left is how many URLs are pending.
func (v seen) Left() int64 { return v.Status.Queued + v.Status.InFlight + v.Status.Deferred }

// Closed is how many URLs ended, of those that were discovered.
func (v seen) Closed() int64 { return v.Status.Discovered - v.Left() }

// Stale says since when nothing was heard; zero as long as answers come.
func (v seen) Stale() time.Duration {
	if v.First && v.Err != nil {
		return time.Since(v.At).Round(time.Second)
	}
	return 0
}

// count is a word with a number, for a table.
type count struct {
	Name, Class, Note string
	N                 int64
}

// counts is a table of words in the order of their numbers, with the rest in one row.
func counts(m map[string]int64, class string, most int) (all []count) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if m[name] > 0 {
			all = append(all, count{Name: name, Class: class, N: m[name]})
		}
	}
	slices.SortStableFunc(all, func(a, b count) int { return cmp.Compare(b.N, a.N) })
	if len(all) <= most {
		return all
	}
	rest := count{Name: fmt.Sprintf("%d more", len(all)-most), Class: class}
	for _, c := range all[most:] {
		rest.N += c.N
	}
	return append(all[:most], rest)
}

// most is the largest number of a table.
func most(all []count) (n int64) {
	for _, c := range all {
		n = max(n, c.N)
	}
	return n
}

// countTable is a table of words and numbers.
type countTable struct {
	Caption string
	All     []count
	Most    int64
}

// slug is a word as a class of the style sheet.
func slug(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, s), "-")
}

// actForm is a form of one button.
type actForm struct {
	N                  int
	Form, Back         string
	Verb, Label, Class string
	Host               string
}

func act(v *view, verb, label, class string) actForm {
	return actForm{N: v.N, Form: v.Form, Back: v.Here, Verb: verb, Label: label, Class: class}
}

func hostAct(v *view, verb, label, class string) actForm {
	a := act(v, verb, label, class)
	a.Host = v.One.Host
	return a
}

// held reports whether a host in that state can be released.
func held(state string) bool {
	switch state {
	case status.StateParked, status.StateDropped, status.StateRetired, status.StateRefused:
		return true
	}
	return false
}

// perS writes how often something happens in a second.
func perS(f float64) string {
	switch {
	case f == 0:
		return "0"
	case f < 0.095:
		return fmt.Sprintf("%.2f", f)
	case f < 99.95:
		return fmt.Sprintf("%.1f", f)
	}
	return plainly.Grouped(int64(math.Round(f)))
}

// lasting writes a time for people, in two units at most.
func lasting(d time.Duration) string {
	switch {
	case d < 0:
		return "–"
	case d < 10*time.Second:
		return strconv.FormatFloat(math.Round(d.Seconds()*10)/10, 'f', -1, 64) + " s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}

// secondsText is lasting of seconds.
func secondsText(s float64) string {
	if s > float64(math.MaxInt64)/float64(time.Second) {
		return "–"
	}
	return lasting(time.Duration(s * float64(time.Second)))
}

// budget writes how much of a budget is used, or its limit, in its unit.
func budget(name string, n int64) string {
	switch name {
	case "max-bytes":
		return plainly.RoughSize(n)
	case "max-time":
		return lasting(time.Duration(n) * time.Second)
	}
	return plainly.Grouped(n)
}

// share writes a part of a whole.
func share(part, whole float64) string {
	if whole <= 0 {
		return "–"
	}
	p := 100 * part / whole
	if p > 0 && p < 0.95 {
		return "<1 %"
	}
	return fmt.Sprintf("%.0f %%", p)
}

// clock writes an instant of today.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// stamp writes an instant.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }
