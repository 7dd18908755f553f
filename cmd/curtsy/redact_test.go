package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage/ledger"
	"curtsy/storage/redact"
)

// diary is a site with pages that somebody wants taken down: each has a text that no other page has.
func diary(t *testing.T, n int) (web *crawltest.Web, seed string) {
	t.Helper()
	home(t, "")
	site := crawltest.Tree("bakery.test", n)
	for path, p := range site.Pages {
		p.Text = "told " + tale(path)
		site.Pages[path] = p
	}
	site.Robots = crawltest.Robots{Body: "User-agent: *\nDisallow: /no/\n"}
	web = crawltest.New(site, crawltest.Tree("library.test", 3))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	return web, web.LoopbackURL("bakery.test")
}

// tale is the text of a page.
func tale(path string) string {
	return "tale" + strings.Trim(regexp.MustCompile(`\W+`).ReplaceAllString(path, "x"), "x") + "end"
}

// asUser is a command line to be run as a process, by the user that the test has.
func asUser(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := curtsy(t, args...)
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		cmd.Env = append(cmd.Env, name+"="+os.Getenv(name))
	}
	return cmd
}

// unkept has the user whose configuration folder it is know no ledger any more: of several copies of a crawl directory each
// may go on then.
func unkept(t *testing.T, config string) {
	t.Helper()
	err := filepath.WalkDir(config, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "ledger-heads" {
			return err
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		return fs.SkipDir
	})
	if err != nil {
		t.Fatal(err)
	}
}

