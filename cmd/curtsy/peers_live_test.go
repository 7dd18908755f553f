//go:build peers

package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/foreigntest"
	"curtsy/storage/mirror"
)

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
		at, keys string // what is typed there; empty for a click
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
