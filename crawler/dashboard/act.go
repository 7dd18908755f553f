package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"curtsy/crawler/control"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// paramDid is the query parameter with the key of an act's result.
const paramDid = "did"

// paramTry is the query parameter with the key of a preview.
const paramTry = "try"

// preview is the effect that a change would have.
type preview struct {
	control.Change
	control.Changed
}

// lately keeps the last results. An address has only their number: otherwise any site could make the page show its words.
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

// act executes a form, and redirects to the form's page.
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

// back returns the page of a form with one parameter set. If text is not a page of the crawl, it returns the named page of it.
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

const maxChange = 2000 // bytes of a new value

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

// steer serves the page with settings and the acts of operators.
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

// setting is the form of one value.
type setting struct {
	N                      int
	Form, Name, Label, Now string
	Running, List          bool // a list has one element a line
	Placeholder, NowSay    string
}

// Budgets returns the forms of the budgets.
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

// Narrows reports whether the preview is of a change that removes URLs from the crawl.
func (p preview) Narrows() bool {
	return p.Setting == control.SetOptOuts || (p.Setting == control.SetExclude || p.Setting == control.SetInclude) && !p.Remove
}

// patternForms is a list of patterns, each with a form, and a form to add one.
type patternForms struct {
	N           int
	Form        string
	Name, Label string
	All         []string
	Running     bool
}
