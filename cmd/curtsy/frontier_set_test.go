package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage/ledger"
)

// What was set while a crawl ran holds after kill -9: resume keeps the scope, and an audit finds no fault.
func TestFrontierSetOutlivesAKill(t *testing.T) {
	t.Parallel()
	web := crawltest.New(crawltest.Tree("bakery.test", 300))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	p := launched(t, curtsy(t, "crawl", "--quiet", "--delay", "100ms", "--dir", dir, web.LoopbackURL("bakery.test")))
	p.until(t, "an answer", func() bool {
		_, err := control.Ask(t.Context(), dir)
		return err == nil && len(web.Referee().Requests()) >= 3
	})
	inside(t, "config", "set", "--exclude", "[13579][.]html", dir).want(t, cli.ExitDone)
	if !p.kill() {
		t.Fatal("it was over before it was killed")
	}
	clean(t, dir)
	asked := len(web.Referee().Requests())
	ended(t, curtsy(t, "resume", "--quiet", "--max-pages", "12", dir)).want(t, cli.ExitDone)
	for _, r := range web.Referee().Requests()[asked:] {
		if page, ok := strings.CutSuffix(r.Target, ".html"); ok && strings.Contains("13579", page[len(page)-1:]) {
			t.Errorf("%s was asked for, though it is excluded", r.Target)
		}
	}
	clean(t, dir)
}

// A running crawl obeys budgets of domains and tags, conditions and windows, and its ledger and settings have the new value.
func TestFrontierSet_RunningCrawlObeys(t *testing.T) {
	t.Parallel()
	web := crawltest.New(crawltest.Tree("bakery.test", 300))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	never := time.Now().Add(48*time.Hour).UTC().Format("Mon") + " 00:00-01:00"
	for _, c := range []struct {
		flags []string
		about string // in the ledger
		ended string
		value func(s crawldir.Settings) any
		is    any
	}{
		{[]string{"--max-per-domain", "9"}, "max-per-domain: 9, was 0", "max-per-domain", func(s crawldir.Settings) any { return s.MaxPerDomain }, int64(9)},
		{[]string{"--max-per-tag", "9"}, "max-per-tag: 9, was 0", "max-per-tag", func(s crawldir.Settings) any { return s.MaxPerTag }, int64(9)},
		{[]string{"--stop-when", "errors>50%", "--stop-when", "tag:bread pages=9"}, "stop-when: errors>50%, tag:bread pages=9, was none",
			"stop-when: tag:bread pages=9", func(s crawldir.Settings) any { return strings.Join(s.StopWhen, "; ") }, "errors>50%; tag:bread pages=9"},
		{[]string{"--window", never}, "window: " + never + ", was none", "waiting", func(s crawldir.Settings) any { return strings.Join(s.Window, "; ") }, never},
	} {
		t.Run(c.flags[0][2:], func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "d")
			seeds := filepath.Join(t.TempDir(), "seeds")
			if err := os.WriteFile(seeds, []byte(web.LoopbackURL("bakery.test")+"\tbread\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			p := launched(t, curtsy(t, "crawl", "--json", "--delay", "100ms", "--max-wait", "1h", "--dir", dir, "--seeds", seeds))
			p.until(t, "three pages", func() bool {
				s, err := control.Ask(t.Context(), dir)
				return err == nil && s.Pages >= 3
			})
			inside(t, append(append([]string{"config", "set", "--reason", "by phone"}, c.flags...), dir)...).want(t, cli.ExitDone)
			p.until(t, "its end", func() bool { return false })
			var sum crawler.Summary
			if err := json.Unmarshal([]byte(p.out.String()), &sum); err != nil || sum.EndedBy != c.ended || sum.Status.Pages > 12 {
				t.Errorf("ended by %q with %d pages, %v\n%s", sum.EndedBy, sum.Status.Pages, err, p.errs.String())
			}
			if s, err := crawldir.ReadSettings(dir); err != nil || c.value(s) != c.is {
				t.Errorf("set to %v, %v", c.value(s), err)
			}
			var acts []string
			for m, err := range ledger.Marks(filepath.Join(dir, crawldir.LedgerName)) {
				if err != nil {
					t.Fatal(err)
				}
				if o := m.Operator; o != nil {
					acts = append(acts, o.Act+": "+o.About)
				}
			}
			if len(acts) != 1 || acts[0] != c.about {
				t.Errorf("acts %q", acts)
			}
			clean(t, dir)
		})
	}
}
