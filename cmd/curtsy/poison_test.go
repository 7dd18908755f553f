package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/storage/ledger"
)

// A URL at which the process dies each time is set aside after a few deaths, and all others are done. An operator sees
// it, and may have it tried again.
func TestAURLThatKillsTheProcessIsSetAside(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes")
	}
	web := crawltest.New(&crawltest.Site{Name: "mill.test", Pages: map[string]crawltest.Page{
		"/":       {Links: []string{"/flour", "/poison", "/bread"}},
		"/flour":  {},
		"/bread":  {},
		"/poison": {Delay: time.Hour},
	}})
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "crawl")
	args := []string{"crawl", "--delay", "0", "--dir", dir, web.LoopbackURL("mill.test")}
	deaths := 0
	for ; deaths < 10; deaths++ {
		cmd := curtsy(t, args...)
		before := requested(web, "/poison")
		wait := begun(t, cmd)
		over := make(chan result, 1)
		go func() { over <- wait() }() // ends with the process
		died := false
		for !died && len(over) == 0 {
			if time.Sleep(20 * time.Millisecond); requested(web, "/poison") > before {
				time.Sleep(time.Second) // its record is durable by now
				died = cmd.Process.Kill() == nil
			}
		}
		r := <-over
		if !died {
			r.want(t, exitDone, "1 URL set aside", "curtsy frontier retry --reason quarantined")
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
	if r.want(t, exitDone); !strings.Contains(r.out, "/poison") || strings.Count(r.out, "http") != 1 {
		t.Errorf("%q", r.out)
	}
	set := 0
	for l, err := range ledger.Read(inDir(dir, ledgerName)) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Reason == frontier.ReasonQuarantined {
			set++
			if !strings.HasSuffix(l.URL, "/poison") || l.Outcome != frontier.Failed.String() || l.Kind != "link" {
				t.Errorf("%+v", l)
			}
		}
	}
	if set != 1 {
		t.Errorf("%d lines of the ledger say what was set aside", set)
	}
	clean(t, dir)
	inside(t, "frontier", "retry", "--reason", "quarantined", dir).want(t, exitDone)
	reopened(t, dir)
	t.Logf("set aside after %d deaths", deaths)
}
