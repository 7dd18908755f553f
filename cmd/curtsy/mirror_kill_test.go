package main

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/storage/mirror"
)

// Killed at random instants, and while the tree is built, a mirror is whole or not there yet; going on completes it, and
// what is built again from the archive is the same.
func TestAKilledMirrorIsWhole(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("many processes")
	}
	kills, pages := 10, 600
	if full() {
		kills, pages = 50, 2000
	}
	site := crawltest.Tree("bakery.test", pages)
	web := crawltest.New(site)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	rebuild := []string{"mirror", "rebuild", "--quiet", "--overwrite", dir}
	args := []string{"mirror", "--quiet", "--contact", "crawl@library.org", "--delay", "0", "--dir", dir, web.LoopbackURL("bakery.test")}
	inBuild, whole, done := 0, 0, 0
	for tries := 0; done < kills && tries < 10*kills; tries++ {
		building := done%2 == 1
		if !killed(t, args, web, dir, building, rng) {
			if args[0] == "resume" { // and all is fetched: a resumed crawl would end before any kill from now on
				args = rebuild
			}
			continue // it was quicker
		}
		if _, err := os.Stat(dir); err != nil {
			continue // killed before there was a directory
		}
		if done++; done == kills/2 { // from now on there is a tree to be spoilt
			ended(t, curtsy(t, "resume", "--quiet", dir)).want(t, cli.ExitDone)
			args = rebuild
		}
		if _, err := os.Stat(filepath.Join(dir, "mirror.new")); err == nil {
			inBuild++
		}
		if intact(t, dir) {
			whole++
		}
		if args[1] != "rebuild" {
			args = []string{"resume", "--quiet", dir}
		}
	}
	if done < kills || inBuild == 0 || whole == 0 {
		t.Errorf("%d kills, %d of them while the tree was built, %d with a tree", done, inBuild, whole)
	}
	t.Logf("%d kills, %d while the tree was built, %d with a tree", done, inBuild, whole)
	ended(t, curtsy(t, "resume", "--quiet", dir)).want(t, cli.ExitDone)
	if !intact(t, dir) {
		t.Error("no mirror in the end")
	}
	if left, err := filepath.Glob(filepath.Join(dir, "mirror.*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q %v", left, err)
	}
	n := 0
	for e, err := range mirror.Map(mirror.Tree(dir)) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(e.Type, "text/html") {
			n++
		}
	}
	if n != pages {
		t.Errorf("%d pages, want %d", n, pages)
	}
	to := t.TempDir()
	inside(t, "mirror", "rebuild", "--quiet", "-o", to, dir).want(t, cli.ExitDone)
	sameTree(t, mirror.Tree(to), mirror.Tree(dir))
}

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
	wait().want(t, cli.ExitSignalled+2, "making the mirror", "curtsy resume "+dir, "curtsy mirror serve "+dir)
	if !intact(t, dir) {
		t.Error("no mirror")
	}
	inside(t, "resume", "--quiet", "--max-pages", "30", dir).want(t, cli.ExitDone)
	if !intact(t, dir) {
		t.Error("no mirror of what a budget ended")
	}
	inside(t, "resume", "--max-pages", "0", dir).want(t, cli.ExitDone, "URLs                60,")
	judged(t, web, crawltest.Rules{})
}

// killed runs a command and kills it at a random instant: when some of a tree is built, if that is asked for, else after
// some requests, or at once. It reports whether the command was still running.
func killed(t *testing.T, args []string, web *crawltest.Web, dir string, building bool, rng *rand.Rand) bool {
	t.Helper()
	asked, more, files := len(web.Referee().Requests()), rng.IntN(60), rng.IntN(30)
	p := launched(t, curtsy(t, args...))
	switch {
	case building:
		p.until(t, "some of a tree", func() bool {
			made := 0
			_ = filepath.WalkDir(filepath.Join(dir, "mirror.new"), func(string, fs.DirEntry, error) error { // it comes and goes
				made++
				return nil
			})
			return made > 1 && made >= files
		})
	case args[1] != "rebuild":
		p.until(t, "some requests", func() bool { return len(web.Referee().Requests()) >= asked+more })
	default: // which asks nobody
		p.until(t, "a while", func() bool { files--; return files < 0 })
	}
	return p.kill()
}

// intact checks the mirror as it is after a kill, and reports whether there is one.
func intact(t *testing.T, dir string) bool {
	t.Helper()
	tree := mirror.Tree(dir)
	if _, err := os.Stat(tree); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	inside(t, "mirror", "check", "--wrong", dir).want(t, cli.ExitDone, "of these 0 should")
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
