package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/storage/plainly"
)

// small serves a site of three pages on a loopback port.
func small(t *testing.T) (seed string, web *crawltest.Web) {
	t.Helper()
	web = crawltest.New(crawltest.Tree("bakery.test", 3))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	return web.LoopbackURL("bakery.test"), web
}

func TestACrawlIntoAUsedDirectoryNamesResume(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	dir := filepath.Join(t.TempDir(), "d")
	ended(t, curtsy(t, "crawl", "--delay", "0", "--dir", dir, seed)).want(t, cli.ExitDone, "everything in scope is done", "archive", "ledger")
	ended(t, curtsy(t, "crawl", "--delay", "0", "--dir", dir, seed)).want(t, cli.ExitUsage, "holds a crawl already", "curtsy resume "+dir)
	ended(t, curtsy(t, "resume", dir)).want(t, cli.ExitDone, "finished")
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "letter.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ended(t, curtsy(t, "crawl", "--dir", other, seed)).want(t, cli.ExitUsage, "is not empty")
}

func TestADirectoryInUseByAnotherProcessIsRefused(t *testing.T) {
	t.Parallel()
	web := crawltest.New(crawltest.Tree("bakery.test", 500))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	running := curtsy(t, "crawl", "--dir", dir, "--quiet", web.LoopbackURL("bakery.test"))
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	defer running.Wait()
	defer running.Process.Kill()
	eventually(t, "it runs", func() bool {
		r := ended(t, curtsy(t, "status", dir))
		return r.code == 0 && strings.Contains(r.out, "running")
	})
	ended(t, curtsy(t, "resume", dir)).want(t, cli.ExitFailed, "is running", "curtsy status "+dir)
	r := ended(t, curtsy(t, "status", "--json", dir))
	if r.code != 0 || !strings.Contains(r.out, `"state": "running"`) {
		t.Errorf("status of the running crawl: %+v", r)
	}
}

func TestAClosedPortEndsIncompleteAtOnce(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seed := "http://" + l.Addr().String() + "/"
	l.Close()
	dir := filepath.Join(t.TempDir(), "d")
	ended(t, curtsy(t, "crawl", "--dir", dir, seed)).want(t, cli.ExitIncomplete, plainly.Reason("connect"), "no host was reached")
}

func TestAHostThatDoesNotExistEndsIncomplete(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	r := ended(t, curtsy(t, "crawl", "--contact", "mailto:crawl@library.org", "--dir", dir, "http://no-such-host.invalid/"))
	r.want(t, cli.ExitIncomplete, "no-such-host.invalid", "robots.txt: ") // dns or nxdomain, as the machine has it
}

// mounted mounts a tiny tmpfs, as root on Linux only: a mode bit proves nothing to root.
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
	if n := len(web.Referee().Requests()); n > 0 {
		t.Errorf("%d requests before the directory was there", n)
	}
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
	web := crawltest.New(site)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	mount := mounted(t, "size=4m")
	dir := filepath.Join(mount, "d")
	ended(t, curtsy(t, "crawl", "--delay", "0", "--dir", dir, web.LoopbackURL("bakery.test"))).want(t, cli.ExitFailed, "no space left on device", "curtsy resume")
	if out, err := exec.Command("mount", "-o", "remount,size=64m", mount).CombinedOutput(); err != nil {
		t.Skipf("the tmpfs does not grow here: %v: %s", err, out)
	}
	ended(t, curtsy(t, "resume", dir)).want(t, cli.ExitDone, "everything in scope is done")
	reopened(t, dir)
}
