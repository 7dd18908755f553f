package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
)

// events are the messages of a standard error on which each line is an event, and nothing else.
func events(t *testing.T, r result) (messages []string) {
	t.Helper()
	for line := range strings.Lines(r.err) {
		var e struct {
			Time  time.Time
			Level string
			Msg   string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Time.IsZero() || e.Level == "" || e.Msg == "" {
			t.Errorf("%v: %q", err, line)
		}
		messages = append(messages, e.Msg)
	}
	return messages
}

// What an operator does is told as it is done, by whichever way the order came.
func TestWithLogJSONAnOperatorsActsAreEvents(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	var once sync.Once
	web := crawltest.New(&crawltest.Site{Name: "bakery.test", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			once.Do(func() { // while the page is under way
				shared(t, "frontier", "pause", "--host", r.Host, "--reason", "a letter of the owner", dir).want(t, cli.ExitDone)
				shared(t, "frontier", "unpause", "--host", r.Host, dir).want(t, cli.ExitDone)
			})
		}
		w.Header().Set("Content-Type", "text/html")
	})})
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	r := shared(t, "crawl", "--log", "json", "--delay", "0", "--dir", dir, web.LoopbackURL("bakery.test"))
	r.want(t, cli.ExitDone, `"act":"park"`, `"note":"a letter of the owner"`)
	n := 0
	for _, msg := range events(t, r) {
		if msg == "operator acts" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d acts in\n%s", n, r.err)
	}
}
