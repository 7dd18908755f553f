package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage/ledger"
)

// atHome runs a command line in this process, with the configuration folder that the test has.
func atHome(t *testing.T, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	return result{out.String(), errs.String(), code}
}

// site is host and port of a URL.
func site(url string) string { return strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/") }

// two serves two hosts of three pages.
func two(t *testing.T) (bakery, library string, web *crawltest.Web) {
	t.Helper()
	web = crawltest.New(crawltest.Tree("bakery.test", 3), crawltest.Tree("library.test", 3))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	return web.LoopbackURL("bakery.test"), web.LoopbackURL("library.test"), web
}

// requests counts those of a host.
func requests(web *crawltest.Web, host string) (n int) {
	for _, r := range web.Referee().Requests() {
		if r.Host == host {
			n++
		}
	}
	return n
}

// wantOptOut checks that a crawl asked nothing of one host and everything of the other, and that summary, ledger and
// archive name the entry and its list.
func wantOptOut(t *testing.T, r result, dir, seed string, web *crawltest.Web, entry string, line int) {
	t.Helper()
	if n, m := requests(web, "bakery.test"), requests(web, "library.test"); n != 0 || m != 4 {
		t.Errorf("%d and %d requests", n, m)
	}
	var s crawler.Summary
	if err := json.Unmarshal([]byte(r.out), &s); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	if s.Manners.OptedOut != 1 || len(s.Manners.OptOut) != 1 {
		t.Fatalf("%+v", s.Manners)
	}
	list := s.Manners.OptOut[0]
	found := false
	for l, err := range ledger.Read(inDir(dir, crawldir.LedgerName)) {
		if err != nil {
			t.Fatal(err)
		}
		if l.URL == seed {
			found = l.Reason == "opt-out" && l.RobotsLine == line && l.RobotsRule == entry && l.List == list.SHA256
		}
	}
	if !found {
		t.Error("the ledger does not name the entry")
	}
	if text := archiveText(t, dir); !strings.Contains(text, "opt-out-list: "+list.File+" sha256:"+list.SHA256) {
		t.Error("the archive does not name the list")
	}
	r.want(t, cli.ExitIncomplete, "opt-out  "+list.File, "1 opt-out")
}

func TestRule16_AListThatAFlagNamesBindsWhereverResumeIsCalled(t *testing.T) {
	home(t, "")
	bakery, library, web := two(t)
	dir := filepath.Join(t.TempDir(), "d")
	t.Chdir(t.TempDir())
	if err := os.WriteFile("list.txt", []byte("# those\n"+site(bakery)+" # by mail\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	atHome(t, "crawl", "--quiet", "--opt-out", "list.txt", "--max-bytes", "1B", "--dir", dir, bakery, library)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	r := atHome(t, "resume", "--json", "--delay", "0", "--max-bytes", "0", dir)
	wantOptOut(t, r, dir, bakery, web, site(bakery)+" # by mail", 2)

	if err := os.Remove(filepath.Join(here, "list.txt")); err != nil {
		t.Fatal(err)
	}
	atHome(t, "resume", dir).want(t, cli.ExitUsage, "list.txt") // gone between two runs, it binds no less: it is asked for
}

func TestRule16_TheUsersListBindsEveryCrawl(t *testing.T) {
	home(t, "")
	bakery, library, web := two(t)
	dir := filepath.Join(t.TempDir(), "d")
	atHome(t, "optout", "add", "--user", "--reason", "by mail", "x.test", site(bakery)).want(t, cli.ExitDone, "2 entries added")
	atHome(t, "optout", "add", "--user", site(bakery)).want(t, cli.ExitDone, "0 entries added", "1 already listed")
	r := atHome(t, "crawl", "--json", "--delay", "0", "--dir", dir, bakery, library)
	wantOptOut(t, r, dir, bakery, web, site(bakery)+" # by mail", 2)

	atHome(t, "optout", "add", dir, ".y.test").want(t, cli.ExitDone, "1 entry added to "+dir)
	path, err := crawldir.UserOptOut()
	if err != nil {
		t.Fatal(err)
	}
	list := atHome(t, "optout", "list", dir)
	for _, want := range []string{"x.test", "by mail", path + ":1", ".y.test", inDir(dir, crawldir.OptOutName) + ":1"} {
		if !strings.Contains(list.out, want) {
			t.Errorf("the list lacks %q:\n%s", want, list.out)
		}
	}
	if own := atHome(t, "optout", "list", "--user", "--json"); strings.Count(own.out, "\n") != 2 || !strings.Contains(own.out, `{"entry":"x.test","reason":"by mail","file":`) {
		t.Errorf("%s", own.out)
	}
	if r := atHome(t, "robots", "check", bakery); r.code != cli.ExitFailed || !strings.Contains(r.err, "opt-out") || requests(web, "bakery.test") != 0 {
		t.Errorf("%+v", r)
	}
}

// An entry that another process adds is obeyed by a crawl that runs.
func TestRule16_OptOutAddReachesARunningCrawl(t *testing.T) {
	t.Parallel()
	web := crawltest.New(crawltest.Tree("bakery.test", 3000))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	seed := web.LoopbackURL("bakery.test")
	wait := begun(t, curtsy(t, "crawl", "--delay", "50ms", "--dir", dir, seed))
	eventually(t, "five requests", func() bool { return requests(web, "bakery.test") >= 5 })
	ended(t, curtsy(t, "optout", "add", dir, site(seed))).want(t, cli.ExitDone, "1 entry added")
	if r := ended(t, curtsy(t, "optout", "list", dir)); r.code != cli.ExitDone || !strings.HasPrefix(r.out, site(seed)) {
		t.Errorf("%+v", r)
	}
	wait().want(t, cli.ExitDone, "has changed: 1 entry is in force", "opt-out")
	if n := requests(web, "bakery.test"); n < 5 || n > 3000 { // all pages and robots.txt would be 3001
		t.Errorf("%d requests", n)
	}
	judged(t, web, crawltest.Rules{Partial: true})
}

func TestRule16_WrongListsAndEntriesAreNamedBeforeAnythingIsMade(t *testing.T) {
	home(t, "")
	seed, web := small(t)
	bad := write(t, "a.test\nno good\n")
	dir := filepath.Join(t.TempDir(), "d")
	for _, tt := range []struct {
		args string
		says string
	}{
		{"--opt-out " + bad, bad + ":2: "},
		{"--opt-out " + bad + ".none", "there is no "},
		{"--follow-rel follow", "nofollow, ugc, sponsored"},
	} {
		r := atHome(t, append([]string{"crawl", "--dir", dir, seed}, strings.Fields(tt.args)...)...)
		r.want(t, cli.ExitUsage, tt.says)
	}
	if _, err := os.Stat(dir); err == nil || requests(web, "bakery.test") > 0 {
		t.Errorf("something was made or asked for: %v", err)
	}
	for args, says := range map[string]string{
		"optout add":               "takes a crawl directory",
		"optout add --user":        "nothing to add",
		"optout add --user *.test": "write .test",
		"optout add " + dir + " x": "holds no crawl",
		"optout list":              "takes one crawl directory",
		"optout list --user x":     "takes no directory",
		"optout lst":               "did you mean list?",
	} {
		atHome(t, strings.Fields(args)...).want(t, cli.ExitUsage, says)
	}
	if path, err := crawldir.UserOptOut(); err == nil {
		if _, err := os.Stat(path); err == nil {
			t.Error("a wrong entry made a list")
		}
	}
}

// Choices that differ from the default are printed, and are settings like any other.
func TestRule19_ChoicesArePrinted(t *testing.T) {
	home(t, "keep-noarchive = true\nfollow-rel = [\"nofollow\", \"ugc\"]\n")
	web := crawltest.New(&crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
		"/": {Robots: "noarchive", NoFollow: []string{"/n"}}, "/n": {Robots: "noindex"},
	}})
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	seed := web.LoopbackURL("bakery.test")
	dir := filepath.Join(t.TempDir(), "d")
	atHome(t, "crawl", "--delay", "0", "--dir", dir, seed).
		want(t, cli.ExitDone, "--keep-noarchive", "--follow-rel", "nofollow,ugc", "noindex  1 page, kept")
	if b, err := os.ReadFile(inDir(dir, crawldir.ConfigName)); err != nil || !strings.Contains(string(b), "keep-noarchive = true\n") {
		t.Errorf("%v:\n%s", err, b)
	}
	if n := requests(web, "bakery.test"); n != 3 {
		t.Errorf("%d requests", n)
	}
	r := atHome(t, "crawl", "--delay", "0", "--keep-noarchive=false", "--follow-rel", "ugc,sponsored", "--dir", dir+"2", seed)
	r.want(t, cli.ExitDone, "(noarchive): 1 page")
	if strings.Contains(r.err, "--follow-rel") || strings.Contains(r.err, "--keep-noarchive") {
		t.Errorf("a default is printed:\n%s", r.err)
	}
	t.Setenv("CURTSY_KEEP_NOARCHIVE", "maybe")
	atHome(t, "crawl", seed).want(t, cli.ExitUsage, "write true or false")
}
