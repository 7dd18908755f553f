package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/status"
	"curtsy/frontier/engine"
	"curtsy/frontier/ndjson"
)

// paced is a crawl that runs in a process of its own until the test ends, one exchange in 200 ms.
func paced(t *testing.T) (dir string, web *crawltest.Web, end func() result) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	web = crawltest.New(crawltest.Tree("bakery.test", 3000))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	dir = filepath.Join(t.TempDir(), "d")
	cmd := curtsy(t, "crawl", "--delay", "200ms", "--max-wait", "5h", "--dir", dir, web.LoopbackURL("bakery.test"))
	wait := begun(t, cmd)
	ended := false
	end = func() result {
		ended = true
		cmd.Process.Signal(syscall.SIGTERM)
		return wait()
	}
	t.Cleanup(func() {
		if !ended {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	eventually(t, "two requests, and an answer", func() bool {
		_, err := control.Ask(t.Context(), dir)
		return err == nil && len(web.Referee().Requests()) >= 3
	})
	return dir, web, end
}

func originOf(web *crawltest.Web) string {
	return strings.TrimSuffix(web.LoopbackURL("bakery.test"), "/")
}

// The same verbs, with the same words, change a stopped crawl and a running one.
func TestAnOperatorChangesAStoppedAndARunningCrawl(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{false, true} {
		dir, web := "", (*crawltest.Web)(nil)
		end := func() result { return result{} }
		if running {
			dir, web, end = paced(t)
		} else {
			dir, web = stopped(t)
		}
		host := originOf(web)
		for _, step := range []struct {
			args []string
			says string
		}{
			{[]string{"frontier", "pause", "--host", "127.0.0.1", "--for", "2h", "--reason", "by phone", dir}, host + ": paused for 2h0m0s\n"},
			{[]string{"frontier", "ls", "--state", "held", dir}, "  parked  "},
			{[]string{"frontier", "ls", dir}, "parked by operator: by phone"},
			{[]string{"status", dir}, host + " parked by operator: by phone; asked again in "},
			{[]string{"frontier", "unpause", "--host", host, dir}, host + ": open again\n"},
			{[]string{"frontier", "unpause", "--host", host, dir}, host + ": was open already\n"},
			{[]string{"frontier", "add", dir, host + "/new.html", host + "/new.html"}, "1 seed added, 0 known before"},
			{[]string{"frontier", "ls", "--urls", "--state", "queued", dir}, "queued      " + host + "/new.html\n"},
			{[]string{"frontier", "drop", dir, host + "/new.html", host + "/unknown"}, host + ": 1 URL of 2 dropped; the others are not pending, or not known\n"},
			{[]string{"frontier", "ls", "--urls", "--outcome", "dropped", dir}, "dropped     " + host + "/new.html  (operator)\n"},
			{[]string{"frontier", "retry", "--dropped", "--reason", "operator", dir}, "1 URL to be tried again"},
			{[]string{"frontier", "pause", "--host", "https://later.test", dir}, "https://later.test: paused until frontier unpause\n"},
			{[]string{"frontier", "repair", "--dry-run", dir}, "the frontier is in order\n"},
		} {
			r := inside(t, step.args...)
			r.want(t, cli.ExitDone)
			if !strings.Contains(r.out, step.says) {
				t.Errorf("running: %v, %v: %q, want %q", running, step.args, r.out, step.says)
			}
		}
		if left, err := filepath.Glob(filepath.Join(dir, control.SnapshotPrefix+"*")); err != nil || len(left) > 0 {
			t.Errorf("snapshots left behind: %v %v", left, err)
		}
		if running {
			inside(t, "frontier", "repair", dir).want(t, cli.ExitFailed, "is running: frontier repair needs it stopped", "curtsy resume "+dir)
			inside(t, "frontier", "pause", "--reason", "a storm", dir).want(t, cli.ExitDone)
			if r := inside(t, "status", dir); !strings.HasPrefix(r.out, "state        paused") {
				t.Errorf("%s", r.out)
			}
			if r := inside(t, "frontier", "unpause", dir); r.out != "the crawl continues\n" {
				t.Errorf("%+v", r)
			}
			inside(t, "frontier", "add", dir, "http://127.0.0.1:1/").want(t, cli.ExitUsage, "stop the crawl, add it, and go on with resume")
		}
		// No turn is out in a stopped frontier, or in the snapshot of a running one: that word could list nothing.
		inside(t, "frontier", "ls", "--state", "leased", dir).want(t, cli.ExitUsage, "pending, done")
		r := inside(t, "frontier", "drop", "--host", host, dir)
		r.want(t, cli.ExitDone)
		if !strings.HasPrefix(r.out, host+": dropped, with ") {
			t.Errorf("%q", r.out)
		}
		if running {
			// All of it was dropped: it may have finished, and be leaving as the signal comes.
			if r := end(); r.code != cli.ExitDone && r.code != 143 && !strings.Contains(r.err, "state        finished") {
				t.Errorf("%+v", r)
			}
		}
		reopened(t, dir)
	}
}

// exported is an export of a crawl, by its verb.
func exported(t *testing.T, dir string) []byte {
	t.Helper()
	r := inside(t, "frontier", "export", dir)
	r.want(t, cli.ExitDone, "the crawl's secret")
	return []byte(r.out)
}

func TestAnExportOfARunningCrawlIsWhole(t *testing.T) {
	t.Parallel()
	dir, _, end := paced(t)
	r := ndjson.NewReader(bytes.NewReader(exported(t, dir)))
	for {
		i, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if i.Totals != nil {
			break
		}
	}
	if n := r.Counts(); n.Hosts != 1 || n.URLs < 3 || n.Seeds != 1 {
		t.Errorf("%+v", n)
	}
	end().want(t, 143)
}

// A crawl moves by export and import, and goes on where it was.
func TestACrawlMovesByExportAndImport(t *testing.T) {
	t.Parallel()
	dir, web := stopped(t)
	file := filepath.Join(t.TempDir(), "e.ndjson")
	inside(t, "frontier", "export", "-o", file, dir).want(t, cli.ExitDone, "exported: 1 host")
	if fi, err := os.Stat(file); err != nil || fi.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("%v %v: others must not read it", fi, err)
	}
	inside(t, "frontier", "export", "-o", file, dir).want(t, cli.ExitUsage, "exists")
	inside(t, "frontier", "import", dir, file).want(t, cli.ExitUsage, "has a frontier, which import does not replace")
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Mkdir(moved, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{crawldir.ConfigName, crawldir.ArchiveName, crawldir.LedgerName} {
		if err := os.Rename(inDir(dir, name), inDir(moved, name)); err != nil {
			t.Fatal(err)
		}
	}
	r := inside(t, "frontier", "import", moved, file)
	r.want(t, cli.ExitDone, "curtsy resume")
	if !strings.HasPrefix(r.out, "imported: 1 host") {
		t.Errorf("%q", r.out)
	}
	inside(t, "resume", "--quiet", "--max-pages", "0", moved).want(t, cli.ExitDone)
	judged(t, web, crawltest.Rules{})
	for _, target := range []string{"/", "/p1.html", "/p4.html"} {
		if n := requested(web, target); n != 1 {
			t.Errorf("%s was asked for %d times", target, n)
		}
	}
	reopened(t, moved)
}

func TestOfADamagedExportNothingIsImportedUnlessPartIsWanted(t *testing.T) {
	t.Parallel()
	dir, _ := stopped(t)
	whole := exported(t, dir)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	url := 0
	for i, l := range lines {
		if bytes.HasPrefix(l, []byte(`{"url"`)) {
			url = i
		}
	}
	spoilt := bytes.Clone(whole)
	spoilt[len(bytes.Join(lines[:url], nil))+1] = '!'
	for what, b := range map[string][]byte{"spoilt": spoilt, "cut off": whole[:len(whole)-20], "cut at a line": bytes.Join(lines[:len(lines)-2], nil)} {
		file := filepath.Join(t.TempDir(), "e.ndjson")
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		into := filepath.Join(t.TempDir(), "d")
		r := inside(t, "frontier", "import", into, file)
		r.want(t, cli.ExitFailed, file+":", "Nothing was imported", "--partial")
		if what == "spoilt" && !strings.Contains(r.err, file+":"+itoa(url+1)+":") {
			t.Errorf("the damaged line is %d: %s", url+1, r.err)
		}
		if _, err := os.Stat(into); err == nil {
			t.Errorf("%s: a directory was made", what)
		}
		inside(t, "frontier", "import", "--partial", into, file).want(t, cli.ExitDone, file+":", "passed over", "of damage")
		reopened(t, into)
	}
}

// spoil overwrites a page of the frontier in dir that is in use.
func spoil(t *testing.T, dir string) {
	t.Helper()
	path := inDir(dir, crawldir.FrontierName)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	for at := 2 * page; at < len(b); at += page { // there are pages of which nothing is in use
		spoilt := slices.Concat(b[:at], bytes.Repeat([]byte{0xa5}, page), b[at+page:])
		if err := os.WriteFile(path, spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		if found, err := engine.Check(path); err != nil || len(found) > 0 {
			return
		}
	}
	t.Fatal("no page is in use")
}

func TestFrontierRepair_FindsDamageAndSavesTheRest(t *testing.T) {
	t.Parallel()
	dir, web := stopped(t)
	path := inDir(dir, crawldir.FrontierName)
	spoil(t, dir)
	r := inside(t, "frontier", "repair", "--dry-run", dir)
	r.want(t, cli.ExitFound, "The frontier is damaged", "curtsy frontier repair "+word(dir))
	if r.out == "" {
		t.Error("nothing is said of what is wrong")
	}
	inside(t, "resume", dir).want(t, cli.ExitFailed, "damaged", "curtsy frontier repair "+word(dir))
	r = inside(t, "frontier", "repair", dir)
	r.want(t, cli.ExitDone, "the earlier file is kept as "+path+".damaged-", "curtsy resume")
	inside(t, "frontier", "repair", "--dry-run", dir).want(t, cli.ExitDone)
	if kept, err := filepath.Glob(path + ".damaged-*"); err != nil || len(kept) != 1 {
		t.Errorf("%v %v", kept, err)
	}
	inside(t, "resume", "--quiet", "--max-pages", "0", dir)
	if requested(web, "/") > 2 {
		t.Errorf("/ was asked for %d times", requested(web, "/"))
	}
	reopened(t, dir)
}

func TestFrontierRepair_CompactsAndKeepsTheCrawl(t *testing.T) {
	t.Parallel()
	dir, _ := stopped(t)
	before := inside(t, "status", "--json", dir)
	r := inside(t, "frontier", "repair", "--forget", dir)
	r.want(t, cli.ExitDone)
	if !strings.Contains(r.out, " before, ") {
		t.Errorf("%q", r.out)
	}
	var a, b status.Status
	if err := errors.Join(json.Unmarshal([]byte(before.out), &a), json.Unmarshal([]byte(inside(t, "status", "--json", dir).out), &b)); err != nil {
		t.Fatal(err)
	}
	if a.Discovered != b.Discovered || a.Queued != b.Queued || a.Fetched != b.Fetched || a.Runs != b.Runs {
		t.Errorf("%+v, before %+v", b, a)
	}
	reopened(t, dir)
}

// A crawl that was killed leaves its control file. Whoever has its port now is not believed.
func TestAStaleControlFileIsRecognised(t *testing.T) {
	t.Parallel()
	dir, web := stopped(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := silent.Addr().String()
	silent.Close()
	other := strings.TrimPrefix(originOf(web), "http://") // a web server that knows nothing of us
	for _, at := range []string{address, other} {
		if err := os.WriteFile(inDir(dir, control.File), []byte(`{"address":"`+at+`","token":"x"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		r := inside(t, "status", dir)
		r.want(t, cli.ExitDone)
		if !strings.HasPrefix(r.out, "state        stopped") {
			t.Errorf("%s", r.out)
		}
		inside(t, "frontier", "pause", "--host", "127.0.0.1", dir).want(t, cli.ExitDone)
		inside(t, "frontier", "repair", "--dry-run", dir).want(t, cli.ExitDone)
	}
}

// Making the directory, and an operator's commands, open the frontier, and are no runs.
func TestRunsAreThoseInWhichTurnsWereTaken(t *testing.T) {
	t.Parallel()
	dir, _ := stopped(t)
	inside(t, "frontier", "pause", "--host", "127.0.0.1", dir).want(t, cli.ExitDone)
	inside(t, "frontier", "unpause", "--host", "127.0.0.1", dir).want(t, cli.ExitDone)
	for n := 1; n <= 2; n++ {
		var s status.Status
		if err := json.Unmarshal([]byte(inside(t, "status", "--json", dir).out), &s); err != nil {
			t.Fatal(err)
		}
		if s.Runs != int64(n) || s.Began == nil || s.Last == nil || len(s.Longest) != 2-n {
			t.Errorf("after %d runs: %+v", n, s)
		}
		inside(t, "resume", "--quiet", "--max-pages", "0", dir).want(t, cli.ExitDone)
	}
}

func TestWrongWordsForFrontierAreExplained(t *testing.T) {
	t.Parallel()
	dir, _ := stopped(t)
	for _, tt := range []struct{ args, says string }{
		{"drop DIR", "give --host HOST, or URLs"},
		{"drop --host a.test DIR http://b.test/", "not both"},
		{"drop DIR www.a.test", "URL \"www.a.test\" has no scheme"},
		{"pause --host nowhere.test DIR", "write --host https://nowhere.test"},
		{"pause --host a..b DIR", "--host a..b"},
		{"unpause --host nowhere.test DIR", "has no URL of that host"},
		{"pause --for 2 --host a.test DIR", `"2" has no unit`},
		{"ls --state sleepy DIR", "open, parked, retired, refused, held"},
		{"ls --outcome failed DIR", "give --urls"},
		{"ls --urls --state parked DIR", "pending, queued, deferred, closed"},
		{"add DIR", "no seed"},
		{"add DIR ftp://a.test/", "only http and https"},
		{"import DIR", "import does not take 1 argument: write"},
		{"export", "export takes one crawl directory"},
	} {
		args := strings.Fields("frontier " + tt.args)
		for i := range args {
			if args[i] == "DIR" {
				args[i] = dir
			}
		}
		inside(t, args...).want(t, cli.ExitUsage, tt.says)
	}
}
