package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/status"
	"curtsy/storage/ledger"
)

func TestRule10_IPDelayBelow100msIsWrongUsage(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	for _, d := range []string{"0", "99ms", "1us"} {
		inside(t, "crawl", "--ip-delay", d, "--dir", filepath.Join(t.TempDir(), "d"), seed).want(t, cli.ExitUsage, "--ip-delay", "the minimum is 100ms")
	}
	inside(t, "crawl", "--max-rate", "5", "--dir", filepath.Join(t.TempDir(), "d"), seed).want(t, cli.ExitUsage, "has no unit")
}

// Three hosts on one machine, none of them the user's own: the ledger says that their address decided.
func TestRule10_HostsAtOneAddressWaitForIt(t *testing.T) {
	t.Parallel()
	web := crawltest.New(crawltest.Tree("bakery.test", 1), crawltest.Tree("library.test", 1), crawltest.Tree("garden.test", 1))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	ended(t, curtsy(t, "crawl", "--quiet", "--own-site", "none", "--ip-delay", "700ms", "--dir", dir,
		web.LoopbackURL("bakery.test"), web.LoopbackURL("library.test"), web.LoopbackURL("garden.test"))).want(t, cli.ExitDone)
	judged(t, web, crawltest.Rules{Pace: time.Second})
	byAddress := 0
	for l, err := range ledger.Read(inDir(dir, crawldir.LedgerName)) {
		if err != nil {
			t.Fatal(err)
		}
		if l.PaceBy == "address" {
			byAddress++
			if l.Pace < 700*time.Millisecond || l.Gap > 0 && l.Gap < l.Pace {
				t.Errorf("%s: pace %v, gap %v", l.URL, l.Pace, l.Gap)
			}
		}
	}
	if byAddress < 2 {
		t.Errorf("the address decided %d times", byAddress)
	}
}

func TestRule15_MaxRateIsKept(t *testing.T) {
	t.Parallel()
	web := crawltest.New(&crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
		"/": {Body: strings.Repeat("bread ", 40_000), Type: "text/plain"},
	}})
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	begin := time.Now()
	inside(t, "crawl", "--quiet", "--delay", "0", "--max-rate", "150kB", "--dir", filepath.Join(t.TempDir(), "d"), web.LoopbackURL("bakery.test")).
		want(t, cli.ExitDone)
	// 240 kB, of which 64 KiB may come at once.
	if took := time.Since(begin); took < time.Second {
		t.Errorf("240 kB at 150 kB a second within %v", took)
	}
}

// Two crawls of one user on one machine: as far as the host can see, it is one.
func TestRule17_TwoProcessesKeepThePaceTogether(t *testing.T) {
	t.Parallel()
	web := crawltest.New(crawltest.Tree("bakery.test", 1))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	home := t.TempDir()
	var waits []func() result
	for range 2 {
		cmd := curtsy(t, "crawl", "--quiet", "--own-site", "none", "--dir", filepath.Join(t.TempDir(), "d"), web.LoopbackURL("bakery.test"))
		cmd.Env = append(cmd.Env, "HOME="+home, "XDG_CACHE_HOME="+home, "LocalAppData="+home)
		waits = append(waits, begun(t, cmd))
	}
	for _, wait := range waits {
		r := wait()
		r.want(t, cli.ExitDone)
	}
	var last time.Time
	all := web.Referee().Requests()
	for _, r := range all {
		if gap := r.Start.Sub(last); !last.IsZero() && gap < crawler.Floor {
			t.Errorf("%s came %v after the exchange before it", r.Target, gap)
		}
		last = r.End
	}
	if len(all) != 4 {
		t.Errorf("%d requests, want robots.txt and a page of each crawl", len(all))
	}
}

func TestStatusSaysHowManyHostsTheirAddressLimits(t *testing.T) {
	t.Parallel()
	if got := text.Status(status.Status{LimitedByIP: 3}, "", time.Time{}); !strings.Contains(got, "limited by IP: 3 hosts\n") {
		t.Errorf("%s", got)
	}
	if got := text.Status(status.Status{}, "", time.Time{}); strings.Contains(got, "limited by IP") {
		t.Errorf("%s", got)
	}
}

func TestRule17_WithoutAFolderForTheLocksNoForeignHostIsAsked(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "darwin" {
		t.Skip("the cache folder is that of HOME, as is the configuration's")
	}
	seed, web := small(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := curtsy(t, "crawl", "--own-site", "none", "--dir", filepath.Join(t.TempDir(), "d"), seed)
	cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+file, "LocalAppData="+file)
	ended(t, cmd).want(t, cli.ExitFailed, "XDG_CACHE_HOME")
	if n := len(web.Referee().Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}
