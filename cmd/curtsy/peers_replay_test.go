//go:build peers

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/foreigntest"
	"curtsy/storage/wacz"
)

const aboutPage = `<!doctype html><title>About us</title><p id="about">Since 1871</p><a href="/">home</a>`

// picturedBakery has a picture and a link.
func picturedBakery() *crawltest.Site {
	var loaf bytes.Buffer
	if err := png.Encode(&loaf, image.NewGray(image.Rect(0, 0, 37, 23))); err != nil {
		panic(err)
	}
	return &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
		"/": {
			Body: `<!doctype html><title>The bakery</title><p id="text">Rye and sourdough</p>` +
				`<img id="loaf" src="/loaf.png"><a id="on" href="/about.html">about us</a><a href="/copy.html">a copy</a>`,
			Links: []string{"/about.html", "/copy.html"}, Embeds: []string{"/loaf.png"},
		},
		"/about.html": {Body: aboutPage, Links: []string{"/"}},
		"/copy.html":  {Body: aboutPage, Links: []string{"/"}}, // the same bytes
		"/loaf.png":   {Body: loaf.String(), Type: "image/png"},
	}}
}

// replayArchive crawls the bakery and closes it. Of /about.html and /copy.html, which have the same bytes, one is a revisit.
func replayArchive(t *testing.T) (dir, site string) {
	t.Helper()
	web := crawltest.New(picturedBakery())
	require.NoError(t, web.Start())
	site = web.LoopbackURL("bakery.test")
	dir = filepath.Join(t.TempDir(), "d")
	shared(t, "crawl", "--delay", "0", "--dir", dir, "--quiet", site).want(t, cli.ExitDone)
	web.Close()
	require.Contains(t, archiveText(t, dir), "WARC-Type: revisit", "no revisit record in the archive")
	return dir, site
}

// player serves ReplayWeb.page and the archive at file.
func player(t *testing.T, clients, file string) string {
	t.Helper()
	files := http.NewServeMux()
	serve := func(at, path string) {
		files.HandleFunc(at, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) })
	}
	serve("/ui.js", filepath.Join(clients, "replaywebpage", "ui.js"))
	serve("/replay/sw.js", filepath.Join(clients, "replaywebpage", "sw.js"))
	name := "/" + filepath.Base(file)
	serve(name, file)
	files.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>player</title><script src="/ui.js"></script>