// telling are the files of a directory that hold a text, whatever they are compressed with.
func telling(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		all := [][]byte{b}
		switch filepath.Ext(path) {
		case ".gz":
			all = append(all, gunzipped(t, b))
		case ".zst":
			z, err := zstd.NewReader(nil)
			if err != nil {
				return err
			}
			defer z.Close()
			if b, err = z.DecodeAll(b, nil); err != nil {
				return err
			}
			all = append(all, b)
		case ".s2":
			if b, err = io.ReadAll(s2.NewReader(bytes.NewReader(b))); err != nil {
				return err
			}
			all = append(all, b)
		case ".wacz":
			for name, text := range unzipped(t, path) {
				all = append(all, []byte(text))
				if strings.HasSuffix(name, ".gz") {
					all = append(all, gunzipped(t, []byte(text)))
				}
			}
		}
		if slices.ContainsFunc(all, func(b []byte) bool { return bytes.Contains(b, []byte(text)) }) {
			names = append(names, e.Name())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func gunzipped(t *testing.T, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var to bytes.Buffer
	if _, err := to.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	return to.Bytes()
}

// diaryMirrored is a crawl of the diary with everything that is made of one.
func diaryMirrored(t *testing.T, seed string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "d")
	atHome(t, "mirror", "--delay", "0", "--quiet", "--dir", dir, seed).want(t, cli.ExitDone)
	atHome(t, "report", dir).want(t, cli.ExitDone)
	atHome(t, "export", "--format", "wacz", "-o", inDir(dir, "x.wacz"), "--title", "The diary", dir).want(t, cli.ExitDone)
	return dir
}

// A URL that is forgotten is in no file of the directory; everything else is where it was; the audit says that it is
// redacted, and finds nothing wrong; and an update does not ask for it.
func TestForgetTakesAURLOutOfEveryFile(t *testing.T) {
	web, seed := diary(t, 12)
	dir := diaryMirrored(t, seed)
	if found := telling(t, dir, tale("/p3.html")); len(found) < 3 {
		t.Fatalf("it is in %v alone: the test shows little", found)
	}
	atHome(t, "redact", "--dry-run", dir, seed+"p3.html").want(t, cli.ExitDone, "would be redacted: the URL", "1 body")
	if found := telling(t, dir, tale("/p3.html")); len(found) < 3 {
		t.Fatal("a dry run changed something")
	}
	r := atHome(t, "redact", "--reason", "asked by mail", "--json", dir, seed+"p3.html")
	r.want(t, cli.ExitDone, "redacted: the URL", "rebuilding the mirror", "packing ")
	var told struct {
		Bodies  int64
		Salt    string
		Digest  string `json:"subject_sha256"`
		Subject string
	}
	if err := json.Unmarshal([]byte(r.out), &told); err != nil || told.Bodies != 1 || told.Digest != redact.Digest(told.Salt, seed+"p3.html") {
		t.Errorf("%v: %s", err, r.out)
	}
	if found := telling(t, dir, tale("/p3.html")); len(found) > 0 {
		t.Errorf("it is in %v", found)
	}
	for i := range 12 {
		path := fmt.Sprintf("/p%d.html", i)
		if i == 0 {
			path = "/"
		}
		if i != 3 && len(telling(t, dir, tale(path))) < 3 {
			t.Errorf("%s is in %v alone", path, telling(t, dir, tale(path)))
		}
	}
	if text := unzipped(t, inDir(dir, "x.wacz"))["datapackage.json"]; !strings.Contains(text, `"title": "The diary"`) {
		t.Error("the packed file lost its title")
	}
	atHome(t, "audit", dir).want(t, cli.ExitDone)
	atHome(t, "audit", inDir(dir, "x.wacz")).want(t, cli.ExitDone)
	atHome(t, "mirror", "check", "--wrong", dir).want(t, cli.ExitDone)

	atHome(t, "redact", dir, seed+"p3.html").want(t, cli.ExitDone, "no body of it is there any more")
	before := askedFor(web, "/p3.html")
	atHome(t, "update", "--delay", "0", "--quiet", dir)
	if after := askedFor(web, "/p3.html"); before != 1 || after != before {
		t.Errorf("it was asked for %d times, and %d times after the update", before, after)
	}
	atHome(t, "audit", dir).want(t, cli.ExitDone)
}

// askedFor counts the requests for a target.
func askedFor(web *crawltest.Web, target string) (n int) {
	for _, r := range web.Referee().Requests() {
		if r.Target == target {
			n++
		}
	}
	return n
}

// With --all of a host nothing names it but what others say: no record, no line, no mirror, no name in the map of
// hosts.
func TestForgetAllOfAHostLeavesStubs(t *testing.T) {
	web, seed := diary(t, 6)
	other := web.LoopbackURL("library.test")
	dir := filepath.Join(t.TempDir(), "d")
	atHome(t, "crawl", "--delay", "0", "--quiet", "--dir", dir, seed, other).want(t, cli.ExitDone)
	host := site(seed)
	atHome(t, "redact", "--all", dir, host).want(t, cli.ExitDone, "redacted: the host "+host, "lines of the ledger")
	for _, text := range []string{tale("/"), tale("/p5.html"), host + "/p1.html"} {
		if found := slices.DeleteFunc(telling(t, dir, text), func(name string) bool { return name == crawldir.FrontierName }); len(found) > 0 {
			t.Errorf("%s is in %v", text, found)
		}
	}
	stubs, marks := 0, 0
	for e, err := range ledger.Scan(inDir(dir, crawldir.LedgerName)) {
		if err != nil || e.Problem != nil {
			t.Fatal(err, e.Problem)
		}
		if e.Forgotten {
			stubs++
		}
		if e.Mark != nil && e.Mark.Kind == ledger.KindRedaction {
			marks++
		}
	}
	if stubs != 7 || marks != 1 {
		t.Errorf("%d stubs, %d marks", stubs, marks)
	}
	atHome(t, "audit", dir).want(t, cli.ExitDone)
	atHome(t, "redact", "--all", dir, host).want(t, cli.ExitFailed, "has nothing of the host "+host)
	atHome(t, "resume", "--quiet", dir)
	atHome(t, "audit", dir).want(t, cli.ExitDone)
	// The last answer can go, too: then nothing is left to show.
	atHome(t, "redact", "--all", dir, site(other)).want(t, cli.ExitDone)
	atHome(t, "audit", dir).want(t, cli.ExitDone)
}

// What was a mirror of one site is none when the site is forgotten.
func TestForgetLeavesNoMirrorOfNothing(t *testing.T) {
	_, seed := diary(t, 3)
	dir := diaryMirrored(t, seed)
	atHome(t, "redact", dir, site(seed)).want(t, cli.ExitDone, "robots.txt stays")
	if found := telling(t, dir, tale("/p1.html")); len(found) > 0 {
		t.Errorf("it is in %v", found)
	}
	atHome(t, "audit", dir).want(t, cli.ExitDone)
	atHome(t, "redact", "--all", dir, site(seed)).want(t, cli.ExitDone)
	if _, err := os.Stat(inDir(dir, "mirror")); err == nil {
		t.Error("there is a mirror of nothing")
	}
}

// optout add --redact does both in one step on a stopped crawl. One that runs leaves them alone at once, and the
// command says how to go on.
func TestOptOutAddForgets(t *testing.T) {
	_, seed := diary(t, 6)
	dir := filepath.Join(t.TempDir(), "d")
	atHome(t, "crawl", "--delay", "0", "--quiet", "--dir", dir, seed).want(t, cli.ExitDone)
	atHome(t, "optout", "add", "--redact", "--reason", "by mail", dir, site(seed)+"/p2", site(seed)+"/none").want(t, cli.ExitDone, "2 entries added", "redacted: all URLs that begin with "+site(seed)+"/p2", "has nothing of the URLs that begin with "+site(seed)+"/none")
	if found := telling(t, dir, tale("/p2.html")); len(found) > 0 {
		t.Errorf("it is in %v", found)
	}
	atHome(t, "optout", "add", "--redact", "--user", "x.test").want(t, cli.ExitUsage, "--redact takes down what one crawl has")
	atHome(t, "optout", "add", "--redact", dir, "192.0.2.0/24").want(t, cli.ExitUsage, "is a network")
	if list, err := os.ReadFile(inDir(dir, crawldir.OptOutName)); err != nil || strings.Contains(string(list), "192.0.2") {
		t.Errorf("%s, %v", list, err)
	}
}

func TestForgetRefusesACrawlThatRuns(t *testing.T) {
	web, seed := diary(t, 3000)
	dir := filepath.Join(t.TempDir(), "d")
	wait := begun(t, asUser(t, "crawl", "--delay", "50ms", "--dir", dir, seed))
	eventually(t, "five requests", func() bool { return requests(web, "bakery.test") >= 5 })
	ended(t, asUser(t, "redact", dir, seed)).want(t, cli.ExitFailed, "is running", "curtsy optout add "+dir, "curtsy resume "+dir)
	front := site(seed) + "/$" // the crawl goes on with the rest
	ended(t, asUser(t, "optout", "add", "--redact", dir, front)).want(t, cli.ExitFailed, "1 entry added", "is running", "repeat this command")
	ended(t, asUser(t, "optout", "add", dir, site(seed))).want(t, cli.ExitDone, "1 entry added")
	wait().want(t, cli.ExitDone)
	ended(t, asUser(t, "optout", "add", "--redact", dir, front)).want(t, cli.ExitDone, "1 already listed", "redacted: the URL")
	if found := telling(t, dir, tale("/")); len(found) > 0 {
		t.Errorf("it is in %v", found)
	}
}

func TestForgetSaysWhatIsWrong(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "other.wacz")
	inside(t, "export", "--format", "wacz", "-o", foreign, crawledBakery(t)).want(t, cli.ExitDone)
	_, seed := diary(t, 3)
	dir := filepath.Join(t.TempDir(), "d")
	atHome(t, "crawl", "--delay", "0", "--quiet", "--dir", dir, seed).want(t, cli.ExitDone)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{dir}, cli.ExitUsage, "takes a crawl directory, and a URL"},
		{[]string{dir, "a.test", "b.test"}, cli.ExitUsage, "one URL, host or HOST/PATH at a time"},
		{[]string{t.TempDir(), "a.test"}, cli.ExitUsage, "holds no crawl"},
		{[]string{dir, "a b"}, cli.ExitUsage, "name a host"},
		{[]string{dir, ""}, cli.ExitUsage, "name a host"},
		{[]string{dir, "#"}, cli.ExitUsage, "is no host"},
		{[]string{dir, "ftp://a.test/x"}, cli.ExitUsage, "ftp"},
		{[]string{dir, "ftp://a.test"}, cli.ExitUsage, "only http and https"},
		{[]string{dir, "https://a.test/x/*"}, cli.ExitUsage, "write a.test/x/, without the scheme"},
		{[]string{dir, "a.test/*"}, cli.ExitUsage, "write a.test/"},
		{[]string{dir, "10.0.0.0/8"}, cli.ExitUsage, "is a network"},
		{[]string{"--reason", "two\nlines", dir, "a.test"}, cli.ExitUsage, "--reason: must be one line"},
		{[]string{dir, "never.test"}, cli.ExitFailed, "has nothing of the host never.test with a body"},
		{[]string{"--all", dir, seed + "never"}, cli.ExitFailed, "has nothing of the URL " + seed + "never"},
		{[]string{"--wacz", "x.zip", dir, site(seed)}, cli.ExitUsage, "ends in .wacz"},
		{[]string{"--wacz", filepath.Join(dir, "none.wacz"), dir, site(seed)}, cli.ExitFailed, "none.wacz"},
		{[]string{"--wacz", foreign, dir, site(seed)}, cli.ExitFailed, "is not a package of the crawl in"},
	} {
		atHome(t, append([]string{"redact"}, c.args...)...).want(t, c.code, c.says)
	}
	if found := telling(t, dir, tale("/")); len(found) == 0 {
		t.Error("it is forgotten all the same")
	}
}

