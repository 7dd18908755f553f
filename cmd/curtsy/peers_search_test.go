//go:build peers

package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/mirror"
)

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
