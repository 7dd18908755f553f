package main

import (
	"archive/zip"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/storage/mirror"
)

// On a telephone nothing of a report has to be pushed sideways but a table within itself; and who, when and the verdict come
// before the operator's own hosts.
func TestReportsFitANarrowScreen(t *testing.T) {
	t.Parallel()
	tab := browser(t)
	dir, _ := stopped(t)
	inside(t, "report", dir).want(t, cli.ExitDone)
	letter := filepath.Join(t.TempDir(), "letter.html")
	inside(t, "report", "--host", "127.0.0.1", "-o", letter, dir).want(t, cli.ExitDone)
	for _, page := range []string{filepath.Join(dir, "report.html"), letter} {
		var wide float64
		var order []string
		err := chromedp.Do(tab, chromedp.EmulateViewport(390, 844), chromedp.Navigate("file://"+page))
		if err == nil {
			wide, err = chromedp.Run(tab, chromedp.Evaluate[float64](`document.documentElement.scrollWidth`))
		}
		if err == nil {
			order, err = chromedp.Run(tab, chromedp.Evaluate[[]string](`[...document.querySelectorAll("h2")].map(h => h.id)`))
		}
		if err != nil {
			t.Fatal(err)
		}
		if wide > 390 {
			out, _ := chromedp.Run(tab, chromedp.Evaluate[[]string](`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > 391 && !e.closest("tr")).map(e => e.tagName + " " + e.className + " " + e.textContent.slice(0, 40))`))
			t.Errorf("%s is %v px wide on a screen of 390: %q", filepath.Base(page), wide, out)
		}
		pushed, err := chromedp.Run(tab, chromedp.Evaluate[[]string](`[...document.querySelectorAll("table.fit")].filter(e => e.scrollWidth > e.clientWidth || getComputedStyle(e).overflowX != "visible" || e.getBoundingClientRect().right > 391).map(e => e.textContent.slice(0, 40))`))
		if err != nil || len(pushed) > 0 {
			t.Errorf("%s: tables that do not fit: %q, %v", filepath.Base(page), pushed, err)
		}
		if got := strings.Join(order, " "); page != letter && !strings.HasPrefix(got, "what audit own ") {
			t.Errorf("%s has its parts in the order %s", page, got)
		}
	}
}

// axe-core finds nothing in any page that curtsy writes or serves, on a wide screen or a narrow one. TestDashboardInABrowser has the
// pages of a crawl that runs.
func TestWrittenPages_Accessible(t *testing.T) {
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
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := os.CopyFS(filepath.Join(out, "bundle"), z); err != nil {
		t.Fatal(err)
	}
	pages["bundle"] = "file://" + filepath.Join(out, "bundle", "index.html")
	inside(t, "identity", "init", "--dir", filepath.Join(out, "identity"), "--url", "https://library.org/bot/", "--operator", "The Library", "--purpose", "A yearly archive.",
		"--contact", "crawl@library.org", "--retention", "Ten years.", "--agent", "libbot", "--range", "192.0.2.17/28").want(t, cli.ExitDone)
	pages["identity"] = "file://" + filepath.Join(out, "identity", "index.html")
	second := filepath.Join(out, "second")
	inside(t, "crawl", "--quiet", "--delay", "0", "--dir", second, web.LoopbackURL("news.test")).want(t, cli.ExitDone)
	pages["dashboard"] = shown(t, dir, second)
	inside(t, "mirror", "rebuild", dir).want(t, cli.ExitDone)
	mirrored, err := mirror.NewHandler(mirror.ServeOptions{Tree: mirror.Tree(dir)})
	if err != nil {
		t.Fatal(err)
	}
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
