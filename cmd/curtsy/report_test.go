package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	reports "curtsy/storage/report"
)

func readReport(t *testing.T, path string) *reports.Report {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r reports.Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return &r
}

func TestEveryCodeOfAnAuditHasAMeaning(t *testing.T) {
	t.Parallel()
	r := &audit.Result{Level: audit.SelfConsistent, Counts: []audit.Count{{Code: finding.Gap, Found: 3}, {Code: finding.CrashInFlight, Found: 2, Notes: 2}}}
	r.Totals.Violations = 3
	r.Findings = []finding.Finding{{Code: finding.Gap, URL: "http://h.example/", Required: "1 s", Observed: "0.5 s"}}
	a := auditTold(r)
	if a.Clean || a.Violations != 3 || len(a.Findings) != 2 || !a.Findings[0].Violation || a.Findings[1].Violation || len(a.Findings[0].Samples) != 1 {
		t.Errorf("%+v", a)
	}
}

// hostileSite is a site that plants script wherever a crawler may pick it up.
func hostileSite() http.Handler {
	const plant = `"><script>window.planted=1;alert(1)</script><img src=http://127.0.0.1:1/leak onerror=window.planted=1>`
	mux := http.NewServeMux()
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "User-agent: *\nDisallow: /no/'onmouseover='alert(1)'%s\nDisallow: /no</title><script>window.planted=1</script>\nDisallow: /no\nAllow: /<iframe src=javascript:alert(1)>\nContent-Signal: search=%s\n", plant, plant)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Robots-Tag", "noindex, "+plant)
		h.Set("TDM-Policy", plant)
		h.Set("Content-Usage", "</style><script>window.planted=1</script>")
		switch {
		case strings.HasPrefix(r.URL.Path, "/to"):
			h.Set("Location", `/away"><script>window.planted=1</script>`)
			w.WriteHeader(http.StatusFound)
			return
		case strings.HasPrefix(r.URL.Path, "/js"):
			h.Set("Location", "javascript:alert(1)//"+plant)
			w.WriteHeader(http.StatusFound)
			return
		case strings.HasPrefix(r.URL.Path, "/type"):
			h.Set("Content-Type", `text/<script>window.planted=1</script>`)
		case strings.HasPrefix(r.URL.Path, "/broken"):
			h.Set("Content-Type", `image/"onload="alert(1)`)
			w.WriteHeader(404)
			return
		default:
			h.Set("Content-Type", "text/html")
		}
		fmt.Fprintf(w, `<title></title><script>alert(1)</script>%s</title><meta name=robots content="nofollow-not, %s">
			<a href='/page"><script>window.planted=1</script>'>x</a><a href="/'onclick='window.planted=1">x</a>
			<a href="javascript:window.planted=1">x</a><a href="data:text/html,<script>alert(1)</script>">x</a>
			<a href="/no/<script>alert(1)</script>">x</a><a href='/no/%%22%%3E%%3Cscript%%3Ewindow.planted=1%%3C/script%%3E'>x</a>
			<a href="/no</title><script>window.planted=1</script>">x</a><a href="/<iframe src=javascript:alert(1)>">x</a>
			<a href="/to"></a><a href="/js"></a><a href="/type"></a><a href="/broken?<svg/onload=alert(1)>#<b>"></a>
			<a href="http://other.test/'\x3e<script>alert(1)</script>">x</a>`, "x", "y")
	})
	return mux
}

// visited is what a page did in a browser.
type visited struct {
	mu       sync.Mutex
	requests []string
	dialogs  int
}

// visit opens page in a browser and returns what it did: what it asked for, dialogs, and the elements it has that a report
// never has.
func visit(t *testing.T, tab context.Context, page string) (v *visited, marked bool, elements int) {
	t.Helper()
	v = &visited{}
	err := chromedp.Listen(tab, func(ev any) {
		v.mu.Lock()
		defer v.mu.Unlock()
		switch kind := fmt.Sprintf("%T", ev); {
		case strings.HasSuffix(kind, "network.EventRequestWillBeSent"):
			b, _ := json.Marshal(ev)
			v.requests = append(v.requests, string(b))
		case strings.HasSuffix(kind, "page.EventJavascriptDialogOpening"):
			v.dialogs++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(tab, chromedp.Navigate(page)); err != nil {
		t.Fatal(err)
	}
	if marked, err = chromedp.Run(tab, chromedp.Evaluate[bool]("window.planted === 1")); err != nil {
		t.Fatal(err)
	}
	const never = `document.querySelectorAll('script,img,iframe,object,embed,link,base,form,a[href^="javascript:"],a[href^="data:"],[onclick],[onload],[onerror],[onmouseover]').length`
	if elements, err = chromedp.Run(tab, chromedp.Evaluate[int](never)); err != nil {
		t.Fatal(err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v, marked, elements
}

// What a site plants is text in the report: no script runs, nothing is asked for, no element comes of it.
func TestReportOfAHostileSiteRunsNothingInABrowser(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(hostileSite())
	defer site.Close()
	tab := browser(t)
	dir := filepath.Join(t.TempDir(), "d")
	const plant = `</title><script>window.planted=1;alert(1)</script>`
	r := inside(t, "crawl", "--delay", "0", "--max-wait", "1s", "--max-pages", "40", "--operator", plant, "--purpose", `"onclick="alert(1)`+plant, "--exclude", plant,
		"--quiet", "--dir", dir, site.URL+`/?"><script>window.planted=1</script>`)
	if r.code != cli.ExitDone && r.code != cli.ExitIncomplete {
		t.Fatalf("%d: %s", r.code, r.err)
	}
	whole := filepath.Join(t.TempDir(), "whole.html")
	letter := filepath.Join(t.TempDir(), "letter.html")
	inside(t, "report", "-o", whole, dir).want(t, cli.ExitDone)
	inside(t, "report", "--host", "127.0.0.1", "-o", letter, dir).want(t, cli.ExitDone)
	told := readReport(t, strings.TrimSuffix(whole, ".html")+".json")
	if told.Totals.Exchanges < 5 || told.Totals.Disallowed < 2 || len(told.Prefs) == 0 {
		t.Fatalf("the site was hardly crawled: %+v, %v", told.Totals, told.Prefs)
	}
	for _, page := range []string{whole, letter} {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), "&lt;script&gt;") {
			t.Errorf("%s shows nothing of what was planted", page)
		}
		v, marked, elements := visit(t, tab, "file://"+filepath.ToSlash(page))
		if marked || v.dialogs > 0 || elements > 0 || len(v.requests) != 1 {
			t.Errorf("%s: marked %v, %d dialogs, %d elements, asked for %q", filepath.Base(page), marked, v.dialogs, elements, v.requests)
		}
	}
}

// The test above would see what it says is not there.
func TestVisitSeesWhatAPageDoes(t *testing.T) {
	t.Parallel()
	tab := browser(t)
	page := write(t, `<script>window.planted=1</script><img src="http://127.0.0.1:1/leak">`)
	named := page + ".html"
	if err := os.Rename(page, named); err != nil {
		t.Fatal(err)
	}
	v, marked, elements := visit(t, tab, "file://"+filepath.ToSlash(named))
	if !marked || elements != 2 || len(v.requests) < 2 {
		t.Errorf("marked %v, %d elements, asked for %q", marked, elements, v.requests)
	}
}
