package main

import (
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/control"
	"curtsy/crawler/crawltest"
)

// leftClean checks that an ended crawl says how to go on and can be opened.
func leftClean(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, control.File)); err == nil {
		t.Error("the control file is still there")
	}
	reopened(t, dir)
}

// A drain waits for the answer under way; a second interrupt does not.
func TestTheSecondInterruptAborts(t *testing.T) {
	t.Parallel()
	needsSignals(t)
	asked, release := make(chan struct{}, 1), make(chan struct{})
	web := webOf(t, &crawltest.Site{Name: "bakery.test", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			asked <- struct{}{}
			<-release
		}
	})})
	defer close(release)
	dir := filepath.Join(t.TempDir(), "d")
	cmd := curtsy(t, "crawl", "--delay", "0", "--dir", dir, web.LoopbackURL("bakery.test"))
	p := launched(t, cmd)
	<-asked
	for _, answer := range []string{"finishing requests", "aborting"} { // two signals at one instant are one
		must(t, cmd.Process.Signal(syscall.SIGINT))
		p.until(t, answer, func() bool { return strings.Contains(p.errs.String(), answer) })
	}
	p.end().want(t, 130, "finishing requests in flight", "aborting", "it was interrupted", "curtsy resume "+dir)
	leftClean(t, dir)
	// What was asked for is in the archive, though nothing came of it.
	r := inside(t, "audit", dir)
	if r.want(t, cli.ExitDone); !strings.HasPrefix(r.out, "No violation in 2 requests to 1 host\n") {
		t.Error(r.out)
	}
}

// Whoever read standard error has gone, as in curtsy crawl … 2>&1 | head: that is an interrupt, not a kill.
func TestACrawlThatNobodyListensToDrains(t *testing.T) {
	t.Parallel()
	needsSignals(t)
	web := webOf(t, crawltest.Tree("bakery.test", 500))
	dir := filepath.Join(t.TempDir(), "d")
	cmd := curtsy(t, "crawl", "-v", "--delay", "20ms", "--dir", dir, web.LoopbackURL("bakery.test"))
	r, w, err := os.Pipe()
	must(t, err)
	cmd.Stderr = w
	must(t, cmd.Start())
	w.Close()
	eventually(t, "two requests", func() bool { return len(web.Referee().Requests()) >= 2 })
	r.Close()
	cmd.Wait()
	if s, ok := cmd.ProcessState.Sys().(interface {
		Signaled() bool
		ExitStatus() int
	}); !ok || !s.Signaled() && s.ExitStatus() != 141 {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
	leftClean(t, dir)
}

// An interrupt ends a crawl with its own exit code; a terminal that is closed is one, too.
func TestAnInterruptDrains(t *testing.T) {
	t.Parallel()
	needsSignals(t)
	web := webOf(t, crawltest.Tree("bakery.test", 500))
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		if signal.Ignored(sig) {
			continue // these tests run under nohup, and so would the crawl
		}
		dir, before := filepath.Join(t.TempDir(), "d"), len(web.Referee().Requests())
		cmd := curtsy(t, "crawl", "--delay", "20ms", "--dir", dir, web.LoopbackURL("bakery.test"))
		wait := begun(t, cmd)
		eventually(t, "two requests", func() bool { return len(web.Referee().Requests()) >= before+2 })
		must(t, cmd.Process.Signal(sig))
		wait().want(t, code, "finishing requests in flight", "it was interrupted", "curtsy resume "+dir)
		leftClean(t, dir)
	}
}