// What a kill left open is completed first, and a dry run says that it was not looked at.
func TestForgetLooksIntoWhatAKillLeftOpen(t *testing.T) {
	web, seed := diary(t, 6)
	dir := filepath.Join(t.TempDir(), "d")
	p := launched(t, asUser(t, "crawl", "--own-site", "none", "--contact", "x@x.test", "--quiet", "--dir", dir, seed))
	p.until(t, "two pages", func() bool { return requests(web, "bakery.test") >= 4 })
	if !p.kill() {
		t.Fatal("it ended before the kill")
	}
	ended(t, asUser(t, "redact", "--dry-run", dir, site(seed))).want(t, cli.ExitFailed, "a kill left the last WARC file open")
	ended(t, asUser(t, "redact", "--all", dir, site(seed))).want(t, cli.ExitDone, "redacted: the host")
	if found := telling(t, dir, tale("/")); len(found) > 0 {
		t.Errorf("it is in %v", found)
	}
	ended(t, asUser(t, "audit", dir)).want(t, cli.ExitDone)
}

// Nobody else than the user who crawls can put a mark into the ledger that counts: a stranger's audit finishes nothing.
func TestForgetNeedsTheKeyOfTheLedger(t *testing.T) {
	_, seed := diary(t, 3)
	dir := filepath.Join(t.TempDir(), "d")
	atHome(t, "crawl", "--delay", "0", "--quiet", "--dir", dir, seed).want(t, cli.ExitDone)
	ended(t, curtsy(t, "redact", dir, site(seed))).want(t, cli.ExitFailed, "signed with another key than yours", "the user who crawls")
	if found := telling(t, dir, tale("/")); len(found) == 0 || redact.Left(dir) {
		t.Errorf("it is in %v", found)
	}
}

