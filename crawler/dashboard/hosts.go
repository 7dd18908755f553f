package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"curtsy/crawler/control"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// table is a page of the table of hosts.
type table struct {
	status.Page
	Query   status.Query
	States  []string
	Columns []column
	From    int // the number of the first row, from 1
	To      int
	Before  string // links to the pages around it; empty where there is none
	After   string
}

// column is a head of the table, with the link that sorts by it.
type column struct {
	Name, Key, Link, Sorted string // Sorted as aria-sort has it
	Number                  bool
}

const tableRows = 50

// maxSearch bounds what is searched for, in octets.
const maxSearch = 200

func (s *Server) hosts(r *http.Request, w *watcher, v *view) (string, error) {
	v.Title, v.Page = "Hosts", "hosts"
	q := queryOf(r.URL.Query())
	page, err := w.source.Hosts(r.Context(), q)
	if err != nil {
		return "", err
	}
	v.Table = newTable(page, q)
	v.Answers = w.answers(page.Rows)
	return "hosts.html", nil
}

func queryOf(p url.Values) status.Query {
	q := status.Query{Search: strings.TrimSpace(p.Get("q")), State: p.Get("state"), Sort: p.Get("sort"), Up: p.Get("up") == "1", Limit: tableRows}
	q.Search = q.Search[:min(len(q.Search), maxSearch)]
	if !status.Sortable(q.Sort) {
		q.Sort = "pending"
	}
	if n, err := strconv.Atoi(p.Get("from")); err == nil && n > 0 {
		q.Offset = n
	}
	return q
}

func newTable(page status.Page, q status.Query) table {
	t := table{Page: page, Query: q, States: status.States()}
	if len(page.Rows) > 0 {
		t.From, t.To = q.Offset+1, q.Offset+len(page.Rows)
	}
	if q.Offset > 0 {
		before := q
		before.Offset = max(q.Offset-tableRows, 0)
		t.Before = linkOf(before)
	}
	if t.To > 0 && t.To < page.Matching {
		after := q
		after.Offset = q.Offset + tableRows
		t.After = linkOf(after)
	}
	for _, c := range []column{
		{Name: "Host", Key: "host"}, {Name: "State", Key: "state"}, {Name: "To go", Key: "pending", Number: true},
		{Name: "Fetched", Key: "fetched", Number: true}, {Name: "Failed", Key: "failed", Number: true},
		{Name: "Disallowed", Key: "disallowed", Number: true}, {Name: "Delay", Key: "pace", Number: true},
		{Name: "Next request", Key: "wait", Number: true}, {Name: "Last request", Key: "last", Number: true},
	} {
		by := q
		by.Sort, by.Offset, by.Up = c.Key, 0, !c.Number
		if q.Sort == c.Key {
			by.Up = !q.Up
			c.Sorted = "descending"
			if q.Up {
				c.Sorted = "ascending"
			}
		}
		c.Link = linkOf(by)
		t.Columns = append(t.Columns, c)
	}
	return t
}

func linkOf(q status.Query) string {
	p := url.Values{}
	for key, value := range map[string]string{"q": q.Search, "state": q.State, "sort": q.Sort} {
		if value != "" {
			p.Set(key, value)
		}
	}
	if q.Up {
		p.Set("up", "1")
	}
	if q.Offset > 0 {
		p.Set("from", strconv.Itoa(q.Offset))
	}
	return "hosts?" + p.Encode()
}

// robotsLine is a line of a robots.txt.
type robotsLine struct {
	N          int
	Text       string
	Decides    bool
	RunnerUp   bool
	Candidate  bool // its rule matches, and does not decide
	Annotation string
}

// mostGaps is of how many pauses a histogram is made.
const mostGaps = 5000

