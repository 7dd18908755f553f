package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/storage/mirror"
)

// Interrupted, or ended by a budget, a run leaves a whole mirror of what it has; going on completes it.
func TestAnInterruptedMirrorIsWhole(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	site := crawltest.Tree("bakery.test", 60)
	site.Latency = 20 * time.Millisecond
	web := crawltest.New(site)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	cmd := curtsy(t, "mirror", "--contact", "crawl@library.org", "--delay", "0", "--dir", dir, web.LoopbackURL("bakery.test"))
	wait := begun(t, cmd)
	eventually(t, "ten requests", func() bool { return len(web.Referee().Requests()) >= 10 })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	wait().want(t, cli.ExitSignalled+2, "building the mirror", "curtsy resume "+dir, "curtsy mirror serve "+dir)
	if !intact(t, dir) {
		t.Error("no mirror")
	}
	inside(t, "resume", "--quiet", "--max-pages", "30", dir).want(t, cli.ExitDone)
	if !intact(t, dir) {
		t.Error("no mirror of what a budget ended")
	}
	inside(t, "resume", "--max-pages", "0", dir).want(t, cli.ExitDone, " for 60 URLs and ")
	judged(t, web, crawltest.Rules{})
}

// intact checks the mirror as it is after a kill, and reports whether there is one.
func intact(t *testing.T, dir string) bool {
	t.Helper()
	tree := mirror.Tree(dir)
	if _, err := os.Stat(tree); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	inside(t, "mirror", "check", "--wrong", dir).want(t, cli.ExitDone, "nothing wrong")
	for e, err := range mirror.Map(tree) {
		if err != nil {
			t.Fatal(err)
		}
		fi, err := os.Lstat(filepath.Join(tree, filepath.FromSlash(e.File)))
		if err != nil || e.Size > 0 && fi.Size() != e.Size {
			t.Errorf("%s is not whole: %v", e.File, err)
		}
	}
	return true
}
