package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/storage"
)

// A URL at which the process dies several times is quarantined, and all others are fetched. An operator sees it, and can retry it.
func TestAURLThatKillsTheProcessIsSetAside(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("many processes")
	}
	web := webOf(t, &crawltest.Site{Name: "mill.test", Pages: map[string]crawltest.Page{
		"/":       {Links: []string{"/flour", "/poison", "/bread"}},
		"/flour":  {},
		"/bread":  {},
		"/poison": {Delay: time.Hour},
	}})
	dir := filepath.Join(t.TempDir(), "crawl")
	args := []string{"crawl", "--delay", "0", "--dir", dir, web.LoopbackURL("mill.test")}
	deaths := 0
	for ; deaths < 10; deaths++ {
		p := launched(t, curtsy(t, args...))
		before := requested(web, "/poison")
		died := p.until(t, "it is asked for", func() bool { return requested(web, "/poison") > before })
		if died && deaths == 0 { // later its record is durable already
			done := settledURLs{}
			died = p.until(t, "the frontier has it on record, and the page before it as fetched", func() bool {
				done.add(t, web, dir)
				return len(done) == 2 && stops(t, dir, "/poison") > 0
			})
		}
		died = died && p.kill()
		if r := p.end(); !died {
			r.want(t, cli.ExitDone, "1 URL set aside", "curtsy frontier retry --reason quarantined")
			break
		}
		args = []string{"resume", dir}
	}
	if deaths < 3 || deaths > 6 {
		t.Errorf("set aside after %d deaths", deaths)
	}
	for _, target := range []string{"/flour", "/bread"} {
		if n := requested(web, target); n != 1 {
			t.Errorf("%s was asked for %d times", target, n)
		}
	}
	r := inside(t, "frontier", "ls", "--urls", "--reason", "quarantined", dir)
	if r.want(t, cli.ExitDone); !strings.Contains(r.out, "/poison") || strings.Count(r.out, "http") != 1 {
		t.Errorf("%q", r.out)
	}
	set := 0
	for _, l := range ledgerLinesIn(t, dir) {
		if l.Reason == frontier.ReasonQuarantined {
			set++
			if !strings.HasSuffix(l.URL, "/poison") || l.Outcome != storage.OutcomeFailed || l.Kind != "link" {
				t.Errorf("%+v", l)
			}
		}
	}
	assert.Equal(t, 1, set, "lines of the ledger say what was set aside")
	clean(t, dir)
	inside(t, "frontier", "retry", "--reason", "quarantined", dir).want(t, cli.ExitDone)
	reopened(t, dir)
	t.Logf("set aside after %d deaths", deaths)
}

// stops returns at how many kills a URL was in flight.
func stops(t *testing.T, dir, target string) int {
	t.Helper()
	for line := range strings.Lines(shared(t, "frontier", "export", dir).out) {
		var item struct {
			URL struct {
				URL   string `json:"url"`
				Stops int    `json:"stops"`
			} `json:"url"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &item))
		if strings.HasSuffix(item.URL.URL, target) {
			return item.URL.Stops
		}
	}
	return 0
}

func requested(web *crawltest.Web, target string) (n int) {
	for _, r := range web.Referee().Requests() {
		if r.Target == target {
			n++
		}
	}
	return n
}
