package chromium

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func TestWithoutChromiumItSaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Program(""); err != nil && (!strings.Contains(err.Error(), "apt install chromium") || !strings.Contains(err.Error(), "--chromium")) {
		t.Error(err)
	}
	if _, err := Program("no-such-browser"); err == nil || !strings.Contains(err.Error(), "no-such-browser") {
		t.Errorf("%v", err)
	}
}

// One browser opens a page of each kind. Nobody is asked for anything, of the profile nothing is left.
func TestEachPageTellsWhatFailedOnIt(t *testing.T) {
	program, err := Program("")
	switch {
	case err != nil && os.Getenv("CURTSY_MUST_RUN") != "":
		t.Fatalf("%v, and CURTSY_MUST_RUN is set", err)
	case err != nil:
		t.Skip(err)
	}
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	dir := t.TempDir()
	temp, err := os.MkdirTemp("", "c") // sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	t.Setenv("TMPDIR", temp)
	var pages []Page
	add := func(name, body string) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".html") {
			pages = append(pages, Page{name, "file://" + path})
		}
	}
	add("here.js", "export let x = 1")
	add("good.html", `<!doctype html><script src=good.js></script><p>well`)
	add("good.js", `alert("nobody answers"); window.open("good.html")`)
	add("lacks.html", `<img src=no.png><script>fetch("no.json").catch(() => 0); let s = document.createElement("script"); s.src = "late.js"; document.head.append(s)</script>`)
	add("abroad.html", fmt.Sprintf(`<img src=%s/a.png><script src=http://elsewhere.invalid/b.js></script>`, server.URL))
	add("module.html", `<script type=module src=here.js></script>`)
	add("throws.html", `<script>console.error("it says", 7); nothing.here()</script>`)
	add("leaves.html", `<script>addEventListener("load", () => setTimeout(() => { location = "about:blank" }, 0))</script>`)
	add("last.html", `<script>for (let i = 0; i < 300; i++) console.error("error", i)</script>`)
	pages = append(pages, Page{"absent.html", "file://" + filepath.Join(dir, "absent.html")})
	got := map[string][]string{}
	totals, err := Open(t.Context(), program, slices.Values(pages), func(f Finding) error {
		f.URL = strings.Replace(strings.TrimPrefix(f.URL, "file://"+dir+"/"), server.URL, "SERVER", 1)
		got[f.Page] = append(got[f.Page], fmt.Sprintf("%s %s %s refused=%v elsewhere=%v", f.Kind, f.URL, f.Why, f.Refused, f.Elsewhere))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range got {
		slices.Sort(list)
	}
	want := map[string][]string{
		"lacks.html": {
			"request late.js net::ERR_FILE_NOT_FOUND refused=false elsewhere=false",
			"request no.json net::ERR_FAILED refused=true elsewhere=false",
			"request no.png net::ERR_FILE_NOT_FOUND refused=false elsewhere=false",
		},
		"abroad.html": {
			"request SERVER/a.png net::ERR_NAME_NOT_RESOLVED refused=false elsewhere=true",
			"request http://elsewhere.invalid/b.js net::ERR_NAME_NOT_RESOLVED refused=false elsewhere=true",
		},
		"throws.html": {
			"console throws.html it says 7 refused=false elsewhere=false",
			"exception throws.html ReferenceError: nothing is not defined refused=false elsewhere=false",
		},
		"module.html": {"request here.js net::ERR_FAILED refused=true elsewhere=false"},
		"absent.html": {"request absent.html net::ERR_FILE_NOT_FOUND refused=false elsewhere=false"},
	}
	if n := len(got["last.html"]); n != MaxOnPage || totals.Dropped != 200 {
		t.Errorf("%d findings of one page are kept, %d dropped", n, totals.Dropped)
	}
	delete(got, "last.html")
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	if totals.Pages != int64(len(pages)) || totals.Elsewhere != 2 {
		t.Errorf("%+v", totals)
	}
	if asked.Load() > 0 {
		t.Errorf("a server of this machine was asked %d times", asked.Load())
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
