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
	"strings"
	"sync"
	"time"

	"curtsy/crawler/explain"
	"curtsy/crawler/status"
	"curtsy/storage"
	"curtsy/storage/htmlpage"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
)

// front serves the only crawl, or a page with all crawls side by side.
func (s *Server) front(w http.ResponseWriter, r *http.Request) {
	if len(s.watchers) == 1 {
		http.Redirect(w, r, "/crawl/0/", http.StatusSeeOther)
		return
	}
	show := func(_ *http.Request, _ *watcher, v *view) (string, error) {
		v.Title, v.Page, v.Name = "Crawls", "front", ""
		for i, x := range s.watchers {
			v.Crawls[i].seen, v.Crawls[i].Here = x.seen(), false
		}
		return "front.html", nil
	}
	r.SetPathValue("n", "0")
	s.page(show)(w, r)
}

func (s *Server) overview(_ *http.Request, _ *watcher, v *view) (string, error) {
	v.Title, v.Page = "Overview", "overview"
	return "overview.html", nil
}

// Waiting returns the hosts with pending URLs, by the reason of their wait.
func (v *view) Waiting() []part {
	w := v.Waits
	return []part{
		{"turn", "are active", "a request is in flight or about to start", status.StateInTurn, w.InTurn},
		{"due", "are due", "they wait for a worker; if there are many, raise --workers", status.StateDue, w.Due},
		{"pace", "wait for their delay", "from robots.txt, responses or the default", status.StatePace, w.Pace},
		{"address", "wait for their address", "they share an IP address, and its delay, with other hosts", "", w.Address},
		{"retry", "retry later", "all their remaining URLs failed before", status.StateRetry, w.Retry},
		{"rest", "back off", "Retry-After or repeated failures", status.StateRest, w.Rest},
		{"robots", "wait for robots.txt", "it is unavailable, so nothing may be fetched", status.StateRobots, w.Robots},
		{"operator", "are held by you", "paused or dropped", status.StateParked, w.Operator},
		{"shut", "are closed", "retired or given up, until a later run or until unpaused", "", w.Shut},
	}
}

// Outcomes returns the URLs by outcome.
func (v *view) Outcomes() []count {
	s := v.Status
	return []count{
		{"fetched", "good", "", s.Fetched}, {"redirected", "plain", "", s.Redirected}, {"gone", "plain", "404 and 410", s.Gone},
		{"failed", "bad", "", s.Failed}, {"disallowed", "robots", "by robots.txt", s.Disallowed}, {"dropped", "plain", "", s.Dropped},
		{"held", "rest", "by a trap rule", s.Held}, {"pending", "pace", "queued, in flight and deferred", v.Left()},
	}
}

// ClassCounts returns the responses by class of status code.
func (v *view) ClassCounts() (all []count) {
	for _, c := range []count{
		{Name: "1xx", Class: "plain"}, {Name: "2xx", Class: "good"}, {Name: "3xx", Class: "plain"}, {Name: "4xx", Class: "rest"}, {Name: "5xx", Class: "bad"},
	} {
		if c.N = v.Status.Answers[c.Name]; c.N > 0 {
			all = append(all, c)
		}
	}
	return all
}

// TypeCounts returns the 2xx responses by media type.
func (v *view) TypeCounts() []count { return counts(v.Status.Types, "plain", 10) }

// TagCounts returns the pages by the tag of their seed.
func (v *view) TagCounts() []count { return counts(v.Status.Tags, "plain", 10) }

// NotFollowed returns the rejected links by rule.
func (v *view) NotFollowed() []count { return counts(v.Status.Links, "plain", 8) }

// FailureCounts returns the failures of the whole crawl by class.
func (v *view) FailureCounts() []count { return counts(v.Status.Failures, "bad", 10) }

// Chart draws the rate of the last minutes beside the permitted rate.
func (v *view) Chart() template.HTML {
	return chart(v.Course, fmt.Sprintf("Requests per second over the last %s: now %s, permitted %s",
		plainly.RoughDuration(v.Span), plainly.Rate(v.Now.Exchanges), plainly.Rate(v.Waits.Permitted)))
}

// ChartTop returns the upper end of Chart's axis, and ChartHalf its middle.
func (v *view) ChartTop() float64 { return topOf(v.Course) }

func (v *view) ChartHalf() float64 { return v.ChartTop() / 2 }

