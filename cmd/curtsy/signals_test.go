package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/control"
	"curtsy/crawler/crawltest"
)

func leftClean(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, control.File)); err == nil {
		t.Error("the control file is still there")
	}
	reopened(t, dir)
}

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
	for _, answer := range []string{"finishing requests", "aborting"} { // two simultaneous signals are one
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		p.until(t, answer, func() bool { return strings.Contains(p.errs.String(), answer) })
	}
	p.end().want(t, 130, "finishing requests in flight", "aborting", "it was interrupted", "curtsy resume "+dir)
	leftClean(t, dir)
	// The archive has the aborted request.
	r := inside(t, "audit", dir)
	if r.want(t, cli.ExitDone); !strings.HasPrefix(r.out, "No violation in 2 requests to 1 host\n") {
		t.Error(r.out)
	}
}

// A closed standard error, as in curtsy crawl … 2>&1 | head, is an interrupt.
func TestCrawl_DrainsOnClosedOutput(t *testing.T) {
	t.Parallel()
	needsSignals(t)
	web := webOf(t, crawltest.Tree("bakery.test", 10_000))
	dir := filepath.Join(t.TempDir(), "d")
	cmd := curtsy(t, "crawl", "-v", "--delay", "20ms", "--dir", dir, web.LoopbackURL("bakery.test"))
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stderr = w
	require.NoError(t, cmd.Start())
	w.Close()
	eventually(t, "two requests", func() bool { return len(web.Referee().Requests()) >= 2 })
	r.Close()
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != -1 && code != 141 { // -1: by the signal
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
	leftClean(t, dir)
}

// Each signal ends a crawl with its exit code.
func TestAnInterruptDrains(t *testing.T) {
	t.Parallel()
	needsSignals(t)
	web := webOf(t, crawltest.Tree("bakery.test", 10_000))
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		if signal.Ignored(sig) {
			continue // these tests run under nohup, and so would the crawl
		}
		dir, before := filepath.Join(t.TempDir(), "d"), len(web.Referee().Requests())
		cmd := curtsy(t, "crawl", "--delay", "20ms", "--dir", dir, web.LoopbackURL("bakery.test"))
		p := launched(t, cmd)
		eventually(t, "two requests", func() bool { return len(web.Referee().Requests()) >= before+2 })
		require.NoError(t, cmd.Process.Signal(sig))
		p.end().want(t, code, "finishing requests in flight", "it was interrupted", "curtsy resume "+dir)
		leftClean(t, dir)
	}
}

func TestAnInterruptedCommandLeavesNothingHalfMade(t *testing.T) {
	t.Parallel()
	needsSignals(t)
	exported := inside(t, "frontier", "export", unanswered(t))
	exported.want(t, cli.ExitDone, "the crawl's secret")
	for name, c := range map[string]struct {
		args  []string // with standard input as the last
		begin string   // of what it reads
	}{
		"crawl":  {[]string{"crawl", "--dir", "new", "--seeds", "-"}, "garbage\nhttp://127.0.0.1:1/\n"},
		"import": {[]string{"frontier", "import", "new", "-"}, exported.out[:200]},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := curtsy(t, c.args...)
			cmd.Dir = dir
			cmd.Env = append(cmd.Env, "TMPDIR="+dir)
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			p := launched(t, cmd)
			if _, err := io.WriteString(in, c.begin); err != nil {
				t.Fatal(err)
			}
			eventually(t, "something is made", func() bool {
				entries, err := os.ReadDir(dir)
				return err == nil && len(entries) > 0
			})
			require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
			p.end().want(t, 130)
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// unanswered crawls a seed that never responds.
func unanswered(t *testing.T) string {
	t.Helper()
	mute := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(mute.Close)
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--dir", dir, "--max-wait", "1ms", mute.URL+"/").want(t, cli.ExitIncomplete)
	return dir
}

// A closed standard output, as in curtsy frontier ls … | head, also removes the snapshot.
func TestList_ClosedOutputLeavesNoSnapshot(t *testing.T) {
	t.Parallel()
	dir, _, end := paced(t)
	for _, verb := range []string{"ls", "export"} {
		cmd := curtsy(t, "frontier", verb, dir)
		r, w, err := os.Pipe()
		require.NoError(t, err)
		r.Close()
		cmd.Stdout = w
		var output strings.Builder
		cmd.Stderr = &output
		err = cmd.Run()
		w.Close()
		if code := cmd.ProcessState.ExitCode(); code != 141 || output.Len() > 0 {
			t.Errorf("%s: %v, %q", verb, err, output.String())
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, control.SnapshotPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	end().want(t, 143)
}

func small(t *testing.T) (seed string, web *crawltest.Web) {
	t.Helper()
	web = webOf(t, crawltest.Tree("bakery.test", 3))
	return web.LoopbackURL("bakery.test"), web
}

// mounted mounts a tiny tmpfs, as root on Linux only: mode bits do not stop root.
func mounted(t *testing.T, options string) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("mounting needs root on Linux")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no tmpfs can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", "-l", dir).Run() })
	return dir
}

func TestAReadOnlyMountIsNamed(t *testing.T) {
	t.Parallel()
	seed, web := small(t)
	dir := mounted(t, "ro,size=1m")
	ended(t, curtsy(t, "crawl", "--dir", filepath.Join(dir, "d"), seed)).want(t, cli.ExitFailed, "read-only file system")
	assert.LessOrEqual(t, len(web.Referee().Requests()), 0, "requests before the directory was there")
}

func TestAFullDiskStopsCleanlyAndResumesWithRoom(t *testing.T) {
	t.Parallel()
	site := crawltest.Tree("bakery.test", 40)
	for target, p := range site.Pages {
		p.Embeds = append(p.Embeds, target+"big.png")
		site.Pages[target] = p
	}
	for i := range 40 {
		target := "/"
		if i > 0 {
			target = "/p" + itoa(i) + ".html"
		}
		site.Pages[target+"big.png"] = crawltest.Page{Body: noise(uint64(i), 200<<10), Type: "image/png"}
	}
	web := webOf(t, site)
	mount := mounted(t, "size=4m")
	dir := filepath.Join(mount, "d")
	ended(t, curtsy(t, "crawl", "--delay", "0", "--dir", dir, web.LoopbackURL("bakery.test"))).want(t, cli.ExitFailed, "no space left on device", "curtsy resume")
	if out, err := exec.Command("mount", "-o", "remount,size=64m", mount).CombinedOutput(); err != nil {
		t.Skipf("the tmpfs does not grow here: %v: %s", err, out)
	}
	ended(t, curtsy(t, "resume", dir)).want(t, cli.ExitDone, "everything in scope is done")
	reopened(t, dir)
}
