//go:build peers

package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/foreigntest"
	"curtsy/storage/mirror"
)

// axe-core finds nothing in any page that curtsy writes or serves. TestPeers_Dashboard has the pages of a running crawl.
func TestPeers_WrittenPagesAreAccessible(t *testing.T) {
	t.Parallel()
	tab := browser(t, 2*time.Minute)
	axe := axeCore(t)
	dir, web := crawledOnce(t, newsSite())
	web.Change("news.test", func(s *crawltest.Site) {
		s.Pages = maps.Clone(s.Pages)
		delete(s.Pages, "/goes")
		s.Pages["/changes"] = crawltest.Page{Text: "the second", Links: []string{"/new", "/" + strings.Repeat("broken", 30)}}
		s.Pages["/new"] = crawltest.Page{Text: "the second"}
	})
	inside(t, "update", "--quiet", dir).want(t, cli.ExitDone)
	out, pages := t.TempDir(), map[string]string{}
	for name, args := range map[string][]string{
		"report":    {"report", "--output"},
		"letter":    {"report", "--host", "127.0.0.1", "--output"},
		"audit":     {"audit", "--html"},
		"practices": {"audit", "--cbcp", "--html"},
		"changes":   {"diff", "--html"},
		"check":     {"linkcheck", "--offline", "--html"},
	} {
		page := filepath.Join(out, name+".html")
		inside(t, append(args, page, dir)...)
		pages[name] = "file://" + page
	}
	bundle := filepath.Join(out, "bundle.zip")
	inside(t, "ledger", "prove", "--host", "127.0.0.1", "--output", bundle, dir).want(t, cli.ExitDone)
	z, err := zip.OpenReader(bundle)
	require.NoError(t, err)
	defer z.Close()
	require.NoError(t, os.CopyFS(filepath.Join(out, "bundle"), z))
	pages["bundle"] = "file://" + filepath.Join(out, "bundle", "index.html")
	inside(t, "identity", "init", "--dir", filepath.Join(out, "identity"), "--url", "https://library.org/bot/", "--operator", "The Library", "--purpose", "A yearly archive.",
		"--contact", "crawl@library.org", "--retention", "Ten years.", "--agent", "libbot", "--range", "192.0.2.17/28").want(t, cli.ExitDone)
	pages["identity"] = "file://" + filepath.Join(out, "identity", "index.html")
	second := filepath.Join(out, "second")
	inside(t, "crawl", "--quiet", "--delay", "0", "--dir", second, web.LoopbackURL("news.test")).want(t, cli.ExitDone)
	pages["dashboard"] = shown(t, dir, second)
	inside(t, "mirror", "rebuild", dir).want(t, cli.ExitDone)
	mirrored, err := mirror.NewHandler(mirror.ServeOptions{Tree: mirror.Tree(dir)})
	require.NoError(t, err)
	defer mirrored.Close()
	serve := httptest.NewServer(mirrored)
	defer serve.Close()
	pages["missing"] = serve.URL + "/" + strings.Replace(site(web.LoopbackURL("news.test")), ":", "+", 1) + "/" + strings.Repeat("broken", 30)
	for name, page := range pages {
		for _, l := range glances() {
			l.set(t, tab)
			goTo(t, tab, page)
			if _, err := chromedp.Run(tab, chromedp.Evaluate[bool](axe+"; true")); err != nil {
				t.Fatal(err)
			}
			l.accessible(t, tab, name+", "+l.name)
			l.keep(t, tab, name)
		}
	}
}

// newsSite changes between generations.
func newsSite() *crawltest.Site {
	return &crawltest.Site{Name: "news.test", Pages: map[string]crawltest.Page{
		"/":          {Links: []string{"/stays", "/changes", "/goes", "/plain", "/moved"}, Embeds: []string{"/fresh.css", "/stale.css"}},
		"/stays":     {Links: []string{"/"}},
		"/changes":   {Text: "the first", Links: []string{"/unlinked"}},
		"/goes":      {},
		"/plain":     {Header: map[string]string{"ETag": ""}, Text: "no validators"},
		"/moved":     {Redirect: "/stays"},
		"/unlinked":  {},
		"/fresh.css": {Body: "p{}", Header: map[string]string{"Cache-Control": "max-age=86400"}},
		"/stale.css": {Body: "q{}", Header: map[string]string{"Cache-Control": "max-age=0"}},
	}}
}

