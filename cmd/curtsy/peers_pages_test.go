//go:build peers

package main

import (
	"archive/zip"
	"bufio"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
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
