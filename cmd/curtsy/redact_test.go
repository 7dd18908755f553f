package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/storage/redact"
)

// diary is a site with pages that somebody wants taken down: each has a text that no other page has.
func diary(t *testing.T, n int) (u *lab, web *crawltest.Web, seed string) {
	t.Helper()
	site := crawltest.Tree("bakery.test", n)
	for path, p := range site.Pages {
		p.Text = "told " + tale(path)
		site.Pages[path] = p
	}
	site.Robots = crawltest.Robots{Body: "User-agent: *\nDisallow: /no/\n"}
	web = webOf(t, site, crawltest.Tree("library.test", 3))
	return &lab{t: t, config: t.TempDir()}, web, web.LoopbackURL("bakery.test")
}

// tale is the text of a page.
func tale(path string) string {
	return "tale" + strings.Trim(regexp.MustCompile(`\W+`).ReplaceAllString(path, "x"), "x") + "end"
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
	must(t, err)
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
	must(t, err)
	return names
}

func gunzipped(t *testing.T, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	must(t, err)
	var to bytes.Buffer
	if _, err := to.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	return to.Bytes()
}

// diaryMirrored is a crawl of the diary with everything that is made of one.
func diaryMirrored(t *testing.T, u *lab, seed string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "d")
	u.run("mirror", "--delay", "0", "--quiet", "--dir", dir, seed).want(t, cli.ExitDone)
	u.run("report", dir).want(t, cli.ExitDone)
	u.run("export", "--format", "wacz", "-o", inDir(dir, "x.wacz"), "--title", "The diary", dir).want(t, cli.ExitDone)
	return dir
}

// A URL that is forgotten is in no file of the directory; everything else is where it was; the audit says that it is
// redacted, and finds nothing wrong; and an update does not ask for it.
func TestForgetTakesAURLOutOfEveryFile(t *testing.T) {
	t.Parallel()
	u, web, seed := diary(t, 12)
	dir := diaryMirrored(t, u, seed)
	if found := telling(t, dir, tale("/p3.html")); len(found) < 3 {
		t.Fatalf("it is in %v alone: the test shows little", found)
	}
	u.run("redact", "--dry-run", dir, seed+"p3.html").want(t, cli.ExitDone, "would be redacted: only the URL", "1 body")
	if found := telling(t, dir, tale("/p3.html")); len(found) < 3 {
		t.Fatal("a dry run changed something")
	}
	r := u.run("redact", "--reason", "asked by mail", "--json", dir, seed+"p3.html")
	r.want(t, cli.ExitDone, "redacted: only the URL", "rebuilding the mirror", "packing ")
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
	u.run("audit", dir).want(t, cli.ExitDone)
	u.run("audit", inDir(dir, "x.wacz")).want(t, cli.ExitDone)
	u.run("mirror", "check", "--wrong", dir).want(t, cli.ExitDone)

	u.run("redact", dir, seed+"p3.html").want(t, cli.ExitDone, "no bodies are left")
	before := askedFor(web, "/p3.html")
	u.run("update", "--delay", "0", "--quiet", dir)
	if after := askedFor(web, "/p3.html"); before != 1 || after != before {
		t.Errorf("it was asked for %d times, and %d times after the update", before, after)
	}
	u.run("audit", dir).want(t, cli.ExitDone)
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

// Whoever gives a command again that was broken off is told what it did, and the salt, which nobody has seen yet.
func TestAForgetThatWasBrokenOffIsReportedWhenGivenAgain(t *testing.T) {
	t.Parallel()
	u, _, seed := diary(t, 20)
	template := diaryMirrored(t, u, seed)
	for _, what := range [][]string{{}, {"--all"}} {
		give := func(dir string) []string { return append(append([]string{"redact"}, what...), dir, site(seed)+"/p1") }
		shown := false
		for range 10 {
			dir := filepath.Join(t.TempDir(), "d")
			must(t, os.CopyFS(dir, os.DirFS(template)))
			unkept(t, u.config)
			p := launched(t, u.command(give(dir)...))
			p.until(t, "the journal", func() bool { _, err := os.Stat(inDir(dir, redact.JournalName)); return err == nil })
			p.kill()
			if !redact.Pending(dir) {
				continue // it had ended
			}
			r := ended(t, u.command(give(dir)...))
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