// shown serves a dashboard until the test ends, and returns its address.
func shown(t *testing.T, args ...string) (address string) {
	t.Helper()
	cmd := curtsy(t, append([]string{"dashboard"}, args...)...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

// still opens a page, waits for Doxygen's tree of pages, and returns a screenshot that does not change any longer.
func still(t *testing.T, tab context.Context, at string) image.Image {
	t.Helper()
	goTo(t, tab, at)
	until(t, tab, "the tree of pages", `!document.querySelector("#nav-tree-contents") || document.querySelector("#nav-tree-contents .item")`)
	var last []byte
	for range 50 {
		b, err := chromedp.Run(tab, chromedp.CaptureScreenshot())
		require.NoError(t, err, at)
		if bytes.Equal(b, last) {
			break
		}
		last = b
	}
	picture, err := png.Decode(bytes.NewReader(last))
	require.NoError(t, err, at)
	return picture
}

// pixelsApart is the share of different pixels.
func pixelsApart(a, b image.Image) float64 {
	r, apart := a.Bounds(), 0
	if r != b.Bounds() {
		return 1
	}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if a.At(x, y) != b.At(x, y) {
				apart++
			}
		}
	}
	return float64(apart) / float64(r.Dx()*r.Dy())
}

// Mirrors look from disk like the live pages, and their search and trees of pages work without the server.
func TestPeers_MirrorsLookAsLive(t *testing.T) {
	if testing.Short() || !full() {
		t.Skip("whole sites in a browser: CURTSY_LONG=1")
	}
	const pages = 10 // of each tree
	type act struct {
		at, keys string // text to type; empty for a click
		works    string // what is then true
	}
	for _, d := range []struct {
		pkg, folder, start, page string
		acts                     []act // on that page, one after the other
	}{
		{"openjdk-17-doc", "doc/openjdk-17-doc/api", "index.html", "index.html", []act{
			{"#search-input", "ArrayList", `[...document.querySelectorAll(".ui-autocomplete li")].some((e) => e.textContent.includes("ArrayList"))`},
			{"#search-input", kb.Enter, `location.pathname.endsWith("/java/util/ArrayList.html") && document.querySelector("h1").textContent.includes("ArrayList")`},
			{`#navbar-top a[href="package-summary.html"]`, "", `location.pathname.endsWith("/java/util/package-summary.html") && document.querySelector("h1").textContent.includes("java.util")`},
		}},
		{"libboost-doc", "doc/libboost-doc", "doc/html/index.html", "doc/html/about.html", []act{
			{"a[accesskey=n]", "", `!location.pathname.endsWith("/about.html") && document.querySelector("a[accesskey=p] img").naturalWidth > 0`},
		}},
		{"libstdc++-12-doc", "doc/libstdc++-12-doc/libstdc++", "user/index.html", "user/a04042.html", []act{ // it has no search
			{`#nav-tree-contents .item a[href="annotated.html"]`, "", `location.pathname.endsWith("/annotated.html") && document.querySelectorAll("#nav-tree-contents .item").length > 1`},
		}},
		{"python3-doc", "doc/python3/html", "index.html", "library/index.html", []act{
			{"a[accesskey=N]", "", `location.pathname.endsWith("/library/intro.html")`},
			{".nav-content input[name=q]", "zipfile" + kb.Enter, `location.pathname.endsWith("/search.html") && [...document.querySelectorAll("ul.search a")].some((e) => e.textContent.includes("zipfile"))`},
		}},
	} {
		t.Run(d.pkg, func(t *testing.T) {
			s := serveFiles(t, foreigntest.Corpus(t, d.folder, d.pkg))
			dir := filepath.Join(t.TempDir(), "d")
			ended(t, curtsy(t, "mirror", "--quiet", "--delay", "0", "--dir", dir, "http://"+s.addr+"/"+d.start)).want(t, cli.ExitDone)
			host := strings.Replace(s.addr, ":", "+", 1)
			copied := treeOf(t, filepath.Join(mirror.Tree(dir), host))
			tab := browser(t, 5*time.Minute)
			require.NoError(t, chromedp.Do(tab, chromedp.EmulateViewport(1000, 800)))
			names := []string{d.start}
			for i := range pages - 1 {
				names = append(names, copied.names[(2*i+1)*len(copied.names)/(2*pages-2)])
			}
			live := map[string]image.Image{}
			for _, name := range names {
				live[name] = still(t, tab, "http://"+s.addr+"/"+name)
			}
			s.stop()
			differ := 0
			for _, name := range names {
				if apart := pixelsApart(live[name], still(t, tab, "file://"+filepath.Join(copied.dir, name))); apart > 0.001 {
					differ++
					t.Logf("%s: %.2f %% of pixels differ", name, 100*apart)
				}
			}
			if t.Logf("%d pages mirrored, %d of %d differ", len(copied.names), differ, len(names)); differ > 0 || len(copied.names) < 500 {
				t.Error("the copy is not as the site")
			}
			goTo(t, tab, "file://"+filepath.Join(copied.dir, d.page))
			for _, a := range d.acts {
				until(t, tab, a.at, fmt.Sprintf("document.querySelector(%q)", a.at))
				var err error
				if a.keys == "" {
					press(t, tab, a.at)
				} else {
					err = chromedp.Do(tab, chromedp.WaitEnabled(a.at), chromedp.SendKeys(a.at, a.keys))
				}
				require.NoError(t, err)
				until(t, tab, a.at+" "+a.keys, a.works+` && location.protocol === "file:"`)
			}
		})
	}
}

