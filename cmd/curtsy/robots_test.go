package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// asked is a server that answers robots.txt as a test wants, and remembers what it was asked.
type asked struct {
	*httptest.Server
	mu     sync.Mutex
	paths  []string
	agents []string
}

func serve(t *testing.T, answer http.HandlerFunc) *asked {
	a := &asked{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.paths, a.agents = append(a.paths, r.URL.Path), append(a.agents, r.UserAgent())
		a.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

func TestRobotsCheckFollowsRedirects(t *testing.T) {
	t.Parallel()
	other := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("user-agent: *\ndisallow: /a\n")) })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		next := map[string]string{"/robots.txt": "/1", "/1": "/2", "/2": "/3", "/3": "/4", "/4": other.URL + "/there.txt"}[r.URL.Path]
		http.Redirect(w, r, next, http.StatusFound)
	})
	// Only the address that the user wrote out is free of the guard.
	inside(t, "robots", "check", s.URL+"/a").want(t, cli.ExitFailed, "private address (see --allow-net)")
	if len(other.paths) > 0 {
		t.Errorf("the guard was passed: %q", other.paths)
	}
	r := inside(t, "robots", "check", "--allow-net", "127.0.0.0/8", s.URL+"/a", s.URL+"/b")
	r.want(t, cli.ExitFound)
	if !strings.Contains(r.out, "disallow: /a") || len(other.paths) != 1 {
		t.Errorf("%s; asked %q", r.out, other.paths)
	}
	loop := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/robots.txt", http.StatusFound) })
	inside(t, "robots", "check", loop.URL+"/a").want(t, cli.ExitFailed, "redirect loop")
}
