//go:build peers

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
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
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/crawler/crawltest"
)

// overheard collects the problems of a tab.
type overheard struct {
	mu       sync.Mutex
	problems []string
}

func (o *overheard) add(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.problems = append(o.problems, fmt.Sprintf(format, args...))
}

// none fails the test if there was a problem, and clears the list.
func (o *overheard) none(t *testing.T, where string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.problems {
		t.Errorf("%s: %s", where, p)
	}
	o.problems = nil
}

// listening notes console messages, and requests to other servers.
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
	require.NoError(t, err)
	return o
}

func goTo(t *testing.T, tab context.Context, at string) {
	t.Helper()
	require.NoError(t, chromedp.Do(tab, chromedp.Navigate(at)), at)
}

func until(t *testing.T, tab context.Context, what, expression string) {
	t.Helper()
	var err error
	for range 5 { // a form leads to another page, which ends the wait on this one
		if _, err = chromedp.Run(tab, chromedp.Poll[bool]("(() => { try { return !!("+expression+") } catch { return false } })()", chromedp.WithPollingInterval(100*time.Millisecond), chromedp.WithPollingTimeout(patience))); err == nil {
			return
		}
		if !strings.Contains(err.Error(), "navigated") && !strings.Contains(err.Error(), "context") {
			break
		}
	}
	text, _ := chromedp.Run(tab, chromedp.Text("body"))
	t.Fatalf("%s: %v\n%s", what, err, text)
}

func textOf(t *testing.T, tab context.Context, expression string) string {
	t.Helper()
	s, err := chromedp.Run(tab, chromedp.Evaluate[string](expression))
	require.NoError(t, err, expression)
	return s
}

// press clicks an element without waiting.
func press(t *testing.T, tab context.Context, selector string) {
	t.Helper()
	if _, err := chromedp.Run(tab, chromedp.Evaluate[bool](fmt.Sprintf("(document.querySelector(%q).click(), true)", selector))); err != nil {
		t.Fatalf("press %s: %v", selector, err)
	}
}

// glance is a look of a page.
type glance struct {
	name          string
	width, height int64
	dark          bool
	rules         string // of axe-core; "" for all
}

func glances() []glance {
	return []glance{
		{"light", 1280, 900, false, ""}, {"dark", 1280, 900, true, "color-contrast"}, {"narrow", 390, 844, false, ""},
		{"narrow dark", 390, 844, true, "color-contrast"}, {"4K", 3840, 2160, false, "color-contrast"},
	}
}

// set applies the look to a tab, with reduced motion.
func (l glance) set(t *testing.T, tab context.Context) {
	t.Helper()
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	err := chromedp.Do(tab, chromedp.EmulateViewport(l.width, l.height), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		})
		return err
	}))
	require.NoError(t, err)
}

// accessible checks a page with axe-core, its width, and that nothing moves.
func (l glance) accessible(t *testing.T, tab context.Context, where string) {
	t.Helper()
	only := ""
	if l.rules != "" {
		only = fmt.Sprintf("runOnly: [%q],", l.rules)
	}
	violations, err := chromedp.Run(tab, chromedp.Evaluate[string](`axe.run(document, {`+only+`resultTypes: ["violations"]}).then((r) => r.violations.map((v) => v.id + ": " + v.help + " – " +
		v.nodes.map((n) => n.target + " " + (n.any[0] ? n.any[0].message : "")).slice(0, 3).join("; ")).join("\n"))`, chromedp.EvalAwaitPromise))
	require.NoErrorf(t, err, "%s: axe", where)
	assert.Emptyf(t, violations, "%s: axe", where)
	if wide := textOf(t, tab, `String(document.documentElement.scrollWidth - document.documentElement.clientWidth)`); wide != "0" {
		t.Errorf("%s: it is %s pixels too wide", where, wide)
	}
	if out := textOf(t, tab, `[...document.querySelectorAll("table.fit")].filter((e) => e.scrollWidth > e.clientWidth || getComputedStyle(e).overflowX !== "visible").map((e) => e.textContent.slice(0, 40)).join(", ")`); out != "" {
		t.Errorf("%s: tables that do not fit: %s", where, out)
	}
	if moves := textOf(t, tab, `String(document.getAnimations().length)`); moves != "0" {
		t.Errorf("%s: %s parts of it move", where, moves)
	}
}

// axeCore is the script that npm installs (.ci/clients).
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

// keep saves a screenshot in the folder $CURTSY_ARTEFACTS, if it is set.
func (l glance) keep(t *testing.T, tab context.Context, name string) {
	t.Helper()
	folder := os.Getenv("CURTSY_ARTEFACTS")
	if folder == "" {
		return
	}
	b, err := chromedp.Run(tab, chromedp.FullScreenshot(100))
	path := filepath.Join(folder, "dashboard", strings.ReplaceAll(name+" "+l.name, " ", "-")+".png")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, b, 0o644)
	}
	require.NoError(t, err)
}