// searchSite is in the style of javadoc: a script loads the index of the search, by a name relative to the root.
func searchSite(t *testing.T) *httptest.Server {
	page := func(root string) string {
		return `<!doctype html><meta charset=utf-8><script>var pathtoroot = "` + root + `"</script><script src="` + root + `js/search.js"></script>` +
			`<input id=search disabled><ul id=results></ul><a href="` + root + `p/C.html">C</a>`
	}
	files := map[string][2]string{
		"/api/index.html": {"text/html", page("./")}, "/api/p/C.html": {"text/html", page("../")},
		"/api/js/search.js": {"text/javascript", `function load(name) { const s = document.createElement("script"); s.src = name; document.head.append(s) }
addEventListener("load", () => {
	for (const name of ["type-search-index.js", "member-search-index.js"]) load(pathtoroot + name);
	search.oninput = () => { results.innerHTML = ""; for (const r of [...types, ...members]) if (r.l.startsWith(search.value)) results.innerHTML += "<li>" + r.p + "." + r.l };
})
let types = [], members = [];
function ready() { if (types.length && members.length) search.disabled = false }`},
		"/api/type-search-index.js":   {"text/javascript", `types = [{"p":"java.util","l":"ArrayList"}, {"p":"java.util","l":"List"}]; ready()`},
		"/api/member-search-index.js": {"text/javascript", `members = [{"p":"java.util.ArrayList","l":"ArrayList()"}]; ready()`},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", f[0])
		w.Write([]byte(f[1]))
	}))
	t.Cleanup(s.Close)
	return s
}

// A search that needs files that only a script names works from disk. Without --page-requisites script, the summary has the command
// that gets them.
func TestPeers_SearchWorksFromDisk(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	site := searchSite(t)
	whole, lacking := filepath.Join(t.TempDir(), "d"), filepath.Join(t.TempDir(), "d")
	start := site.URL + "/api/index.html"
	inside(t, "mirror", "--quiet", "--delay", "0", "--dir", whole, start).want(t, cli.ExitDone)
	r := inside(t, "mirror", "--delay", "0", "--page-requisites", "scope", "--dir", lacking, start)
	r.want(t, cli.ExitDone, "scripts name files that were not requested; get them with curtsy update --page-requisites scope,script "+lacking)
	site.Close()

	host := strings.Replace(strings.TrimPrefix(site.URL, "http://"), ":", "+", 1)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("file://"+filepath.Join(mirror.Tree(whole), host, "api/p/C.html")),
		chromedp.WaitEnabled("#search"), chromedp.SendKeys("#search", "Array")))
	shown, err := chromedp.Run(ctx, chromedp.Text("#results"))
	require.NoError(t, err)
	if got := strings.Fields(shown); len(got) != 2 || got[0] != "java.util.ArrayList" || got[1] != "java.util.ArrayList.ArrayList()" {
		t.Errorf("the search shows %q", shown)
	}
}
