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

func TestWrongUsageIsExplainedWithExitCode2(t *testing.T) {
	t.Parallel()
	file := write(t, "workers = 3\nmax-pagse = 4\n")
	seeds := write(t, "garbage\nftp://files.library.org/\n\n# nothing else\n")
	for _, tt := range []struct {
		name string
		args string
		says []string
	}{
		{"no seed", "crawl", []string{"no seed", "--seeds FILE"}},
		{"ftp seed", "crawl ftp://library.org/", []string{`scheme "ftp" is not crawled`}},
		{"seed without host", "crawl http:///path", []string{"has no host", "https://host/path"}},
		{"seed without scheme", "crawl www.library.org", []string{"did you mean https://www.library.org?"}},
		{"missing contact", "crawl https://www.library.org/", []string{"contact", "curtsy identity set --contact"}},
		{"reserved contact", "crawl --contact mailto:me@example.com https://www.library.org/", []string{"example.com", "curtsy identity set --contact"}},
		{"contact that is none", "crawl --contact nobody http://127.0.0.1:9/", []string{"nobody"}},
		{"agent of a browser", "crawl --agent Mozilla http://127.0.0.1:9/", []string{"Mozilla"}},
		{"unknown flag", "crawl --dely 3s http://127.0.0.1:9/", []string{"unknown flag: --dely", "did you mean --delay?"}},
		{"unknown command", "crwal", []string{"unknown command"}},
		{"unknown key in the file", "crawl --config " + file + " http://127.0.0.1:9/", []string{`c.toml:2:1: unknown key "max-pagse"; did you mean "max-pages"?`}},
		{"missing file of settings", "crawl --config none.toml http://127.0.0.1:9/", []string{"none.toml"}},
		{"duration without unit", "crawl --delay 5 http://127.0.0.1:9/", []string{`"5" has no unit`}},
		{"no number", "crawl --workers x http://127.0.0.1:9/", []string{`--workers: "x" is no whole number`}},
		{"no workers", "crawl --workers 0 http://127.0.0.1:9/", []string{`--workers: "0" is less than 1`}},
		{"negative budget", "crawl --max-pages=-3 http://127.0.0.1:9/", []string{`--max-pages: "-3" is less than 0`}},
		{"number too large", "crawl --max-per-host 99999999999999999999 http://127.0.0.1:9/", []string{"is too large"}},
		{"depth below no limit", "crawl --depth -2 http://127.0.0.1:9/", []string{`--depth: "-2" is less than -1`}},
		{"negative duration", "crawl --max-wait -3s http://127.0.0.1:9/", []string{`--max-wait: "-3s" is negative`}},
		{"no body at all", "crawl --max-body 0 http://127.0.0.1:9/", []string{"--max-body 0"}},
		{"field value with a control character", "crawl --accept-language a\x01b http://127.0.0.1:9/", []string{"accept-language"}},
		{"no certificate", "crawl --ca-file " + seeds + " http://127.0.0.1:9/", []string{"--ca-file", "holds no certificate"}},
		{"bad trap", "crawl --trap cycle http://127.0.0.1:9/", []string{"write RULE=N or RULE=off"}},
		{"seeds from a directory", "crawl --seeds .", []string{"seeds: ", "folder"}},
		{"status of two", "status a b", []string{"status takes one crawl directory, not 2"}},
		{"version of something", "version x", []string{`version takes no "x"`}},
		{"command that has another name now", "serve news", []string{`unknown command "serve"`, "did you mean curtsy mirror serve?"}},
		{"flag that has another name now", "crawl --requisites all http://127.0.0.1:9/", []string{"did you mean --page-requisites?"}},
		{"unknown command of a group", "identity st", []string{`unknown command "st"`, "did you mean set?"}},
		{"unknown shorthand", "crawl -z http://127.0.0.1:9/", []string{"'z'", "curtsy crawl --help"}},
		{"size without unit", "crawl --max-body 100 http://127.0.0.1:9/", []string{`"100" has no unit`}},
		{"bad pattern", "crawl --exclude ( http://127.0.0.1:9/", []string{"("}},
		{"sample without a percentage", "crawl --sample 1 http://127.0.0.1:9/", []string{`--sample "1": write a percentage, as 1% or 0.25%`}},
		{"sample of something else", "crawl --sample urls:1% http://127.0.0.1:9/", []string{"hosts:1% or pages:1%"}},
		{"sampled seeds without a sample", "crawl --sample-seeds http://127.0.0.1:9/", []string{"give --sample as well"}},
		{"condition with a wrong sign", "crawl --stop-when errors<5% http://127.0.0.1:9/", []string{`--stop-when "errors<5%": errors goes with >, not with <`}},
		{"unknown condition", "crawl --stop-when hosts=5 http://127.0.0.1:9/", []string{`there is no measure "hosts"`, "pages=N, tag:NAME pages=N"}},
		{"negative budget of a tag", "crawl --max-per-tag -1 http://127.0.0.1:9/", []string{`--max-per-tag: "-1" is less than 0`}},
		{"bad scope", "crawl --scope hots http://127.0.0.1:9/", []string{"hots"}},
		{"scope any without an end", "crawl --scope any --contact mailto:crawl@library.org http://127.0.0.1:9/", []string{"--max-pages or --max-time"}},
		{"bad network", "crawl --allow-net 10.0.0.0 http://127.0.0.1:9/", []string{"--allow-net", "10.1.0.0/16"}},
		{"bad own site", "crawl --own-site 10.0.0.1 http://127.0.0.1:9/", []string{"loopback or none"}},
		{"own site with a path", "crawl --own-site library.org/a http://127.0.0.1:9/", []string{"the name of a host"}},
		{"own site without a key", "crawl --own-site library.org http://127.0.0.1:9/", []string{"curtsy identity own library.org makes it"}},
		{"own site none and more", "crawl --own-site none,loopback http://127.0.0.1:9/", []string{"none stands alone"}},
		{"identity own without a host", "identity own", []string{"takes one host"}},
		{"identity own of an address", "identity own 10.0.0.1", []string{"public name"}},
		{"seed file of garbage", "crawl --seeds " + seeds, []string{":1:", ":2:", "no usable seed"}},
		{"missing seed file", "crawl --seeds none.txt", []string{"none.txt"}},
		{"resume of nothing", "resume nowhere", []string{"holds no crawl"}},
		{"status of nothing", "status nowhere", []string{"holds no crawl"}},
		{"resume without a directory", "resume", []string{"resume takes one crawl directory, not 0", "curtsy resume [flags] DIR"}},
		{"identity with nothing to set", "identity set", []string{"--contact"}},
		{"identity with a reserved contact", "identity set --contact mailto:a@example.org", []string{"example.org"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := curtsy(t, strings.Fields(tt.args)...)
			cmd.Dir = t.TempDir()
			r := ended(t, cmd)
			r.want(t, cli.ExitUsage, tt.says...)
			if r.out != "" {
				t.Errorf("standard output: %q", r.out)
			}
			if left, err := os.ReadDir(cmd.Dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

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