// Whoever gives a command again that was broken off is told what it did, and the salt, which nobody has seen yet.
func TestAForgetThatWasBrokenOffIsReportedWhenGivenAgain(t *testing.T) {
	_, seed := diary(t, 20)
	template := diaryMirrored(t, seed)
	for _, what := range [][]string{{}, {"--all"}} {
		give := func(dir string) []string { return append(append([]string{"redact"}, what...), dir, site(seed)+"/p1") }
		shown := false
		for range 10 {
			dir := filepath.Join(t.TempDir(), "d")
			if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
				t.Fatal(err)
			}
			unkept(t, os.Getenv("XDG_CONFIG_HOME"))
			p := launched(t, asUser(t, give(dir)...))
			p.until(t, "the journal", func() bool { _, err := os.Stat(inDir(dir, redact.JournalName)); return err == nil })
			p.kill()
			if !redact.Pending(dir) {
				continue // it had ended
			}
			r := ended(t, asUser(t, give(dir)...))
			r.want(t, cli.ExitDone)
			if !strings.Contains(r.err, "finishing an interrupted redaction first") || !strings.Contains(r.err, "its salt") {
				t.Errorf("it says:\n%s", r.err)
			}
			shown = true
			break
		}
		if !shown {
			t.Error("no kill came while it was under way")
		}
	}
}

// Killed at random instants, forgetting is done or not begun; the next audit finishes it, and finds nothing wrong.
func TestAKilledForgetIsFinished(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes")
	}
	_, seed := diary(t, 60)
	template := diaryMirrored(t, seed)
	rounds, finished, untouched := 8, 0, 0
	if full() {
		rounds = 60
	}
	for round := range rounds {
		dir := filepath.Join(t.TempDir(), "d")
		if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
			t.Fatal(err)
		}
		unkept(t, os.Getenv("XDG_CONFIG_HOME"))
		journal := inDir(dir, redact.JournalName)
		p := launched(t, asUser(t, "redact", "--all", dir, site(seed)+"/p1"))
		if round%2 == 1 {
			p.until(t, "the journal", func() bool { _, err := os.Stat(journal); return err == nil })
		} else {
			p.until(t, "something is prepared", func() bool { return redact.Left(dir) })
		}
		p.kill()
		_, err := os.Stat(journal)
		begun := err == nil
		r := ended(t, asUser(t, "audit", dir))
		r.want(t, cli.ExitDone)
		found := telling(t, dir, tale("/p1.html"))
		switch {
		case redact.Left(dir):
			t.Error("something is left of it")
		case begun && (len(found) > 0 || !strings.Contains(r.err, "finishing an interrupted redaction first")):
			t.Errorf("round %d: it was begun, and is in %v: %s", round, found, r.err)
		case begun:
			finished++
		case len(found) > 0:
			untouched++
		}
	}
	t.Logf("%d finished by the audit, %d as they were", finished, untouched)
	if finished == 0 {
		t.Error("no kill came while it was under way: the test shows little")
	}
}
