package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
)

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
