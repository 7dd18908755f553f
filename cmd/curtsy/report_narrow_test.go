package main

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
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

// axe-core finds nothing in any page that curtsy writes, on a wide screen or a narrow one.
func TestWrittenPages_Accessible(t *testing.T) {
	t.Parallel()
	tab := browser(t)
	axe := axeCore(t)
	dir, web := crawledOnce(t, newsSite())
	web.Change("news.test", func(s *crawltest.Site) {
		s.Pages = maps.Clone(s.Pages)
		delete(s.Pages, "/goes")
		s.Pages["/changes"] = crawltest.Page{Text: "the second", Links: []string{"/new", "/broken"}}
		s.Pages["/new"] = crawltest.Page{Text: "the second"}
	})
	inside(t, "update", "--quiet", dir).want(t, cli.ExitDone)
	out := t.TempDir()
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
		for _, l := range glances() {
			l.set(t, tab)
			goTo(t, tab, "file://"+page)
			if _, err := chromedp.Run(tab, chromedp.Evaluate[bool](axe+"; true")); err != nil {
				t.Fatal(err)
			}
			l.accessible(t, tab, name+", "+l.name)
			l.keep(t, tab, name)
		}
	}
}
