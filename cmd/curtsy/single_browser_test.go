package main

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/mirror"
)

// A page of a mirror in which pages hold what they need is taken elsewhere, alone, and opened from disk: it shows its styles
// and pictures, its script runs, and it asks for nothing else.
func TestASinglePageAsksForNothingElse(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 7, 5))); err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		files := map[string][2]string{
			"/": {"text/html", `<!doctype html><meta charset=utf-8><meta http-equiv=Content-Security-Policy content="default-src 'self'"><link rel=stylesheet href=/s.css integrity="sha256-AAAA">` +
				`<script src=/e.js integrity="sha256-AAAA" crossorigin></script><img id=i src=/p.png><img id=s srcset="/p.png 1x"><svg><image id=v href="/v.svg#x" width=9 height=9 /></svg><p id=p>text</p>`},
			"/s.css": {"text/css", `@import "t.css"; #p{background:url(p.png)}`}, "/t.css": {"text/css", `#p{color:rgb(1, 2, 3)}/*</style>*/`},
			"/e.js": {"text/javascript", `document.title = "</script>ran"`}, "/p.png": {"image/png", picture.String()},
			"/v.svg": {"image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"><image href="p.png"/></svg>`},
		}
		f, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", f[0])
		w.Write([]byte(f[1]))
	}))
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "mirror", "--quiet", "--layout", "single", "--delay", "0", "--dir", dir, site.URL).want(t, cli.ExitDone)
	site.Close()
	var page []byte
	for e, err := range mirror.Map(mirror.Tree(dir)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.File != "" {
			page, _ = os.ReadFile(filepath.Join(mirror.Tree(dir), filepath.FromSlash(e.File)))
		}
	}
	alone := filepath.Join(t.TempDir(), "alone.html")
	if err := os.WriteFile(alone, page, 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var asked []string
	err := chromedp.Listen(ctx, func(ev any) {
		if e, ok := ev.(*network.EventRequestWillBeSent); ok && !strings.HasPrefix(e.Request.URL, "data:") {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, e.Request.URL)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Run(ctx, chromedp.Navigate("file://"+alone)); err != nil {
		t.Fatal(err)
	}
	shown, err := chromedp.Run(ctx, chromedp.Evaluate[string](`[document.title, i.naturalWidth, s.naturalHeight, getComputedStyle(p).color, getComputedStyle(p).backgroundImage.slice(0, 20)].join(" ")`))
	if err != nil {
		t.Fatal(err)
	}
	if want := `</script>ran 7 5 rgb(1, 2, 3) url("data:image/png;`; shown != want {
		t.Errorf("it shows %q, want %q", shown, want)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 1 || asked[0] != "file://"+alone {
		t.Errorf("it asks for %q, and should for itself alone", asked)
	}
}