func (s *Server) host(r *http.Request, w *watcher, v *view) (string, error) {
	v.Title, v.Page = "Host", "host"
	a, err := canon.ParseAuthority(strings.TrimSuffix(r.URL.Query().Get("name"), "/"))
	if err != nil {
		return "", fmt.Errorf("not a host: %w", err)
	}
	if v.One, err = w.source.Host(r.Context(), a); err != nil {
		return "", err
	}
	v.Lines = w.newest(20, newFilter(url.Values{"host": {a.Origin()}}).match)
	gaps, err := w.source.Gaps(r.Context(), a, mostGaps)
	if err != nil {
		return "", err
	}
	v.Gaps = histogramOf(gaps)
	return "host.html", s.judge(r.Context(), w, v, a, r.URL.Query().Get("url"))
}

// judge explains a URL of the host: the one that is asked for, or one that was decided lately.
func (s *Server) judge(ctx context.Context, w *watcher, v *view, a canon.Authority, asked string) error {
	if v.Asked = asked; asked == "" {
		for _, l := range v.Lines {
			if l.RobotsLine > 0 || v.Asked == "" {
				v.Asked = l.URL
			}
			if l.RobotsLine > 0 {
				break
			}
		}
	}
	if v.Asked == "" {
		v.Asked = a.Origin() + "/"
	}
	if u, err := canon.Parse(v.Asked); err == nil {
		e, err := w.source.Explain(ctx, u)
		if err != nil {
			return err
		}
		v.Judged = &e
	}
	v.Robots = robotsLines(v)
	return nil
}

// robotsLines are the lines of the robots.txt, with what they say of the URL that is explained.
func robotsLines(v *view) (lines []robotsLine) {
	if v.One.Robots == "" {
		return nil
	}
	marks := map[int]robotsLine{}
	if v.Judged != nil && v.Judged.URL.Origin == v.One.Host {
		for _, p := range v.Judged.Robots.Policies {
			for i, c := range p.Candidates {
				l := marks[c.Line]
				switch {
				case i == 0:
					l.Decides, l.Annotation = true, p.Why
				case i == 1 && !l.Decides:
					l.RunnerUp = true
				default:
					l.Candidate = !l.Decides
				}
				marks[c.Line] = l
			}
		}
	}
	// Lines end as RFC 9309 2.2 has it: CR, LF or both.
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(v.One.Robots)
	for i, t := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		l := marks[i+1]
		l.N, l.Text = i+1, strings.ToValidUTF8(t, "\uFFFD")
		lines = append(lines, l)
	}
	return lines
}

// filter says which decisions are shown. What is empty lets all pass.
type filter struct {
	Text     string // that the URL or the reason contains
	Host     string // an origin
	Decision string
	Outcome  string
	Status   string // a class, as 4xx, or a code
}

func newFilter(p url.Values) filter {
	cut := func(name string) string { s := strings.TrimSpace(p.Get(name)); return s[:min(len(s), maxSearch)] }
	return filter{strings.ToLower(cut("q")), cut("host"), cut("decision"), cut("outcome"), cut("status")}
}

func (f filter) match(l *storage.Line) bool {
	switch {
	case f.Decision != "" && string(l.Decision) != f.Decision, f.Outcome != "" && string(l.Outcome) != f.Outcome:
		return false
	case f.Status != "" && !f.hasStatus(l.Status):
		return false
	case f.Host != "" && !ofHost(l.URL, f.Host):
		return false
	}
	return f.Text == "" || strings.Contains(strings.ToLower(l.URL), f.Text) || strings.Contains(strings.ToLower(l.Reason), f.Text)
}

func (f filter) hasStatus(status int) bool {
	code := []byte{'0' + byte(status/100%10), '0' + byte(status/10%10), '0' + byte(status%10)}
	if class, ok := strings.CutSuffix(f.Status, "xx"); ok {
		return class == string(code[:1])
	}
	return f.Status == string(code)
}

// ofHost reports whether a URL is of an origin.
func ofHost(text, origin string) bool {
	if !strings.HasPrefix(text, origin) {
		return false
	}
	u, err := canon.Parse(text)
	return err == nil && u.Authority().Origin() == origin
}

