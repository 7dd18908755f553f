package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// sound is a site of pages by their paths; all else is 404.
func sound(t *testing.T, pages map[string]string) string {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	}))
	t.Cleanup(site.Close)
	return site.URL
}

// The exit code says whether a link is broken; of a new crawl, and of its directory, the same is said.
func TestCheckSaysWhatIsBrokenAndWhere(t *testing.T) {
	t.Parallel()
	url := sound(t, map[string]string{"/": "<p>\n<a href=/page>p</a> <a href=/lost>Lost <b>one</b></a><img src=/lost.png>", "/page": "<a href=/lost>again</a><a href=#x>x</a>"})
	dir := filepath.Join(t.TempDir(), "d")
	r := inside(t, "linkcheck", "--delay", "0", "--quiet", "--dir", dir, url+"/")
	r.want(t, cli.ExitFound)
	for _, line := range []string{
		"3 broken links, in 4 places on 2 pages; checked 4 URLs, read 2 documents with 5 links\n",
		"  " + url + "/lost  (404)\n      " + url + "/:2:29  a href  “Lost one”\n      " + url + "/page:1:9  a href  “again”\n",
		"  " + url + "/lost.png  (404, requisite)\n",
		"  " + url + "/page#x  (no element has this id or name, fragment)\n",
	} {
		if !strings.Contains(r.out, line) {
			t.Errorf("%q is not said:\n%s", line, r.out)
		}
	}
	if again := inside(t, "linkcheck", "--offline", dir); again.out != r.out || again.code != cli.ExitFound {
		t.Errorf("of the directory:\n%s%s", again.out, again.err)
	}
	inside(t, "audit", dir).want(t, cli.ExitDone)
	url = sound(t, map[string]string{"/": "<a href=#>up</a>"})
	r = inside(t, "linkcheck", "--delay", "0", "--dir", filepath.Join(t.TempDir(), "d"), url+"/")
	r.want(t, cli.ExitDone, "kept in ")
	if r.out != "no broken links; checked 1 URL, read 1 document with 1 link\n" {
		t.Errorf("%q", r.out)
	}
}

// Others build on the form of --json.
func TestCheckJSONHasTheFormThatIsPromised(t *testing.T) {
	t.Parallel()
	url := sound(t, map[string]string{"/": "<a href=/lost>x</a>"})
	r := inside(t, "linkcheck", "--delay", "0", "--json", "--quiet", "--dir", filepath.Join(t.TempDir(), "d"), url+"/")
	r.want(t, cli.ExitFound)
	var got struct {
		Checked int
		Broken  []struct {
			URL, Reason, Kind string
			Status            int
			On                []struct {
				Page, Element, Attribute string
				Line                     int
			}
		}
		Redirects []any
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatal(err, r.out)
	}
	want := fmt.Sprintf("[{%s/lost status 404 link 404 [{%s/ a href 1}]}] []", url, url)
	if text := fmt.Sprint(got.Broken, got.Redirects); got.Checked != 2 || text != want || got.Redirects == nil {
		t.Errorf("%d %s\nwant %s", got.Checked, text, want)
	}
}

// What a site writes does nothing to a terminal.
func TestCheckEscapesWhatASiteWrites(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[31m\x07\u202eevil"
	url := sound(t, map[string]string{"/": "<a href='/lost#" + evil + "'>" + evil + "</a><a href='http://[" + evil + "'>x</a><p id='" + evil + "'><p id='" + evil + "'><a href='#no" + evil + "'>f</a>"})
	r := inside(t, "linkcheck", "--delay", "0", "--dir", filepath.Join(t.TempDir(), "d"), url+"/")
	r.want(t, cli.ExitFound)
	if strings.ContainsAny(r.out+r.err, "\x1b\x07\u202e") {
		t.Errorf("%q", r.out)
	}
}

func TestCheckRefusesWhatItCannotJudge(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for _, tt := range []struct {
		name string
		args []string
		code int
		said string
	}{
		{"nothing", nil, cli.ExitUsage, "no seed: give a URL"},
		{"a folder without a crawl or a page", []string{empty}, cli.ExitUsage, "holds neither a crawl nor a page"},
		{"a base that is none", []string{"--base", "docs", empty}, cli.ExitUsage, "no path like /docs/"},
		{"seeds and a directory", []string{"--seeds", "x", empty}, cli.ExitUsage, "--seeds is for the crawl of a site"},
		{"no URL and no folder", []string{filepath.Join(empty, "none")}, cli.ExitUsage, "is no folder that is there, and no URL"},
		{"a URL and a folder", []string{"https://a.test/", empty}, cli.ExitUsage, "check it by itself"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inside(t, append([]string{"linkcheck"}, tt.args...)...).want(t, tt.code, tt.said)
		})
	}
}

