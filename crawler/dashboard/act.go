package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// paramDid names what came of an act, on the page that it leads back to.
const paramDid = "did"

// said are what came of the last acts. Their words are not in an address, where anybody could write any.
type said struct {
	mu    sync.Mutex
	next  int
	words [32]string
}

func (s *said) keep(word string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.next
	s.next++
	s.words[n%len(s.words)] = word
	return strconv.Itoa(n)
}

func (s *said) of(text string) string {
	n, err := strconv.Atoi(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || n < 0 || n >= s.next || n < s.next-len(s.words) {
		return ""
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
	if err == nil {
		word, err = x.source.Do(r.Context(), a)
	}
	if err != nil {
		word = "Not done: " + err.Error()
	}
	http.Redirect(w, r, back(r.PostForm.Get("back"), n, s.said.keep(word)), http.StatusSeeOther)
}

// back is the page that a form was on: one of this crawl, and nothing else.
func back(text string, n int, did string) string {
	home := fmt.Sprintf("/crawl/%d/", n)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, home) || strings.Contains(u.Path, "..") {
		u = &url.URL{Path: home}
	}
	q := u.Query()
	q.Set(paramDid, did)
	to := url.URL{Path: u.Path, RawQuery: q.Encode()}
	return to.String()
}

// actOf reads a form, strictly.
func actOf(p url.Values) (a Act, err error) {
	a.Verb, a.Reason = p.Get("verb"), strings.TrimSpace(p.Get("reason"))
	if len(a.Reason) > maxSearch {
		return a, errors.New("the reason is longer than 200 octets")
	}
	switch a.Verb {
	case ActPause, ActGoOn, ActDrain:
		return a, nil
	case ActSeed:
		if a.Seed, err = canon.Parse(strings.TrimSpace(p.Get("seed"))); err != nil {
			return a, fmt.Errorf("this is no URL that can be fetched: %w", err)
		}
		return a, nil
	case ActPark, ActRelease, ActDrop, ActRetry:
		if a.Host, err = canon.ParseAuthority(p.Get("host")); err != nil {
			return a, fmt.Errorf("this is no host: %w", err)
		}
	default:
		return a, fmt.Errorf("there is no act %q", a.Verb)
	}
	if text := strings.TrimSpace(p.Get("for")); a.Verb == ActPark && text != "" {
		if a.For, err = time.ParseDuration(text); err != nil || a.For <= 0 {
			return a, fmt.Errorf("%q is no time: write it like 90m or 24h, or nothing for without an end", text)
		}
	}
	if a.Verb == ActRetry {
		a.What = frontier.Failed
	}
	return a, nil
}