<replay-web-page embed="replayonly" replayBase="/replay/" source="%s" url="%s"></replay-web-page>`, name, r.FormValue("url"))
	})
	s := httptest.NewServer(files)
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// inFrames is JavaScript that finds an element in all frames and shadows of the player and evaluates do; null if it is missing.
func inFrames(id, do string) string {
	return fmt.Sprintf(`(() => {
	const find = root => {
		const own = root.getElementById && root.getElementById(%s);
		if (own) return own;
		for (const e of root.querySelectorAll("*")) {
			let found = e.shadowRoot && find(e.shadowRoot);
			if (!found && e.tagName === "IFRAME") try { found = e.contentDocument && find(e.contentDocument) } catch {}
			if (found) return found;
		}
		return null;
	};
	const e = find(document);
	return e && (%s);
})()`, strconv.Quote(id), do)
}

// look polls an element of the replayed page for at most d. Frames come and go, so errors do not count.
func look(tab context.Context, id, do string, d time.Duration) (text string, ok bool) {
	ok = within(d, 50*time.Millisecond, nil, func() bool {
		got, err := chromedp.Run(tab, chromedp.Evaluate[*string](inFrames(id, do+" || null")))
		if err != nil || got == nil {
			return false
		}
		text = *got
		return true
	})
	return text, ok
}

// opened opens an archived page in the player. The player shows nothing until its worker has started, and then needs a reload.
func opened(t *testing.T, tab context.Context, at, page, id, do string) string {
	t.Helper()
	for range 6 {
		require.NoError(t, chromedp.Do(tab, chromedp.Navigate(at+"?url="+url.QueryEscape(page))))
		if text, ok := look(tab, id, do, patience/6); ok {
			return text
		}
	}
	t.Fatalf("%s: #%s does not show", page, id)
	return ""
}

// replays fails unless a player shows the archive: text, picture, link, and a revisit.
func replays(t *testing.T, file, site string) (tab context.Context) {
	t.Helper()
	at := player(t, foreigntest.Clients(t), file)
	tab = browser(t)
	assert.Equal(t, "Rye and sourdough", opened(t, tab, at, site, "text", "e.textContent"), "the page")
	if size, _ := look(tab, "loaf", `e.complete && e.naturalWidth && (e.naturalWidth + "x" + e.naturalHeight)`, patience); size != "37x23" {
		t.Errorf("the picture is %q", size)
	}
	if _, ok := look(tab, "on", `(e.click(), "clicked")`, patience); !ok {
		t.Error("no link")
	}
	if text, _ := look(tab, "about", "e.textContent", patience); text != "Since 1871" {
		t.Errorf("the link leads to a page with %q", text)
	}
	const there = `e.ownerDocument.location.href.endsWith("copy.html") && e.textContent`
	assert.Equal(t, "Since 1871", opened(t, tab, at, site+"copy.html", "about", there), "copy.html")
	return tab
}

// ReplayWeb.page shows each form of archive, and a browser verifies the signature of a WACZ file.
func TestPeers_PlayerShowsArchives(t *testing.T) {
	t.Parallel()
	foreigntest.Clients(t)
	skipWithout(t, "chromium")
	dir, site := replayArchive(t)
	file := filepath.Join(t.TempDir(), "bakery.wacz")
	shared(t, "export", "--format", "wacz", dir, "-o", file, "--title", "Bread").want(t, cli.ExitDone) // the crawl's user has the key
	t.Run("WACZ", func(t *testing.T) { playerShowsWACZ(t, file, site) })
	t.Run("signature", func(t *testing.T) { browserVerifies(t, file) })
	t.Run("ZipNum", func(t *testing.T) { playerShowsZipNum(t, dir, site) })
	t.Run("WARC", func(t *testing.T) {
		replays(t, inDir(dir, filepath.Join(crawldir.ArchiveName, "curtsy-00000.warc.gz")), site)
	})
}

// playerShowsWACZ checks the player's list of pages, and the signature.
func playerShowsWACZ(t *testing.T, file, site string) {
	tab := replays(t, file, site)
	text, err := chromedp.Run(tab, chromedp.Evaluate[string](said, chromedp.EvalAwaitPromise))
	require.NoError(t, err)
	var coll struct {
		Title  string
		Pages  []struct{ URL, Title string }
		Verify struct {
			PublicKey, DatapackageHash string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &coll))
	titles := map[string]string{}
	for _, p := range coll.Pages {
		titles[p.URL] = p.Title
	}
	want := map[string]string{site: "The bakery", site + "about.html": "About us", site + "copy.html": "About us"}
	if !maps.Equal(titles, want) || coll.Title != "Bread" {
		t.Errorf("the player lists %v under %q", titles, coll.Title)
	}
	if v := coll.Verify; v.PublicKey == "" || !strings.HasPrefix(v.DatapackageHash, "sha256:") {
		t.Errorf("the player does not know the signature: %+v", v)
	}
}

// playerShowsZipNum packs a ZipNum index, of which players read blocks.
func playerShowsZipNum(t *testing.T, dir, site string) {
	parts, err := partsOf(dir)
	require.NoError(t, err)
	parts.PlainIndex = 1
	file := filepath.Join(t.TempDir(), "bakery.wacz")
	if _, err := wacz.Create(t.Context(), file, parts); err != nil {
		t.Fatal(err)
	}
	if all := unzipped(t, file); all["indexes/index.idx"] == "" || all["indexes/index.cdxj"] != "" {
		t.Fatal("the index is not ZipNum")
	}
	replays(t, file, site)
}

// said returns the player's data on the collection, as JSON.
const said = `(async () => {
	const player = document.querySelector("replay-web-page").shadowRoot.querySelector("iframe").contentWindow;
	const get = async path => (await player.fetch("/replay/w/api/" + path)).json();
	const all = await get("coll-index");
	return JSON.stringify(await get("c/" + all.colls[0].id + "?all=1"));
})()`

// browserVerifies checks the signature with Web Cryptography, like players.
func browserVerifies(t *testing.T, file string) {
	digest := []byte(unzipped(t, file)["datapackage-digest.json"])
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(digest) }))
	defer page.Close()
	tab := browser(t)
	require.NoError(t, chromedp.Do(tab, chromedp.Navigate(page.URL)))
	valid, err := chromedp.Run(tab, chromedp.Evaluate[[]bool](`(async () => {
		const d = (await (await fetch("/")).json()).signedData;
		const octets = s => Uint8Array.from(atob(s), c => c.charCodeAt(0));
		const key = await crypto.subtle.importKey("spki", octets(d.publicKey), {name: "ECDSA", namedCurve: "P-384"}, true, ["verify"]);
		const valid = text => crypto.subtle.verify({name: "ECDSA", hash: "SHA-256"}, key, octets(d.signature), new TextEncoder().encode(text));
		return [await valid(d.hash), await valid(d.hash + "0")];
	})()`, chromedp.EvalAwaitPromise))
	require.NoError(t, err)
	assert.Equal(t, []bool{true, false}, valid, "the signature and one of another text")
}
