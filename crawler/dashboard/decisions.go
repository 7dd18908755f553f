package dashboard

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"curtsy/frontier/canon"
	"curtsy/storage"
)

// filter selects decisions. Empty fields match everything.
type filter struct {
	Text     string // part of the URL or of the reason
	Host     string // an origin
	Decision string
	Outcome  string
	Status   string // a class like 4xx, or a code
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

func ofHost(text, origin string) bool {
	if !strings.HasPrefix(text, origin) {
		return false
	}
	u, err := canon.Parse(text)
	return err == nil && u.Authority().Origin() == origin
}

const shownLines = 100 // on a page

func (s *Server) decisions(r *http.Request, w *watcher, v *view) (string, error) {
	v.Title, v.Page = "Decisions", "decisions"
	v.Lines = w.newest(shownLines, newFilter(r.URL.Query()).match)
	return "decisions.html", nil
}

// Decided returns the decisions to choose from.
func (v *view) Decided() []string {
	return []string{
		string(storage.DecisionAllow), string(storage.DecisionDisallow), string(storage.DecisionRefuse), string(storage.DecisionHold),
		string(storage.DecisionOptOut), string(storage.DecisionRobots), string(storage.DecisionOwner),
	}
}

// Ended returns the outcomes to choose from.
func (v *view) Ended() []string {
	return []string{
		string(storage.OutcomeFetched), string(storage.OutcomeRedirected), string(storage.OutcomeDisallowed), string(storage.OutcomeFailed),
		string(storage.OutcomeGone), string(storage.OutcomeDropped), string(storage.OutcomeHeld), string(storage.OutcomeDeferred),
	}
}

// explain serves the page of one URL.
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

const (
	keptLines    = 2000 // the last decisions
	keptClasses  = 40   // of errors
	keptExamples = 3    // of each
)

// tally accumulates decisions in bounded memory.
type tally struct {
	since  time.Time // of the first decision
	seen   int64     // decisions read
	passed int64     // decisions skipped, because they came too fast
	errors map[string]*failing
	last   []storage.Line // the newest last
}

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

// classOf returns the class of the error in a line, or "".
func classOf(l storage.Line) string {
	switch {
	case l.Attempt == 0 && l.Status == 0:
		return "" // no exchange: the crawler decided
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
	if t.errors[class] == nil && len(t.errors) >= keptClasses {
		class = others // servers can cause any number of classes
	}
	f := t.errors[class]
	if f == nil {
		f = &failing{Class: class}
		t.errors[class] = f
	}
	f.Count++
	f.Last = l.Time
	if len(f.Examples) == keptExamples {
		f.Examples = append(f.Examples[:0], f.Examples[1:]...)
	}
	f.Examples = append(f.Examples, l)
}

// failures returns a copy of the classes, the most frequent first.
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

// newest returns up to n matching decisions, newest first.
func (t *tally) newest(n int, match func(*storage.Line) bool) (found []storage.Line) {
	for i := len(t.last) - 1; i >= max(len(t.last)-keptLines, 0) && len(found) < n; i-- {
		if match(&t.last[i]) {
			found = append(found, t.last[i])
		}
	}
	return found
}
