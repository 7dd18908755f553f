package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/crawler/crawltest"
)

// addressIn finds the address of the dashboard in what a command says.
type addressIn struct {
	mu    sync.Mutex
	text  strings.Builder
	found chan string
}

var dashboardAddress = regexp.MustCompile(`dashboard: (http://\S+)\n`)

func (a *addressIn) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text.Write(b)
	if m := dashboardAddress.FindStringSubmatch(a.text.String()); m != nil {
		select {
		case a.found <- m[1]:
		default:
		}
	}
	return len(b), nil
}

// hostileText is a path, a title, a header, a status line and a robots.txt that would run if they were taken for HTML.
const hostileText = `"><img src=x onerror=window.planted=1><script>window.planted=1</script>`

// dashboardWeb is a web that keeps a crawl busy for minutes, with a hostile site in it.
func dashboardWeb() *crawltest.Web {
	var sites []*crawltest.Site
	for _, name := range []string{"bakery", "library", "museum", "garden", "harbour"} {
		sites = append(sites, &crawltest.Site{
			Name: name + ".test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /9\nAllow: /99\n"},
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				if r.URL.Path == "/40" {
					w.WriteHeader(http.StatusInternalServerError)
				}
				fmt.Fprintf(w, "<title>%s</title>", r.URL.Path)
				for n := range 120 {
					fmt.Fprintf(w, `<a href="/%d">%d</a> `, n, n)
				}
			}),
		})
	}
	sites = append(sites, &crawltest.Site{
		Name: "hostile.test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /no" + hostileText + "\n# " + hostileText + "\nCrawl-delay: 1\n"},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html"+hostileText)
			w.Header().Set("X-Robots-Tag", hostileText)
			switch r.URL.Path {
			case "/moved":
				w.Header().Set("Location", "/to/"+hostileText)
				w.WriteHeader(http.StatusFound)
			case "/":
				w.Header().Set("Content-Type", "text/html")
				e := url.PathEscape(hostileText)
				fmt.Fprintf(w, `<title>%[1]s</title><a href="/moved">x</a><a href="/%[2]s">x</a><a href="/no%[2]s">x</a><a href='/raw?%[3]s'>x</a>`,
					hostileText, e, hostileText)
			}
		}),
	})
	return crawltest.New(sites...)
}

// dashboarded crawls a web with a dashboard beside it until the test ends, and returns the dashboard's address.
func dashboarded(t *testing.T) (address, dir string) {
	t.Helper()
	web := dashboardWeb()
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	said := &addressIn{found: make(chan string, 1)}
	cmd := crawlcmd.NewIn(crawlcmd.World{Resolve: web.Resolve, Dial: web.Dial}, cli.Streams{In: strings.NewReader(""), Out: said, Err: said})
	dir = filepath.Join(t.TempDir(), "museum crawl")
	cmd.SetArgs([]string{
		"--dashboard", "127.0.0.1:0", "--dir", dir, "--contact", "crawl@library.org", "--own-site", "none", "--allow-net", web.Net().String(),
		"http://bakery.test/", "http://library.test/", "http://museum.test/", "http://garden.test/", "http://harbour.test/", "http://hostile.test/",
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		web.Close()
	})
	select {
	case address = <-said.found:
	case err := <-done:
		done <- err
		t.Fatalf("the crawl ended: %v\n%s", err, said.text.String())
	}
	home, _, _ := strings.Cut(address, "?")
	for ready := false; !ready; {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, home+"readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		ready = resp.StatusCode == http.StatusOK
		resp.Body.Close()
	}
	return address, dir
}

// overheard is what a tab did that it must not.
type overheard struct {
	mu       sync.Mutex
	problems []string
}

func (o *overheard) add(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.problems = append(o.problems, fmt.Sprintf(format, args...))
}

// none fails the test if something was overheard, and forgets it.
func (o *overheard) none(t *testing.T, where string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.problems {
		t.Errorf("%s: %s", where, p)
	}
	o.problems = nil
}

