package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

// Who is accused without cause stops looking. What follows was found by random histories of honest crawls.

// "Retry-After: 0" asks for no rest: nothing is told of one.
func TestARetryAfterOfNothingIsNoRest(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(map[string]int{"/robots.txt": http.StatusNotFound, "/": http.StatusServiceUnavailable}[r.URL.Path])
	}))
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	shared(t, "crawl", "--quiet", "--delay", "0", "--max-wait", "0s", "--dir", dir, web.URL+"/")
	shared(t, "audit", dir).want(t, cli.ExitDone)
}

// A run may be killed, or fail, between its new settings and its mark in the ledger.
func TestSettingsOfARunThatNeverBegan(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	dir := filepath.Join(t.TempDir(), "d")
	shared(t, "crawl", "--quiet", "--delay", "0", "--max-pages", "1", "--dir", dir, seed).want(t, cli.ExitDone)
	next, err := crawldir.ReadSettings(dir)
	if err != nil {
		t.Fatal(err)
	}
	next.Purpose = "another"
	if _, err := crawldir.Update(t.Context(), dir, nil, &next); err != nil {
		t.Fatal(err)
	}
	shared(t, "audit", dir).want(t, cli.ExitDone)
	shared(t, "resume", "--quiet", "--max-pages", "0", "--delay", "0", dir).want(t, cli.ExitDone)
	shared(t, "audit", dir).want(t, cli.ExitDone)
	if left, err := filepath.Glob(inDir(dir, crawldir.ConfigBefore+"*")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if err := os.WriteFile(inDir(dir, crawldir.ConfigName), []byte("purpose = 'x'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	shared(t, "audit", dir).want(t, cli.ExitFound)
}
