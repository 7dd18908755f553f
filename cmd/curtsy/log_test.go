package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
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

func TestWithLogJSONEachLineOfACrawlIsAnEvent(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	dir := filepath.Join(t.TempDir(), "d")
	for _, tt := range []struct {
		args []string
		code int
		has  []string
	}{
		{[]string{"crawl", "-v", "--dashboard", "127.0.0.1:0", "--delay", "0", "--max-pages", "1", "--dir", dir, seed}, cli.ExitDone,
			[]string{"dashboard", "crawl begins", "decision", "crawl ends"}}, // it may end before its state is looked at
		{[]string{"resume", "--max-pages", "0", "--mirror", dir}, cli.ExitDone, []string{"crawl begins", "crawl ends"}},
		{[]string{"update", dir}, cli.ExitDone, []string{"crawl begins", "crawl ends"}},
		{[]string{"crawl", "--dir", dir, seed}, cli.ExitUsage, nil},
		{[]string{"crawl", "--delay", "0", "--dir", dir + "2", "http://127.0.0.1:9/"}, cli.ExitIncomplete, []string{"crawl begins"}},
		{[]string{"crawl", "--dry-run", "--delay", "0", seed}, cli.ExitDone, nil},
		{[]string{"plan", "--delay", "0", seed}, cli.ExitDone, nil},
		{[]string{"watch", "--once", dir}, cli.ExitDone, nil},
	} {
		r := inside(t, append(tt.args, "--log", "json")...)
		r.want(t, tt.code)
		all := events(t, r)
		for _, msg := range tt.has {
			if !slices.Contains(all, msg) {
				t.Errorf("%q: no %q in %q", tt.args, msg, all)
			}
		}
		if tt.code != cli.ExitDone && !strings.Contains(r.err, `"level":"ERROR"`) {
			t.Errorf("%q: no error in\n%s", tt.args, r.err)
		}
	}
}

func TestWithLogJSONAQuietCrawlSaysErrorsAlone(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	dir := filepath.Join(t.TempDir(), "d")
	if r := inside(t, "crawl", "--log", "json", "--quiet", "--delay", "0", "--dir", dir, seed); r.err != "" || r.code != cli.ExitDone {
		t.Errorf("%d\n%s", r.code, r.err)
	}
	r := inside(t, "crawl", "--log", "json", "--quiet", "--delay", "0", "--dir", dir, seed)
	if all := events(t, r); len(all) != 1 || !strings.Contains(r.err, `"exit_code":2`) {
		t.Errorf("%q", r.err)
	}
	shared(t, "crawl", "--log", "xml", seed).want(t, cli.ExitUsage, "--log xml: write text or json")
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