// hostileNeighbour is a page on another port of this machine, to which the browser's cookie also applies. It tries everything that a
// page can.
func hostileNeighbour(home string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>neighbour</title><script>
const home = %q, act = home + "/crawl/0/act", form = "form=0&verb=pause";
window.read = []; window.tried = 0;
const tries = (name, promise) => promise.then((r) => r, () => null).then((r) => { if (r) window.read.push(name); window.tried++; });
tries("fetch", fetch(home + "/api/status", {credentials: "include"}).then((r) => r.text()));
tries("fetch of a page", fetch(home + "/crawl/0/", {credentials: "include"}).then((r) => r.text()));
tries("post", fetch(act, {method: "POST", credentials: "include", headers: {"Content-Type": "application/x-www-form-urlencoded"}, body: form}).then((r) => r.text()));
tries("post unseen", fetch(act, {method: "POST", mode: "no-cors", credentials: "include", headers: {"Content-Type": "text/plain"}, body: form}).then(() => ""));
tries("post as JSON", fetch(act, {method: "POST", credentials: "include", headers: {"Content-Type": "application/json"}, body: "{}"}).then((r) => r.text()));
tries("get that acts", fetch(act + "?" + form, {mode: "no-cors", credentials: "include"}).then(() => ""));
tries("picture", new Promise((yes) => { const i = new Image(); i.onload = () => yes("drawn"); i.onerror = () => yes(""); i.src = home + "/assets/icon.svg"; }));
tries("script", new Promise((yes) => { const s = document.createElement("script"); s.onload = () => yes("loaded"); s.onerror = () => yes(""); s.src = home + "/assets/page.js"; document.head.append(s); }));
tries("events", new Promise((yes) => { const e = new EventSource(home + "/crawl/0/", {withCredentials: true}); e.onmessage = () => yes("heard"); e.onerror = () => { e.close(); yes(""); }; }));
tries("socket", new Promise((yes) => { const s = new WebSocket(home.replace("http", "ws") + "/crawl/0/"); s.onopen = () => yes("open"); s.onerror = () => yes(""); }));
addEventListener("DOMContentLoaded", () => {
  tries("frame", new Promise((yes) => { const f = document.createElement("iframe"); f.name = "f"; f.onload = () => { try { yes(f.contentDocument.body.textContent); } catch { yes(""); } }; f.src = home + "/crawl/0/"; document.body.append(f); }));
  tries("form", new Promise((yes) => {
    const f = document.createElement("iframe"); f.name = "g"; document.body.append(f);
    document.body.insertAdjacentHTML("beforeend", '<form id=x method=post target=g action="' + act + '"><input name=form value=0><input name=verb value=pause></form>');
    f.onload = () => yes(""); document.getElementById("x").submit();
  }));
});
</script>`, home)
	})
}

// A browser shows a running crawl, and the operator's actions work, also by keyboard and without scripts. It contacts no other
// server, the console is empty, and axe-core finds nothing. A page on another port can read and do nothing.
func TestPeers_Dashboard(t *testing.T) {
	t.Parallel()
	tab := browser(t, 3*time.Minute)
	axe := axeCore(t)
	args, web := []string{"--own-site", "none"}, dashboardWeb()
	for _, h := range web.Hosts() {
		args = append(args, "http://"+h+"/")
	}
	address := dashboarded(t, web, filepath.Join(t.TempDir(), "town crawl"), args...)
	home, _, _ := strings.Cut(address, "/?")
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

	goTo(t, tab, home+"/crawl/0/decisions?decision=disallow")
	until(t, tab, "decisions are filtered", `document.querySelector("#lines .tag") && [...document.querySelectorAll("#lines .tag")].every((e) => e.textContent === "disallowed")`)
	press(t, tab, "#lines tbody a")
	until(t, tab, "a decision leads to its explanation", `document.querySelector(".answer") && document.querySelector(".answer").textContent.includes("disallow")`)
	o.none(t, "acts")

	goTo(t, tab, home+"/crawl/0/steer")
	for _, l := range []struct{ setting, lines, now string }{
		{"stop-when", "pages=90000\\nerrors>90%", "pages=90000, errors>90%"}, {"window", "Mon-Sun 00:00-24:00", "Mon-Sun 00:00-24:00"},
	} {
		form := fmt.Sprintf(`form:has(input[name="setting"][value=%q])`, l.setting)
		assert.NotEmptyf(t, textOf(t, tab, fmt.Sprintf(`document.querySelector('%s textarea').value = "%s"`, form, l.lines)), "%s has no text area", l.setting)
		press(t, tab, form+" button")
		until(t, tab, l.setting+" is set", fmt.Sprintf(`document.getElementById("now-%s").textContent === %q`, l.setting, l.now))
	}
	o.none(t, "text areas")

	pages := []struct{ name, path string }{
		{"trouble", "/crawl/0/host?name=%20"}, {"explain", "/crawl/0/explain?url=http://bakery.test/drafts/9"}, {"decisions", "/crawl/0/decisions"}, {"steer", "/crawl/0/steer"},
		{"hosts", "/crawl/0/hosts"}, {"host", "/crawl/0/host?name=http://bakery.test&url=http://bakery.test/drafts/29"}, {"overview", "/crawl/0/"},
	}
	for _, p := range pages {
		goTo(t, tab, home+p.path)
		if p.name == "overview" {
			until(t, tab, "a curve", `document.querySelector("#rate polyline")`)
		}
		if _, err := chromedp.Run(tab, chromedp.Evaluate[bool](axe+"; true")); err != nil {
			t.Fatal(err)
		}
		for _, l := range glances() {
			l.set(t, tab)
			l.accessible(t, tab, p.name+", "+l.name)
			l.keep(t, tab, p.name)
		}
		if p.name == "trouble" {
			o.mu.Lock()
			o.problems = nil // its status is an error
			o.mu.Unlock()
		}
		o.none(t, p.name)
	}
	glances()[0].set(t, tab)

	t.Run("keyboard", func(t *testing.T) { byKeyboard(t, tab, home) })
	o.none(t, "keyboard")
	t.Run("without a script", func(t *testing.T) { withoutScript(t, tab, home) })
	t.Run("a page of another port", func(t *testing.T) {
		neighbour := httptest.NewServer(hostileNeighbour(home))
		defer neighbour.Close()
		goTo(t, tab, neighbour.URL)
		until(t, tab, "all is tried", `window.tried === 12`)
		if read := textOf(t, tab, `window.read.join(", ")`); read != "" {
			t.Errorf("it succeeds in: %s", read)
		}
		goTo(t, tab, home+"/crawl/0/")
		assert.Equal(t, "running", textOf(t, tab, `document.getElementById("state").textContent`), "the crawl")
	})
}

// byKeyboard walks the overview with Tab, and pauses and continues the crawl with Enter.
func byKeyboard(t *testing.T, tab context.Context, home string) {
	goTo(t, tab, home+"/crawl/0/")
	hit := func(key string) {
		t.Helper()
		require.NoError(t, chromedp.Do(tab, chromedp.KeyEvent(key)))
	}
	const at = `(() => { const e = document.activeElement, s = getComputedStyle(e); return e.localName + "|" + e.textContent.trim() + "|" + (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 && e.getBoundingClientRect().width > 0) })()`
	// walk presses Tab until an element has the focus, and returns those before it.
	walk := func(want string) (passed []string) {
		t.Helper()
		for range 80 {
			hit(kb.Tab)
			now := textOf(t, tab, at)
			assert.Truef(t, strings.HasSuffix(now, "|true"), "the focus of %s is not visible", now)
			if strings.HasPrefix(now, want+"|") {
				return passed
			}
			passed = append(passed, now)
		}
		t.Fatalf("no Tab leads to %s, but to %q", want, passed)
		return nil
	}
	assert.Empty(t, walk("a|Skip to content"), "these come before the link to the content")
	walk("button|Pause")
	hit(kb.Enter)
	until(t, tab, "the crawl is paused", `document.getElementById("state").textContent === "paused" && document.getElementById("told").textContent === "The crawl is paused."`)
	walk("button|Unpause")
	hit(kb.Enter)
	until(t, tab, "the crawl goes on", `document.getElementById("state").textContent === "running"`)
	walk("summary|End…")
	hit(kb.Enter)
	until(t, tab, "it is asked whether one is sure", `document.querySelector("details.sure").open`)
	hit(kb.Escape)
	until(t, tab, "nobody was", `!document.querySelector("details.sure").open && document.activeElement.localName === "summary"`)
	walk("button|Add")
}

// withoutScript reloads a page, stops that, and releases a host, all without scripts.
func withoutScript(t *testing.T, other context.Context, home string) {
	tab, end := chromedp.NewContext(other)
	defer end()
	err := chromedp.Do(tab, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
	require.NoError(t, err)
	reads := func(what string) string {
		t.Helper()
		text, err := chromedp.Run(tab, chromedp.Text(what))
		require.NoError(t, err)
		return text
	}
	goTo(t, tab, home+"/crawl/0/")
	if text := reads("body"); !strings.Contains(text, "Rate and permitted rate") || !strings.Contains(text, "town crawl") ||
		strings.Contains(text, "Stop updates") || !strings.Contains(text, "Stop reloading") {
		t.Errorf("the overview:\n%s", text)
	}
	goTo(t, tab, home+"/crawl/0/host?name=http://museum.test&still=1")
	if text := reads("body"); !strings.Contains(text, "Reload every 5 s") || !strings.Contains(text, "parked by operator") {
		t.Errorf("the host's page:\n%s", text)
	}
	require.NoError(t, chromedp.Do(tab, chromedp.Click("#hostacts form button")))
	if _, err := chromedp.Run(tab, chromedp.WaitVisible(".said")); err != nil {
		t.Fatal(err)
	}
	if text := reads("body"); !strings.Contains(text, "is unpaused") || strings.Contains(text, "parked by operator") {
		t.Errorf("the page after the release:\n%s", text)
	}
}

// dashboardWeb keeps a crawl busy for minutes: it has hosts with delays, a back-off, an unavailable robots.txt, and errors.
func dashboardWeb() *crawltest.Web {
	rules := "# The house rules\nUser-agent: *\nDisallow: /drafts/\nAllow: /drafts/29\n"
	answers := func(status int, fields ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(fields); i += 2 {
				w.Header().Set(fields[i], fields[i+1])
			}
			w.WriteHeader(status)
		}
	}
	theatre := townSite("theatre.test", "", 20, nil)
	theatre.Robots = crawltest.Robots{Status: http.StatusServiceUnavailable}
	return crawltest.New(
		townSite("bakery.test", rules, 110, map[string]http.HandlerFunc{"/people/4": answers(http.StatusNotFound)}),
		townSite("library.test", rules, 160, map[string]http.HandlerFunc{"/letters/5": answers(http.StatusGone), "/rooms/6": answers(http.StatusMovedPermanently, "Location", "/rooms/12")}),
		townSite("museum.test", rules, 120, map[string]http.HandlerFunc{"/people/7": answers(http.StatusNotFound)}),
		townSite("garden.test", rules, 90, nil),
		townSite("harbour.test", rules+"Crawl-delay: 2\n", 60, nil),
		townSite("observatory.test", "User-agent: *\nCrawl-delay: 5\nDisallow: /drafts/\n", 40, nil),
		townSite("post.test", rules, 80, map[string]http.HandlerFunc{"/rooms/3": answers(http.StatusTooManyRequests, "Retry-After", "600")}),
		townSite("ferry.test", rules, 50, map[string]http.HandlerFunc{"/people/1": answers(http.StatusInternalServerError)}),
		theatre,
	)
}

// townSite is a site with pages of unique text.
func townSite(name, robots string, pages int, odd map[string]http.HandlerFunc) *crawltest.Site {
	path := func(n int) string {
		if n%10 == 9 {
			return fmt.Sprintf("/drafts/%d", n)
		}
		return fmt.Sprintf("/%s/%d", [...]string{"rooms", "people", "letters"}[n%3], n)
	}
	return &crawltest.Site{
		Name: name, Robots: crawltest.Robots{Body: robots},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if answer := odd[r.URL.Path]; answer != nil {
				answer(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, "<!doctype html><title>%[1]s of the %[2]s</title><h1>%[1]s</h1>", r.URL.Path, name)
			seed := sha256.Sum256([]byte(name + r.URL.Path))
			for i := range 60 {
				fmt.Fprintf(w, "<p>%x", sha256.Sum256(append(seed[:], byte(i))))
			}
			for n := range pages {
				fmt.Fprintf(w, `<a href="%s">%d</a> `, path(n), n)
			}
		}),
	}
}

// dashboarded crawls a web until the test ends, and returns the address of its dashboard.
func dashboarded(t *testing.T, web *crawltest.Web, dir string, more ...string) (address string) {
	t.Helper()
	require.NoError(t, web.Start())
	stderr := &addressIn{found: make(chan string, 1)}
	cmd := crawlcmd.NewIn(crawlcmd.World{Resolve: web.Resolve, Dial: web.Dial}, cli.Streams{In: strings.NewReader(""), Out: stderr, Err: stderr})
	cmd.SetArgs(append([]string{"--dashboard", "127.0.0.1:0", "--dir", dir, "--contact", "crawl@library.org", "--allow-net", web.Net().String()}, more...))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		web.Close()
	})
	select {
	case address = <-stderr.found:
	case err := <-done:
		done <- err
		t.Fatalf("the crawl ended: %v\n%s", err, stderr.text.String())
	}
	home, _, _ := strings.Cut(address, "?")
	for ready := false; !ready; {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, home+"readyz", nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			cancel()
			ended := <-done
			done <- ended
			t.Fatalf("%v; the crawl ended: %v\n%s", err, ended, stderr.text.String())
		}
		ready = resp.StatusCode == http.StatusOK
		resp.Body.Close()
	}
	return address
}

// addressIn finds the dashboard's address in an output.
type addressIn struct {
	mu    sync.Mutex
	text  strings.Builder
	found chan string
}

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

var dashboardAddress = regexp.MustCompile(`dashboard: (http://\S+)\n`)
