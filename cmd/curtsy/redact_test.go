package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage/redact"
)

// diary is a site whose pages have a unique text each.
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

func tale(path string) string {
	return "tale" + strings.Trim(regexp.MustCompile(`\W+`).ReplaceAllString(path, "x"), "x") + "end"
}

// unkept removes the kept checkpoints of a user, so that several copies of a crawl can continue.
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
	require.NoError(t, err)
}

// telling returns the files that contain a text, compressed or not.
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
	require.NoError(t, err)
	return names
}

func gzipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text) // a buffer takes everything
	_ = z.Close()
	return b.String()
}

func gunzipped(t *testing.T, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	require.NoError(t, err)
	b, err = io.ReadAll(z)
	require.NoError(t, err)
	return b
}

// diaryMirrored is a crawl of the diary with mirror, report and WACZ file.
func diaryMirrored(t *testing.T, u *lab, seed string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "d")
	u.run("mirror", "--delay", "0", "--quiet", "--dir", dir, seed).want(t, cli.ExitDone)
	u.run("report", dir).want(t, cli.ExitDone)
	u.run("export", "--format", "wacz", "-o", inDir(dir, "x.wacz"), "--title", "The diary", dir).want(t, cli.ExitDone)
	return dir
}

// A redacted URL is in no file; all others remain. The audit finds nothing wrong, and an update does not request it.
func TestRedact_RemovesURLFromEveryFile(t *testing.T) {
	t.Parallel()
	u, web, seed := diary(t, 12)
	dir := diaryMirrored(t, u, seed)
	if found := telling(t, dir, tale("/p3.html")); len(found) < 3 {
		t.Fatalf("it is only in %v: the test proves little", found)
	}
	u.run("redact", "--dry-run", dir, seed+"p3.html").want(t, cli.ExitDone, "would be redacted: only the URL", "1 body")
	require.GreaterOrEqual(t, len(telling(t, dir, tale("/p3.html"))), 3, "a dry run changed something")
	r := u.run("redact", "--reason", "asked by mail", "--json", dir, seed+"p3.html")
	r.want(t, cli.ExitDone, "redacted: only the URL", "rebuilding the mirror", "packing ")
	var printed struct {
		Bodies  int64
		Salt    string
		Digest  string `json:"subject_sha256"`
		Subject string
	}
	if err := json.Unmarshal([]byte(r.out), &printed); err != nil || printed.Bodies != 1 || printed.Digest != redact.Digest(printed.Salt, seed+"p3.html") {
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
			t.Errorf("%s is only in %v", path, telling(t, dir, tale(path)))
		}
	}
	assert.Contains(t, unzipped(t, inDir(dir, "x.wacz"))["datapackage.json"], `"title": "The diary"`, "the packed file lost its title")
	u.run("audit", dir).want(t, cli.ExitDone)
	u.run("audit", inDir(dir, "x.wacz")).want(t, cli.ExitDone)
	u.run("mirror", "check", "--wrong", dir).want(t, cli.ExitDone)

	u.run("redact", dir, seed+"p3.html").want(t, cli.ExitDone, "no bodies are left")
	before := requested(web, "/p3.html")
	u.run("update", "--delay", "0", "--quiet", dir)
	if after := requested(web, "/p3.html"); before != 1 || after != before {
		t.Errorf("it was requested %d times, and %d times after the update", before, after)
	}
	u.run("audit", dir).want(t, cli.ExitDone)
}

// An interrupted redaction, run again, prints the salt.
func TestRedact_ReportsUnfinishedRun(t *testing.T) {
	t.Parallel()
	u, _, seed := diary(t, 20)
	template := diaryMirrored(t, u, seed)
	for _, what := range [][]string{{}, {"--all"}} {
		give := func(dir string) []string { return append(append([]string{"redact"}, what...), dir, site(seed)+"/p1") }
		shown := false
		for range 100 {
			dir := filepath.Join(t.TempDir(), "d")
			require.NoError(t, os.CopyFS(dir, os.DirFS(template)))
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
				t.Errorf("it prints:\n%s", r.err)
			}
			shown = true
			break
		}
		assert.True(t, shown, "no kill came while it was under way")
	}
}