// LongChart is Chart over a day, and LongTop the upper end of its axis.
func (v *view) LongChart() template.HTML {
	return chart(v.LongRates, "Requests per second, and the permitted rate, over the last "+plainly.RoughDuration(v.LongSpan))
}

func chart(course []status.Rates, label string) template.HTML {
	var achieved, permitted []float64
	for _, r := range course {
		achieved, permitted = append(achieved, r.Exchanges), append(permitted, r.Permitted)
	}
	return curve(achieved, permitted, "rate", label)
}

func (v *view) LongTop() float64 { return topOf(v.LongRates) }

func topOf(course []status.Rates) (top float64) {
	for _, r := range course {
		top = max(top, r.Exchanges, r.Permitted)
	}
	return niceTop(top)
}

// Spark draws one of the rates, small.
func (v *view) Spark(what string) template.HTML {
	var values []float64
	for _, r := range v.Course {
		values = append(values, map[string]float64{"pages": r.Pages, "bytes": r.Bytes, "archive": r.Archive}[what])
	}
	return curve(values, nil, what, what+" per second over the last "+plainly.RoughDuration(v.Span))
}

// Reached returns the share of the permitted rate that was reached in the last minute, at most all of it: hosts come and go.
func (v *view) Reached() string {
	return share(min(v.Minute.Exchanges, v.Minute.Permitted), v.Minute.Permitted)
}

// RestText returns how much longer the crawl takes, as the terminal writes it.
func (v *view) RestText() string {
	left, more := v.Estimate.RestText()
	return left + more
}

// ETA returns the likely end, or the earliest one if discovery is unpredictable.
func (v *view) ETA() string {
	rest := v.Estimate.Rest()
	if rest <= 0 || v.Left() == 0 {
		return ""
	}
	at := time.Now().Add(rest).UTC()
	if rest < 20*time.Hour {
		return at.Format("15:04")
	}
	return at.Format("2 Jan 15:04")
}

// Deciding returns the hosts with the longest queues, and how long each takes.
func (v *view) Deciding() []deciding {
	var all []deciding
	for _, q := range v.Status.Longest {
		all = append(all, deciding{q, time.Duration(float64(q.Pending) * q.Pace * float64(time.Second))})
	}
	slices.SortStableFunc(all, func(a, b deciding) int { return int(min(max(b.Need-a.Need, -1), 1)) })
	return all
}

type deciding struct {
	status.Queue
	Need time.Duration
}

// Why returns a sentence on the limit of the rate.
func (v *view) Why() string {
	if !v.Running {
		return "The crawl is not running."
	}
	if at := v.Status.Opens; at != nil {
		return "The crawl is outside its window (--window): no requests until " + at.UTC().Format("Mon 2 Jan 15:04 MST") + "."
	}
	return v.Waits.Why(v.Status.State, v.Minute.Exchanges, v.Minute.Permitted)
}

// Charts are SVG that the style sheet colours: numbers, classes, and words that template.HTMLEscapeString has escaped.

const (
	chartWidth  = 720
	chartHeight = 160
)

// curve draws values at equal intervals, and a line of permitted values if there are any.
func curve(values, permitted []float64, class, label string) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 -3 %d %d" preserveAspectRatio="none" role="img" aria-label="%s">`,
		chartWidth, chartHeight+6, template.HTMLEscapeString(label))
	top := 1.0
	if len(values) > 0 {
		top = niceTop(max(slices.Max(values), slices.Max(append([]float64{0}, permitted...))))
	}
	for i := range 5 {
		y := chartHeight * i / 4
		fmt.Fprintf(&b, `<line class="rule" x1="0" x2="%d" y1="%d" y2="%d"/>`, chartWidth, y, y)
	}
	if len(values) > 1 {
		line := points(values, top)
		fmt.Fprintf(&b, `<polygon class="area %s" points="0,%d %s %d,%d"/><polyline class="line %s" points="%s"/>`,
			class, chartHeight, line, chartWidth, chartHeight, class, line)
	}
	if len(permitted) > 1 {
		fmt.Fprintf(&b, `<polyline class="line permitted" points="%s"/>`, points(permitted, top))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

func points(values []float64, top float64) string {
	var b strings.Builder
	for i, v := range values {
		x := float64(chartWidth) * float64(i) / float64(len(values)-1)
		y := chartHeight - chartHeight*min(v/top, 1)
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%.1f,%.1f", x, y)
	}
	return b.String()
}

// niceTop returns the next round number above v.
func niceTop(v float64) float64 {
	if v <= 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10} {
		if v <= m*unit {
			return m * unit
		}
	}
	return 10 * unit
}