// listening notes what a tab writes into its console, and what it asks others for.
func listening(t *testing.T, tab context.Context, home string) *overheard {
	t.Helper()
	o := &overheard{}
	err := chromedp.Listen(tab, func(ev any) {
		switch e := ev.(type) {
		case *cdpruntime.EventConsoleAPICalled:
			if string(e.Type) == "error" || string(e.Type) == "warning" {
				o.add("console: %v", e.Args)
			}
		case *log.EventEntryAdded:
			if string(e.Entry.Level) == "error" {
				o.add("console: %s %s", e.Entry.Text, e.Entry.URL)
			}
		case *cdpruntime.EventExceptionThrown:
			o.add("exception: %s", e.ExceptionDetails.Text)
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, home) {
				o.add("asked for %s", e.Request.URL)
			}
		case *network.EventResponseReceived:
			if e.Response.Status >= 400 {
				o.add("%s: status %d", e.Response.URL, e.Response.Status)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// goTo opens a page of the dashboard and waits until it has been brought up to date.
func goTo(t *testing.T, tab context.Context, at string) {
	t.Helper()
	if err := chromedp.Do(tab, chromedp.Navigate(at)); err != nil {
		t.Fatalf("%s: %v", at, err)
	}
}

// until waits for an expression to be true in a page.
func until(t *testing.T, tab context.Context, what, expression string) {
	t.Helper()
	var err error
	for range 5 { // a form leads to another page, which ends the wait on this one
		if _, err = chromedp.Run(tab, chromedp.Poll[bool]("(() => { try { return !!("+expression+") } catch { return false } })()", chromedp.WithPollingInterval(100*time.Millisecond))); err == nil {
			return
		}
		if !strings.Contains(err.Error(), "navigated") && !strings.Contains(err.Error(), "context") {
			break
		}
	}
	said, _ := chromedp.Run(tab, chromedp.Text("body"))
	t.Fatalf("%s: %v\n%s", what, err, said)
}

// textOf is what an expression says.
func textOf(t *testing.T, tab context.Context, expression string) string {
	t.Helper()
	s, err := chromedp.Run(tab, chromedp.Evaluate[string](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return s
}

// press clicks what a selector names, and does not wait.
func press(t *testing.T, tab context.Context, selector string) {
	t.Helper()
	if _, err := chromedp.Run(tab, chromedp.Evaluate[bool](fmt.Sprintf("(document.querySelector(%q).click(), true)", selector))); err != nil {
		t.Fatalf("press %s: %v", selector, err)
	}
}

// glance is how a page is looked at.
type glance struct {
	name          string
	width, height int64
	dark          bool
}

func glances() []glance {
	return []glance{{"light", 1280, 900, false}, {"dark", 1280, 900, true}, {"narrow", 390, 844, false}, {"narrow dark", 390, 844, true}, {"4K", 3840, 2160, false}}
}

func (l glance) set(t *testing.T, tab context.Context) {
	t.Helper()
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	err := chromedp.Do(tab, chromedp.EmulateViewport(l.width, l.height), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
}

// accessible has axe-core judge a page, and sees that nothing of it is out of reach to the side.
func accessible(t *testing.T, tab context.Context, axe, where string) {
	t.Helper()
	said, err := chromedp.Run(tab, chromedp.Evaluate[string](axe+`;
		axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.map((v) => v.id + ": " + v.help + " – " + v.nodes.map((n) => n.target + " " + (n.any[0] ? n.any[0].message : "")).slice(0, 3).join("; ")).join("\n"))`,
		chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: axe: %v", where, err)
	}
	if said != "" {
		t.Errorf("%s: axe says\n%s", where, said)
	}
	wide, err := chromedp.Run(tab, chromedp.Evaluate[int](`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
	if err != nil || wide > 0 {
		t.Errorf("%s: it is %d pixels too wide, %v", where, wide, err)
	}
}

// axeCore is the judge that npm installs (.ci/clients).
func axeCore(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", ".ci", "clients", "node_modules", "axe-core", "axe.min.js"))
	switch {
	case err == nil:
	case os.Getenv("CURTSY_MUST_RUN") != "":
		t.Fatalf("CURTSY_MUST_RUN is set: %v", err)
	default:
		t.Skip("axe-core is not installed: npm ci --ignore-scripts in .ci/clients")
	}
	return string(b)
}

// keep keeps a picture of a page, where somebody says so.
func keep(t *testing.T, tab context.Context, name string) {
	t.Helper()
	folder := os.Getenv("CURTSY_PICTURES")
	if folder == "" {
		return
	}
	b, err := chromedp.Run(tab, chromedp.FullScreenshot(90))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, strings.ReplaceAll(name, " ", "-")+".jpg"), b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A browser sees a running crawl, its numbers move, and what the operator does is done: a host is parked and released, the
// crawl is paused and goes on, a seed is added. Nothing planted runs, no other server is asked, and nothing is said in the
// console; axe-core finds nothing in any look.
func TestADashboardInABrowser(t *testing.T) {
	tab := browser(t, 3*time.Minute)
	axe := axeCore(t)
	address, _ := dashboarded(t)
	home, _, _ := strings.Cut(address, "?")
	home = strings.TrimSuffix(home, "/")
	o := listening(t, tab, home)

	goTo(t, tab, address)
	if at := textOf(t, tab, "location.href"); at != home+"/crawl/0/" {
		t.Errorf("the address leads to %s", at)
	}
	until(t, tab, "the page is brought up to date", `Number(document.documentElement.dataset.updates) > 1`)
	before := textOf(t, tab, `document.getElementById("to-go").textContent + document.getElementById("out").textContent`)
	until(t, tab, "numbers move", fmt.Sprintf(`document.getElementById("to-go").textContent + document.getElementById("out").textContent !== %q`, before))
	until(t, tab, "there is a rate", `parseFloat(document.getElementById("pages-per-s").textContent) > 0`)
	o.none(t, "overview")

	goTo(t, tab, home+"/crawl/0/host?name=http://museum.test")
	until(t, tab, "robots.txt shows its rule that decides", `document.querySelector(".decides") || document.querySelector(".file")`)
	press(t, tab, "#hostacts form button")
	until(t, tab, "the host is parked", `document.getElementById("host-state").textContent === "parked by operator"`)
	goTo(t, tab, home+"/crawl/0/hosts?state=parked+by+operator")
	until(t, tab, "the table has the parked host", `document.querySelector("#hosts tbody").textContent.includes("museum.test")`)
	goTo(t, tab, home+"/crawl/0/host?name=http://museum.test")
	press(t, tab, "#hostacts form button")
	until(t, tab, "the host is released", `document.getElementById("host-state").textContent !== "parked by operator"`)

	goTo(t, tab, home+"/crawl/0/")
	press(t, tab, "#acts form button")
	until(t, tab, "the crawl is paused", `document.getElementById("state").textContent === "paused"`)
	press(t, tab, "#acts form button")
	until(t, tab, "the crawl goes on", `document.getElementById("state").textContent === "running"`)

	goTo(t, tab, home+"/crawl/0/decisions?decision=disallow")
	until(t, tab, "decisions are filtered", `document.querySelector("#lines .tag") && [...document.querySelectorAll("#lines .tag")].every((e) => e.textContent === "disallowed")`)
	press(t, tab, "#lines tbody a")
	until(t, tab, "a decision leads to its explanation", `document.querySelector(".answer") && document.querySelector(".answer").textContent.includes("disallow")`)
	o.none(t, "acts")

	pages := []struct{ name, path string }{
		{"overview", "/crawl/0/"}, {"hosts", "/crawl/0/hosts"}, {"host", "/crawl/0/host?name=http://bakery.test&url=http://bakery.test/99"},
		{"hostile host", "/crawl/0/host?name=http://hostile.test"}, {"decisions", "/crawl/0/decisions"}, {"hostile decisions", "/crawl/0/decisions?host=http://hostile.test"},
		{"explain", "/crawl/0/explain?url=http://bakery.test/9"}, {"hostile explain", "/crawl/0/explain?url=" + url.QueryEscape("http://hostile.test/no"+hostileText)},
		{"trouble", "/crawl/0/host?name=%20"},
	}
	for _, l := range glances() {
		l.set(t, tab)
		for _, p := range pages {
			goTo(t, tab, home+p.path)
			if p.name == "overview" {
				until(t, tab, "a curve", `document.querySelector("#rate polyline")`)
			}
			accessible(t, tab, axe, p.name+", "+l.name)
			keep(t, tab, p.name+" "+l.name)
			if planted := textOf(t, tab, `String(window.planted)`); planted != "undefined" {
				t.Errorf("%s: what was planted ran", p.name)
			}
			if p.name == "trouble" {
				o.mu.Lock()
				o.problems = nil // it is answered with a status that says so
				o.mu.Unlock()
			}
			o.none(t, p.name+", "+l.name)
		}
	}
}

// Without JavaScript a page has the same words, and reloads itself.
func TestADashboardWithoutJavaScript(t *testing.T) {
	tab := browser(t)
	address, _ := dashboarded(t)
	err := chromedp.Do(tab, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	goTo(t, tab, address)
	said, err := chromedp.Run(tab, chromedp.Text("body"))
	if err != nil || !strings.Contains(said, "Rate, and what politeness permits") || !strings.Contains(said, "museum crawl") || strings.Contains(said, "Hold updates") {
		t.Errorf("%v\n%s", err, said)
	}
}