// shownLines is how many decisions a page shows.
const shownLines = 100

func (s *Server) decisions(r *http.Request, w *watcher, v *view) (string, error) {
	v.Title, v.Page = "Decisions", "decisions"
	v.Lines = w.newest(shownLines, newFilter(r.URL.Query()).match)
	return "decisions.html", nil
}

// Decided are the words of decisions, for a list to choose from.
func (v *view) Decided() []string {
	return []string{
		string(storage.DecisionAllow), string(storage.DecisionDisallow), string(storage.DecisionRefuse), string(storage.DecisionHold),
		string(storage.DecisionOptOut), string(storage.DecisionRobots), string(storage.DecisionOwner),
	}
}

// Ended are the words of outcomes, likewise.
func (v *view) Ended() []string {
	return []string{
		string(storage.OutcomeFetched), string(storage.OutcomeRedirected), string(storage.OutcomeDisallowed), string(storage.OutcomeFailed),
		string(storage.OutcomeGone), string(storage.OutcomeDropped), string(storage.OutcomeHeld), string(storage.OutcomeDeferred),
	}
}

// explain is the page of one URL.
func (s *Server) explain(r *http.Request, w *watcher, v *view) (string, error) {
	v.Title, v.Page, v.Asked = "Explain", "explain", strings.TrimSpace(r.URL.Query().Get("url"))
	if v.Asked == "" {
		return "explain.html", nil
	}
	u, err := canon.Parse(v.Asked)
	if err != nil {
		v.Trouble = "Not a URL that can be fetched: " + err.Error()
		return "explain.html", nil
	}
	e, err := w.source.Explain(r.Context(), u)
	if err != nil {
		return "", err
	}
	v.Judged = &e
	v.Lines = w.newest(20, func(l *storage.Line) bool { return l.URL == u.String() })
	return "explain.html", nil
}

// Bounds of what is kept of decisions.
const (
	keptLines    = 2000 // the last decisions
	keptClasses  = 40   // of errors
	keptExamples = 3    // of each
)

// tally is what was seen of the decisions.
type tally struct {
	since  time.Time // of the first
	seen   int64     // that were read
	passed int64     // that came too fast to be read each
	errors map[string]*failing
	last   []storage.Line // the newest last
}

// failing is a class of errors.
type failing struct {
	Class    string
	Count    int64
	Last     time.Time
	Examples []storage.Line // the newest last
}

func newTally() *tally {
	return &tally{errors: map[string]*failing{}}
}

func (t *tally) add(l storage.Line) {
	if t.seen++; t.since.IsZero() {
		t.since = l.Time
	}
	if class := classOf(l); class != "" {
		t.fail(class, l)
	}
	if len(t.last) == 2*keptLines {
		t.last = append(t.last[:0], t.last[keptLines:]...)
	}
	t.last = append(t.last, l)
}

// classOf is the class of the error that a line tells of; empty where it tells of none.
func classOf(l storage.Line) string {
	switch {
	case l.Attempt == 0 && l.Status == 0:
		return "" // no exchange: a decision of ours
	case l.Status == 429 || l.Status == 408 || l.Status == 425 || l.Status >= 400 && l.Status < 500 && l.Outcome == storage.OutcomeFailed:
		return fmt.Sprintf("status %d", l.Status)
	case l.Status >= 500:
		return "5xx"
	case l.Status == 0 && l.Reason != "", l.Truncated != "":
		return cmp.Or(l.Reason, l.Truncated)
	}
	return ""
}

func (t *tally) fail(class string, l storage.Line) {
	f := t.errors[class]
	if f == nil {
		if len(t.errors) >= keptClasses { // the world has more words than we have room for
			class = "others"
			if f = t.errors[class]; f == nil {
				f = &failing{Class: class}
				t.errors[class] = f
			}
		} else {
			f = &failing{Class: class}
			t.errors[class] = f
		}
	}
	f.Count++
	f.Last = l.Time
	if len(f.Examples) == keptExamples {
		f.Examples = append(f.Examples[:0], f.Examples[1:]...)
	}
	f.Examples = append(f.Examples, l)
}

