package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/control"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/status"
)

// inside runs a command line to its end, with a configuration folder of its own.
func inside(t *testing.T, args ...string) result {
	t.Helper()
	return fed(t, "", args...)
}

// shared is inside, in the configuration folder that all tests share: for several commands of one identity.
func shared(t *testing.T, args ...string) result {
	t.Helper()
	cmd := curtsy(t, args...)
	cmd.Env = append(os.Environ(), asCurtsy+"=1")
	return ended(t, cmd)
}

// fed is inside, with something on standard input.
func fed(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	cmd := curtsy(t, args...)
	cmd.Stdin = strings.NewReader(stdin)
	return ended(t, cmd)
}

// judged fails the test unless the referee finds nothing.
func judged(t *testing.T, web *crawltest.Web, rules crawltest.Rules) crawltest.Report {
	t.Helper()
	report := web.Referee().Judge(rules)
	if !report.OK() {
		var b bytes.Buffer
		if err := report.WriteTable(&b); err != nil {
			t.Fatal(err)
		}
		t.Errorf("the referee:\n%s", b.String())
	}
	return report
}

func TestTwoHostsSideBySideKeep200msEach(t *testing.T) {
	t.Parallel()
	web := crawltest.New(crawltest.Tree("bakery.test", 12), crawltest.Tree("library.test", 12))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--delay", "200ms", "--dir", dir, "--quiet",
		web.LoopbackURL("bakery.test"), web.LoopbackURL("library.test")).want(t, cli.ExitDone)
	judged(t, web, crawltest.Rules{Pace: 200 * time.Millisecond})
	first, last := map[string]int{}, map[string]int{}
	for i, r := range web.Referee().Requests() {
		if _, ok := first[r.Host]; !ok {
			first[r.Host] = i
		}
		last[r.Host] = i
	}
	if len(first) != 2 || first["bakery.test"] > last["library.test"] || first["library.test"] > last["bakery.test"] {
		t.Errorf("the hosts were served one after the other: first %v, last %v", first, last)
	}
}

func TestStatusSumsToDiscovered(t *testing.T) {
	t.Parallel()
	web := crawltest.New(crawltest.Tree("bakery.test", 30))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--delay", "0", "--max-pages", "10", "--dir", dir, web.LoopbackURL("bakery.test")).
		want(t, cli.ExitDone, "--max-pages is reached", "curtsy resume --max-pages 0 "+dir)
	r := inside(t, "status", "--json", dir)
	var s status.Status
	if err := json.Unmarshal([]byte(r.out), &s); err != nil {
		t.Fatal(err)
	}
	sum := s.Fetched + s.Redirected + s.Gone + s.Failed + s.Disallowed + s.Dropped + s.Queued + s.InFlight + s.Deferred
	if s.State != "stopped" || s.Pages != 10 || sum != s.Discovered || s.Queued == 0 {
		t.Errorf("%+v", s)
	}
	inside(t, "resume", "--max-pages", "0", dir).want(t, cli.ExitDone, "everything in scope is done")
	judged(t, web, crawltest.Rules{})
}

func TestTheFirstInterruptDrainsWithExitCode130(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	web := crawltest.New(crawltest.Tree("bakery.test", 200))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		dir := filepath.Join(t.TempDir(), "d")
		cmd := curtsy(t, "crawl", "--dir", dir, web.LoopbackURL("bakery.test"))
		before := len(web.Referee().Requests())
		wait := begun(t, cmd)
		eventually(t, "two requests", func() bool { return len(web.Referee().Requests()) >= before+2 })
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		wait().want(t, code, "finishing requests in flight", "it was interrupted", "curtsy resume "+dir)
		if _, err := os.Stat(filepath.Join(dir, control.File)); err == nil {
			t.Error("the control file is still there")
		}
		reopened(t, dir)
	}
}