type part struct {
	Class, Name, Note, State string
	N                        int64
}

// bar draws the parts of a whole side by side. A table beside it has the same numbers.
func bar(parts []part) template.HTML {
	var sum int64
	for _, p := range parts {
		sum += p.N
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="bar" viewBox="0 0 %d 20" preserveAspectRatio="none" aria-hidden="true">`, chartWidth)
	var x float64
	for _, p := range parts {
		if p.N <= 0 || sum == 0 {
			continue
		}
		width := chartWidth * float64(p.N) / float64(sum)
		fmt.Fprintf(&b, `<rect class="fill %s" x="%.1f" y="0" width="%.1f" height="20"/>`, p.Class, x, max(width-1.5, 1))
		x += width
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// meter draws one number as a bar in a table.
func meter(n, most int64, class string) template.HTML {
	width := 0.0
	if most > 0 {
		width = 100 * float64(n) / float64(most)
	}
	return template.HTML(fmt.Sprintf(
		`<svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="rail" width="100" height="8"/><rect class="fill %s" width="%.1f" height="8"/></svg>`,
		class, width))
}

// histogram is a histogram of delays.
type histogram struct {
	Counts  []int
	Top     time.Duration // of the last bin, which also has all longer ones
	Pace    time.Duration // the last required delay
	By      string
	Shorter int // than required
	N       int
	More    bool // there are longer ones than Top
	Least   time.Duration
	Median  time.Duration
}

const bins = 48

func histogramOf(gaps []Gap) (h histogram) {
	if h.N = len(gaps); h.N == 0 {
		return h
	}
	kept := make([]time.Duration, 0, len(gaps))
	for _, g := range gaps {
		kept = append(kept, g.Kept)
		h.Pace = max(h.Pace, g.Due)
		// The ledger has both in whole microseconds.
		if g.Kept+time.Microsecond < g.Due {
			h.Shorter++
		}
	}
	last := gaps[len(gaps)-1]
	h.Pace, h.By = last.Due, string(last.By)
	slices.Sort(kept)
	h.Least, h.Median = kept[0], kept[len(kept)/2]
	top := max(2*h.Pace, kept[len(kept)*95/100], time.Millisecond).Seconds()
	h.Top = time.Duration(niceTop(top) * float64(time.Second))
	h.More = kept[len(kept)-1] > h.Top
	h.Counts = make([]int, bins)
	for _, d := range kept {
		i := int(float64(bins) * float64(d) / float64(h.Top))
		h.Counts[min(max(i, 0), bins-1)]++
	}
	return h
}

// Most returns the count of the highest bar.
func (h histogram) Most() string {
	return plainly.Grouped(int64(slices.Max(append([]int{0}, h.Counts...))))
}

// Ticks returns labels at equal distances below the histogram.
func (h histogram) Ticks() (words []string) {
	for i := range 5 {
		words = append(words, plainly.RoughDuration(h.Top*time.Duration(i)/4))
	}
	if h.More {
		words[4] = "≥ " + words[4]
	}
	return words
}

// SVG draws the histogram, with the required delay as a line.
func (h histogram) SVG() template.HTML {
	most := max(slices.Max(append([]int{0}, h.Counts...)), 1)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 -3 %d %d" preserveAspectRatio="none" role="img" aria-label="%s">`, chartWidth, chartHeight+6,
		template.HTMLEscapeString(fmt.Sprintf("Histogram of %d delays from 0 to %s: minimum %s, median %s, required %s",
			h.N, plainly.RoughDuration(h.Top), plainly.RoughDuration(h.Least), plainly.RoughDuration(h.Median), plainly.RoughDuration(h.Pace))))
	fmt.Fprintf(&b, `<line class="rule" x1="0" x2="%d" y1="%d" y2="%d"/>`, chartWidth, chartHeight, chartHeight)
	width := float64(chartWidth) / bins
	for i, n := range h.Counts {
		if n == 0 {
			continue
		}
		height := max(chartHeight*math.Sqrt(float64(n)/float64(most)), 2) // the root keeps one in a thousand visible
		fmt.Fprintf(&b, `<rect class="fill pace" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, float64(i)*width+0.5, chartHeight-height, width-1, height)
	}
	if h.Top > 0 {
		x := float64(chartWidth) * min(float64(h.Pace)/float64(h.Top), 1)
		fmt.Fprintf(&b, `<line class="line permitted" x1="%.1f" x2="%.1f" y1="-3" y2="%d"/>`, x, x, chartHeight)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

//go:embed pages
var pages embed.FS

// view is the data of a page. Fields that a page does not show are empty.
type view struct {
	seen
	Title   string
	Page    string // for the navigation
	N       int    // number of the crawl
	Name    string
	Crawls  []crawlLink
	Form    string // token of forms
	Said    string // result of an act
	Trouble string
	Query   url.Values
	Here    string         // address of the page
	Still   bool           // no reloading without a script
	Answers map[string]int // last status code of hosts, if known

	Table  table
	One    status.One
	Robots []robotsLine
	Judged *explain.Explanation
	Asked  string // the explained URL
	Gaps   histogram
	Lines  []storage.Line

	Settings Settings
	Acts     []ledger.Mark
	Try      preview
}

// crawlLink is a link to a crawl of this dashboard.
type crawlLink struct {
	N    int
	Name string
	Here bool
	seen
}

// templates parses the templates for the first page, since other commands do not need them.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(htmlpage.New(template.FuncMap{
		"n": plainly.Grouped, "per": plainly.Rate, "size": plainly.RoughSize[int64], "sizef": plainly.RoughSize[float64], "dur": plainly.RoughDuration, "secs": secondsText, "share": share,
		"clock": func(t time.Time) string { return t.UTC().Format("15:04:05") },
		"stamp": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
		"bar":   bar, "meter": meter, "curve": curve, "reason": plainly.Reason,
		"line": plainly.OneLine, "f": func(n int64) float64 { return float64(n) },
		"base": filepath.Base, "n64": func(n int) string { return plainly.Grouped(int64(n)) },
		"np":   func(n *int64) string { return plainly.Grouped(*n) },
		"ltc":  func(a int, b int64) bool { return int64(a) < b },
		"slug": slug, "act": act, "hostact": hostAct, "held": held,
		"patterns": func(v *view, name, label string, all []string) patternForms {
			return patternForms{v.N, v.Form, name, label, all, v.Running}
		},
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
	q := r.URL.Query()
	v := &view{seen: x.seen(), N: n, Name: x.source.Name(), Form: s.guard.formToken(), Query: q, Here: here(r), Said: s.said.of(q.Get(paramDid)), Still: q.Has(paramStill)}
	for i, other := range s.watchers {
		v.Crawls = append(v.Crawls, crawlLink{N: i, Name: other.source.Name(), Here: i == n})
	}
	return v
}

// paramStill keeps a page without a script from reloading while the user reads it or fills in a form.
const paramStill = "still"

// Toggle returns this page with reloading turned on or off.
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

// here returns the address of a page, without the result of the last act.
func here(r *http.Request) string {
	q := r.URL.Query()
	q.Del(paramDid)
	to := url.URL{Path: r.URL.Path, RawQuery: q.Encode()}
	return to.String()
}

// State returns the state of the crawl in a word.
func (v seen) State() string {
	switch {
	case !v.First && v.Err != nil:
		return "unavailable"
	case !v.First:
		return "no data yet"
	}
	return v.Status.State
}

// Left returns how many URLs are pending.
func (v seen) Left() int64 { return v.Status.Queued + v.Status.InFlight + v.Status.Deferred }

// Closed returns how many of the discovered URLs are done.
func (v seen) Closed() int64 { return v.Status.Discovered - v.Left() }

// Stale returns how long the crawl has not answered; zero while it does.
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

// counts returns the words by descending number, with all beyond most in one row.
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

func most(all []count) (n int64) {
	for _, c := range all {
		n = max(n, c.N)
	}
	return n
}

type countTable struct {
	Caption string
	All     []count
	Most    int64
}

// slug returns a word as a class of the style sheet.
func slug(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, s), "-")
}

// actForm is a form with one button.
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
	return slices.Contains([]string{status.StateParked, status.StateDropped, status.StateRetired, status.StateRefused}, state)
}

func secondsText(s float64) string {
	if s > float64(math.MaxInt64)/float64(time.Second) {
		return "–"
	}
	return plainly.RoughDuration(time.Duration(s * float64(time.Second)))
}

// budget formats an amount of a budget in its unit.
func budget(name string, n int64) string {
	switch name {
	case "max-bytes":
		return plainly.RoughSize(n)
	case "max-time":
		return plainly.RoughDuration(time.Duration(n) * time.Second)
	}
	return plainly.Grouped(n)
}

// share formats a part of a whole in percent.
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