// failures are the classes, the most frequent first, apart from what goes on being counted.
func (t *tally) failures() (all []failing) {
	for _, class := range slices.Sorted(maps.Keys(t.errors)) {
		f := *t.errors[class]
		f.Examples = slices.Clone(f.Examples)
		slices.Reverse(f.Examples)
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b failing) int { return cmp.Compare(b.Count, a.Count) })
	return all
}

// newest returns at most n of the last decisions that match, the newest first.
func (t *tally) newest(n int, match func(*storage.Line) bool) (found []storage.Line) {
	for i := len(t.last) - 1; i >= max(len(t.last)-keptLines, 0) && len(found) < n; i-- {
		if match(&t.last[i]) {
			found = append(found, t.last[i])
		}
	}
	return found
}

// paramDid names what came of an act, on the page that it leads back to.
const paramDid = "did"

// paramTry names what would come of a change.
const paramTry = "try"

// preview is what would come of a change.
type preview struct {
	control.Change
	control.Changed
}

// lately are what came of the last acts. Their words are not in an address, where anybody could write any.
type lately[T any] struct {
	mu    sync.Mutex
	next  int
	words [32]T
}

func (s *lately[T]) keep(word T) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.next
	s.next++
	s.words[n%len(s.words)] = word
	return strconv.Itoa(n)
}