// A page of a folder that robots.txt forbids is not tested, and the check is complete all the same.
func TestLinkcheck_DisallowedPageIsNoReasonFor4(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{"index.html": "<a href=x.html>x</a>", "x.html": "x", "robots.txt": "User-agent: *\nDisallow: /x.html\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r := inside(t, "linkcheck", folder); r.code != cli.ExitDone || !strings.Contains(r.out, "/x.html: robots.txt forbids it") {
		t.Errorf("%+v", r)
	}
}

// A folder is checked without a server: all of its pages, also those that nothing links to, named as files. Nothing is left
// behind.
func TestCheckOfAFolderNamesItsFiles(t *testing.T) {
	folder, temp := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"index.html": "<a href=about>about</a><a href=/docs/sub/>s</a><a href=/elsewhere>e</a>", "about.html": "<p><a href=none.html>n</a>",
		"alone.html": "<a href='#x'>x</a>", "sub/index.html": "<a href=..>up</a>", "404.html": "<a href=nobody-reads-this>",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	r := inside(t, "linkcheck", "--clean-urls", "--base", "/docs/", folder)
	r.want(t, cli.ExitFound)
	want := "3 broken links, in 3 places on 3 pages; checked 6 URLs, read 4 documents with 6 links\n\nBROKEN\n" +
		"  /docs/alone#x  (no element has this id or name, fragment)\n      " + filepath.Join(folder, "alone.html") + ":1:10  a href  “x”\n" +
		"  /docs/none.html  (404)\n      " + filepath.Join(folder, "about.html") + ":1:12  a href  “n”\n" +
		"  /elsewhere  (404)\n      " + filepath.Join(folder, "index.html") + ":1:56  a href  “e”\n"
	if r.out != want || r.err != "" {
		t.Errorf("%s%s\nwant:\n%s", r.out, r.err, want)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Events on standard error are lines of JSON, here as well.
func TestCheckTellsOfItsCrawlAsEvents(t *testing.T) {
	t.Parallel()
	url := sound(t, map[string]string{"/": "<a href=/lost>x</a>"})
	r := inside(t, "linkcheck", "--delay", "0", "--log", "json", "--dir", filepath.Join(t.TempDir(), "d"), url+"/")
	r.want(t, cli.ExitFound)
	for line := range strings.Lines(r.err) {
		if !json.Valid([]byte(line)) {
			t.Errorf("%q is no event", line)
		}
	}
}

// What is listed with a reason is left out; the rest is in the files, and beside the lines on GitHub.
func TestCheckWritesFilesAndLeavesOutWhatIsListed(t *testing.T) {
	t.Parallel()
	url := sound(t, map[string]string{"/": "<a href=/lost>x</a><a href=/known>y</a>"})
	to := t.TempDir()
	ignore, html, junit := filepath.Join(to, "ignore"), filepath.Join(to, "c.html"), filepath.Join(to, "c.xml")
	if err := os.WriteFile(ignore, []byte("/known$ comes in May\n/never$ was mended\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(to, "d")
	r := inside(t, "linkcheck", "--delay", "0", "--quiet", "--ignore", ignore, "--html", html, "--junit", junit, "--github", "--dir", dir, url+"/")
	r.want(t, cli.ExitFound, ignore+":2: nothing matches /never$")
	for _, said := range []string{"1 broken link, in 1 place on 1 page", "1 broken and left out", "::error title=Broken link::" + url + "/lost  (404) on " + url + "/:1:9\n"} {
		if !strings.Contains(r.out, said) {
			t.Errorf("%q is not said:\n%s", said, r.out)
		}
	}
	for path, texts := range map[string][]string{html: {url + "/lost", "comes in May"}, junit: {`tests="2" failures="1"`, url + "/lost"}} {
		b, err := os.ReadFile(path)
		for _, text := range texts {
			if err != nil || !strings.Contains(string(b), text) {
				t.Errorf("%s lacks %q: %v\n%s", path, text, err, b)
			}
		}
	}
	inside(t, "linkcheck", "--offline", "--html", html, "--junit", junit, dir).want(t, cli.ExitFound) // they are ours to replace
	inside(t, "linkcheck", "--html", ignore, dir).want(t, cli.ExitUsage, "--html: ", "not a check page")
	if err := os.WriteFile(ignore, []byte("# x\n/known$\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	inside(t, "linkcheck", "--ignore", ignore, dir).want(t, cli.ExitUsage, ignore+":2: there is no reason behind the pattern")
}

// An earlier check is crawled again, and the difference said.
func TestCheckUpdateSaysWhatIsNewlyBroken(t *testing.T) {
	t.Parallel()
	pages := map[string]string{"/": "<a href=/stays>a</a><a href=/mended>b</a><a href=/breaks>c</a><a href=/unlinked>d</a>", "/breaks": "c"}
	url := sound(t, pages)
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "linkcheck", "--update", "--delay", "0", "--dir", dir, url+"/").want(t, cli.ExitUsage, "--update is for the directory of a crawl")
	inside(t, "linkcheck", "--offline", url+"/").want(t, cli.ExitUsage, "--offline is for the directory of a crawl")
	inside(t, "linkcheck", "--update", "--offline", dir).want(t, cli.ExitUsage, "give one of them")
	inside(t, "linkcheck", "--update", t.TempDir()).want(t, cli.ExitUsage, "holds no crawl")
	inside(t, "linkcheck", "--delay", "0", "--quiet", "--dir", dir, url+"/").want(t, cli.ExitFound)
	delete(pages, "/breaks")
	pages["/"], pages["/mended"] = "<a href=/stays>a</a><a href=/mended>b</a><a href=/breaks>c</a>", "b"
	r := inside(t, "linkcheck", "--quiet", dir)
	r.want(t, cli.ExitFound)
	want := "since the crawl before: 1 newly broken, 2 repaired, 1 still broken\n\nNEWLY BROKEN\n  " + url + "/breaks  (404)\n\nREPAIRED\n  " +
		url + "/mended  (404)\n  " + url + "/unlinked  (404)\n\nBROKEN\n"
	if !strings.Contains(r.out, want) {
		t.Errorf("%s\nwant:\n%s", r.out, want)
	}
	if as := inside(t, "linkcheck", "--offline", dir); as.out != r.out {
		t.Errorf("as it is:\n%s", as.out)
	}
	pages["/breaks"] = "c"
	inside(t, "linkcheck", "--quiet", "--delay", "0", "--dir", dir, url+"/").want(t, cli.ExitFound) // the same seed: it is that crawl
	r = inside(t, "linkcheck", "--update", "--quiet", dir)
	if r.want(t, cli.ExitFound); !strings.Contains(r.out, "since the crawl before: 0 newly broken, 0 repaired, 1 still broken\n") {
		t.Error(r.out)
	}
	inside(t, "linkcheck", "--dir", dir, url+"/other").want(t, cli.ExitUsage, "has a crawl of other pages, from seeds such as "+url+"/: ", "curtsy linkcheck "+dir)
	inside(t, "audit", dir).want(t, cli.ExitDone)
}

// A baseline is a result of before: what is in it is known, and the exit code is for the rest.
func TestCheckAgainstABaselineCountsWhatIsNewlyBroken(t *testing.T) {
	t.Parallel()
	folder, to := t.TempDir(), t.TempDir()
	page, base := filepath.Join(folder, "index.html"), filepath.Join(to, "base.json")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(page, "<a href=stays>x</a><a href=goes>y</a>")
	r := inside(t, "linkcheck", "--json", folder)
	r.want(t, cli.ExitFound)
	write(base, r.out)
	inside(t, "linkcheck", "--baseline", base, folder).want(t, cli.ExitDone)
	write(page, "<p><a href=stays>x</a><a href=comes>z</a>")
	r = inside(t, "linkcheck", "--baseline", base, folder)
	r.want(t, cli.ExitFound)
	want := "1 broken link, in 1 place on 1 page; checked 3 URLs, read 1 document with 2 links\n1 broken and known, as --baseline has it\n" +
		"since the baseline: 1 newly broken, 1 repaired, 1 still broken\n\nREPAIRED\n  /goes  (404)\n\nBROKEN\n  /comes  (404)\n      " + page + ":1:31  a href  “z”\n"
	if r.out != want {
		t.Errorf("%s\nwant:\n%s", r.out, want)
	}
	write(base, inside(t, "linkcheck", "--json", "--baseline", base, folder).out) // the next one has what was known, too
	inside(t, "linkcheck", "--baseline", base, folder).want(t, cli.ExitDone)
	for text, said := range map[string]string{
		"": "is empty", "{": "ends too early", "plain": "is no JSON, at byte 1", "[]": "is not what curtsy linkcheck --json prints", `{"broken": null, "checked": 1}`: "is not what",
		`{"checked": 1, "broken": [{}]}`: "broken link 1 has no url", `{"checked": 1, "broken": []} {}`: "goes on after",
	} {
		write(base, text)
		inside(t, "linkcheck", "--baseline", base, folder).want(t, cli.ExitUsage, "--baseline: "+base, said)
	}
	inside(t, "linkcheck", "--baseline", to, folder).want(t, cli.ExitUsage, "--baseline: "+to)
	inside(t, "linkcheck", "--ignore", to, folder).want(t, cli.ExitUsage, "--ignore: "+to)
}

// Links that a budget kept from being tested have its name, and the check is incomplete.
func TestLinkcheck_BudgetIsIncomplete(t *testing.T) {
	t.Parallel()
	url := sound(t, map[string]string{"/": "<a href=/a>a</a><a href=/b>b</a>", "/a": "a", "/b": "b"})
	for _, flag := range []string{"max-urls", "max-pages", "max-per-host"} {
		r := ended(t, curtsy(t, "linkcheck", "--delay", "0", "--"+flag, "1", "--dir", filepath.Join(t.TempDir(), "d"), url+"/"))
		r.want(t, cli.ExitIncomplete, "2 URLs were not tested because of --"+flag)
		if !strings.Contains(r.out, "/a: budget: "+flag) {
			t.Error(r.out)
		}
	}
}

// Pages of one's own host that fail are findings: all else is tested, and the audit agrees.
func TestCheckFindsFailingPagesOfAnOwnHost(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<a href=/500/1>a</a><a href=/500/2>b</a><a href=/500/3>c</a><a href=/500/4>d</a><a href=/500/5>e</a><a href=/cut>f</a><a href=/lost>g</a>")
		case "/cut":
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "half")
		default:
			if !strings.HasPrefix(r.URL.Path, "/500/") {
				http.NotFound(w, r)
				return
			}
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer site.Close()
	dir := filepath.Join(t.TempDir(), "d")
	r := inside(t, "linkcheck", "--delay", "0", "--quiet", "--max-wait", "5s", "--dir", dir, site.URL+"/")
	r.want(t, cli.ExitFound)
	if !strings.HasPrefix(r.out, "7 broken links, in 7 places on 1 page; checked 8 URLs") {
		t.Error(r.out)
	}
	inside(t, "audit", dir).want(t, cli.ExitDone)
}

// Interrupted, a check prints what it knows, and how to continue.
func TestCheckInterruptedPrintsWhatIsKnown(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	var requests atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch requests.Add(1); r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<a href=/lost>x</a><a href=/busy>y</a>")
		case "/busy":
			w.Header().Set("Retry-After", "80")
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	for _, tt := range []struct {
		name string
		sig  syscall.Signal
		code int
		args []string
		want string
	}{
		{"text, SIGTERM", syscall.SIGTERM, 143, nil, "partial, interrupted: 1 broken link, in 1 place on 1 page; checked 3 URLs"},
		{"JSON, SIGINT", syscall.SIGINT, 130, []string{"--json"}, "\"partial\": true,"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			before := requests.Load()
			cmd := curtsy(t, append([]string{"linkcheck", "--delay", "0", "--dir", dir, site.URL + "/"}, tt.args...)...)
			cmd.Env = append(cmd.Env, "GITHUB_ACTIONS=")
			wait := begun(t, cmd)
			eventually(t, "four requests", func() bool { return requests.Load() >= before+4 })
			if err := cmd.Process.Signal(tt.sig); err != nil {
				t.Fatal(err)
			}
			r := wait()
			r.want(t, tt.code, "curtsy linkcheck "+dir+" continues", "curtsy linkcheck --offline "+dir)
			if !strings.Contains(r.out, tt.want) || !strings.Contains(r.out, site.URL+"/lost") {
				t.Errorf("%s", r.out)
			}
		})
	}
}