// After a kill only the ledger may have a Retry-After. Its redaction removes the line, and keeps the back-off (politeness rules 11
// and 17).
func TestRule17_ATakedownAfterAKillForgetsNoRest(t *testing.T) {
	for _, args := range [][]string{{"redact", "--all"}, {"redact"}} {
		home(t, "")
		web := webOf(t, &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
			"/":     {Links: []string{"/a", "/busy"}},
			"/a":    {},
			"/busy": {FailFirst: 99, FailStatus: http.StatusServiceUnavailable, RetryAfter: "3600"},
		}})
		seed := web.LoopbackURL("bakery.test")
		dir, s := filepath.Join(t.TempDir(), "d"), crawldir.Defaults()
		s.Delay, s.MaxWait = 0, time.Second
		seeds, err := crawldir.SeedURLs(seed)
		if err == nil {
			err = crawldir.Create(t.Context(), dir, &s, seeds)
		}
		var before []byte // the frontier, as a kill between the ledger's commit and its own leaves it
		if err == nil {
			_, err = crawldir.Run(t.Context(), dir, crawldir.Options{Attend: func(ctx context.Context, start crawldir.Start) (crawler.Summary, error) {
				if before, err = os.ReadFile(inDir(dir, crawldir.FrontierName)); err != nil {
					return crawler.Summary{}, err
				}
				return start.Crawl.Run(ctx)
			}})
		}
		if err == nil {
			err = os.WriteFile(inDir(dir, crawldir.FrontierName), before, 0o600)
		}
		require.NoError(t, err)
		asked := len(web.Referee().Requests())
		if last := web.Referee().Requests()[asked-1]; last.Status != http.StatusServiceUnavailable {
			t.Fatalf("the run that is killed was answered %d last", last.Status)
		}
		shared(t, append(args, dir, seed+"busy")...).want(t, cli.ExitDone)
		r, err := crawldir.Run(t.Context(), dir, crawldir.Options{})
		require.NoError(t, err)
		assert.Equalf(t, crawler.EndedWaiting, r.EndedBy, "%v: ended by %s, %v", args, r.EndedBy, err)
		if more := web.Referee().Requests()[asked:]; len(more) > 0 {
			t.Errorf("%v: requested %s before the back-off ended", args, more[0].Target)
		}
		shared(t, "audit", dir).want(t, cli.ExitDone)
	}
}

// A scheme and a path mean one URL, in any spelling; everything else is an entry of an opt-out list.
func TestRedact_ArgumentKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arg, kind, entry string
		under, apart     []string
	}{
		{"https://a.test/x", kindURL, "https://a.test/x$",
			[]string{"https://a.test/x", "https://A.TEST:443/x#part", "https://a.test/%78"},
			[]string{"http://a.test/x", "https://a.test/xy", "https://a.test/x/", "https://b.test/x", "https://a.test:8443/x"}},
		{"https://a.test/", kindURL, "https://a.test/$", []string{"https://a.test/", "https://a.test"}, []string{"https://a.test/x", "http://a.test/"}},
		{"http://a.test/x?b=2*", "", "", nil, nil},
		{"http://a.test/*b", kindURL, "http://a.test/*b$", []string{"http://a.test/*b"}, []string{"http://a.test/ab"}},
		{"a.test/x", kindPart, "a.test/x", []string{"http://a.test/x", "https://a.test:8443/xy?z"}, []string{"http://a.test/", "http://b.test/x"}},
		{"a.test/x$", kindURL, "a.test/x$", []string{"http://a.test/x", "https://a.test/x"}, []string{"http://a.test/xy"}},
		{"a.test", kindHost, "a.test", []string{"http://a.test/", "https://a.test:8443/x"}, []string{"http://www.a.test/", "no URL", ""}},
		{"a.test/", kindHost, "a.test/", []string{"http://a.test/", "http://a.test/x"}, []string{"http://b.test/"}},
		{"a.test:8443", kindHost, "a.test:8443", []string{"https://a.test:8443/x"}, []string{"https://a.test/"}},
		{"https://a.test", kindHost, "https://a.test", []string{"https://a.test/x"}, []string{"http://a.test/x"}},
		{".a.test", kindDomain, ".a.test", []string{"http://a.test/", "http://b.a.test/x"}, []string{"http://xa.test/"}},
		{"192.0.2.7", kindHost, "192.0.2.7", []string{"http://192.0.2.7/x"}, []string{"http://192.0.2.8/"}},
	} {
		s, err := parseSubject(c.arg)
		if c.kind == "" {
			if err == nil {
				t.Errorf("%s is taken for %s", c.arg, s.means())
			}
			continue
		}
		if err != nil || s.kind != c.kind || s.entry != c.entry || s.Host != (c.kind == kindHost || c.kind == kindDomain) {
			t.Errorf("%s: %+v, %v", c.arg, s, err)
			continue
		}
		list, err := entrySubject(s.entry)
		if err != nil {
			t.Errorf("%s: its entry %s: %v", c.arg, s.entry, err)
			continue
		}
		for _, u := range c.under {
			if !s.Covers(u) || !list.Covers(u) {
				t.Errorf("%s does not cover %s: %v, by the list %v", c.arg, u, s.Covers(u), list.Covers(u))
			}
		}
		for _, u := range c.apart {
			if s.Covers(u) || list.Covers(u) {
				t.Errorf("%s covers %s: %v, by the list %v", c.arg, u, s.Covers(u), list.Covers(u))
			}
		}
	}
}