func (s *lately[T]) of(text string) (none T) {
	n, err := strconv.Atoi(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || n < 0 || n >= s.next || n < s.next-len(s.words) {
		return none
	}
	return s.words[n%len(s.words)]
}

// act obeys a form, and leads back to the page that it was on.
func (s *Server) act(w http.ResponseWriter, r *http.Request) {
	x, n := s.watcher(r)
	if x == nil {
		s.failed(w, http.StatusNotFound, "There is no such crawl here.")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	if err := r.ParseForm(); err != nil || !same(r.PostForm.Get("form"), s.guard.formToken()) {
		s.failed(w, http.StatusForbidden, "This form is not of this dashboard, or of an earlier one: load the page again.")
		return
	}
	a, err := actOf(r.PostForm)
	var word string
	switch {
	case err != nil:
	case a.Verb == ActChange && r.PostForm.Get("try") != "":
		var p preview
		if p.Changed, err = x.source.Try(r.Context(), a.Change); err == nil {
			p.Change = a.Change
			http.Redirect(w, r, back("", n, paramTry, s.tried.keep(p), "steer"), http.StatusSeeOther)
			return
		}
	default:
		word, err = x.source.Do(r.Context(), a)
	}
	if err != nil {
		word = "Not done: " + err.Error()
	}
	http.Redirect(w, r, back(r.PostForm.Get("back"), n, paramDid, s.said.keep(word), ""), http.StatusSeeOther)
}

// back is the page that a form was on, with a parameter more: one of this crawl, and nothing else; else the page, of the
// crawl's, that is named.
func back(text string, n int, param, value, page string) string {
	home := fmt.Sprintf("/crawl/%d/", n)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, home) || strings.Contains(u.Path, "..") {
		u = &url.URL{Path: home + page}
	}
	q := u.Query()
	q.Del(paramTry)
	q.Set(param, value)
	to := url.URL{Path: u.Path, RawQuery: q.Encode()}
	return to.String()
}

// maxChange bounds what a setting is changed to, in bytes.
const maxChange = 2000

// actOf reads a form, strictly.
func actOf(p url.Values) (a Act, err error) {
	a.Verb, a.Reason = p.Get("verb"), strings.TrimSpace(p.Get("reason"))
	if len(a.Reason) > maxSearch {
		return a, errors.New("the reason is longer than 200 bytes")
	}
	switch a.Verb {
	case ActPause, ActGoOn, ActDrain:
		return a, nil
	case ActSeed:
		if a.Seed, err = canon.Parse(strings.TrimSpace(p.Get("seed"))); err != nil {
			return a, fmt.Errorf("not a URL that can be fetched: %w", err)
		}
		return a, nil
	case ActChange:
		a.Change = control.Change{Setting: p.Get("setting"), Value: strings.TrimSpace(p.Get("value")), Remove: p.Get("remove") != "", Host: strings.TrimSpace(p.Get("match"))}
		if len(a.Change.Value) > maxChange || len(a.Change.Host) > maxChange {
			return a, errors.New("the value is longer than 2,000 bytes")
		}
		return a, nil
	case ActPark, ActRelease, ActDrop, ActRetry:
		if a.Host, err = canon.ParseAuthority(p.Get("host")); err != nil {
			return a, fmt.Errorf("not a host: %w", err)
		}
	default:
		return a, fmt.Errorf("unknown action %q", a.Verb)
	}
	if text := strings.TrimSpace(p.Get("for")); a.Verb == ActPark && text != "" {
		if a.For, err = time.ParseDuration(text); err != nil || a.For <= 0 {
			return a, fmt.Errorf("%q is not a duration: write it like 90m or 24h, or leave it empty for no end", text)
		}
	}
	if a.Verb == ActRetry {
		a.What = frontier.Failed
	}
	return a, nil
}

// steer is the page on which settings are changed, and which says what operators did.
func (s *Server) steer(r *http.Request, w *watcher, v *view) (string, error) {
	v.Title, v.Page = "Steer", "steer"
	var err error
	if v.Settings, err = w.source.Settings(r.Context()); err != nil {
		return "", err
	}
	v.Acts = slices.Clone(w.source.Acts())
	v.Try = s.tried.of(r.URL.Query().Get(paramTry))
	return "steer.html", nil
}

// setting is a form for one value.
type setting struct {
	N                      int
	Form, Name, Label, Now string
	Running, List          bool // a list has an element a line
	Placeholder, NowSay    string
}

// Budgets are the forms of the budgets.
func (v *view) Budgets() []setting {
	now := func(s string) string {
		switch s {
		case "0", "0s", "0B", "", "none":
			return "no limit"
		}
		return strings.ReplaceAll(s, "\n", ", ")
	}
	all := []setting{
		{Name: control.SetMaxPages, Label: "HTML pages in total", Placeholder: "1000"},
		{Name: control.SetMaxPerHost, Label: "HTML pages of each host", Placeholder: "100"},
		{Name: control.SetMaxPerDomain, Label: "HTML pages of each registrable domain", Placeholder: "1000"},
		{Name: control.SetMaxPerTag, Label: "HTML pages of each seed tag", Placeholder: "1000"},
		{Name: control.SetMaxBytes, Label: "Bytes received in total", Placeholder: "2GiB"},
		{Name: control.SetMaxTime, Label: "Time since the start of this run", Placeholder: "12h"},
		{Name: control.SetStopWhen, Label: "Stop conditions", Placeholder: "errors>20%", List: true},
		{Name: control.SetWindow, Label: "When hosts may be requested", Placeholder: "22:00-06:00 Europe/Berlin", List: true},
	}
	for i := range all {
		all[i].Now = v.Settings.Budgets[all[i].Name]
		all[i].N, all[i].Form, all[i].Running, all[i].NowSay = v.N, v.Form, v.Running, now(all[i].Now)
	}
	return all
}

// Narrows reports whether what is tried takes URLs out of the crawl, and does not bring some back.
func (p preview) Narrows() bool {
	return p.Setting == control.SetOptOuts || (p.Setting == control.SetExclude || p.Setting == control.SetInclude) && !p.Remove
}

// patternForms are the patterns of a list, with a form each and one for another.
type patternForms struct {
	N           int
	Form        string
	Name, Label string
	All         []string
	Running     bool
}

func patterns(v *view, name, label string, all []string) patternForms {
	return patternForms{v.N, v.Form, name, label, all, v.Running}
}
