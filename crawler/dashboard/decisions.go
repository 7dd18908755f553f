package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"curtsy/frontier/canon"
	"curtsy/storage"
)

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
