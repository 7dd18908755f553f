//go:build peers

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
)

// payloads are those of crawler/dashboard.
func payloads(t *testing.T) (all []string) {
	t.Helper()
	for line := range strings.Lines(string(fileOf(t, filepath.Join("..", "..", "crawler", "dashboard", "testdata", "payloads.jsonl")))) {
		var p string
		require.NoError(t, json.Unmarshal([]byte(line), &p))
		all = append(all, p)
	}
	require.Len(t, all, 40, "payloads")
	return all
}

func hostileName(n int) string { return fmt.Sprintf("hostile-%02d.test", n) }

// plantedSite writes p wherever a site can: titles, links, paths, queries, fields, media types, robots.txt, reason phrases, status
// lines, redirects, names of hosts, sitemaps.
func plantedSite(n int, p string) *crawltest.Site {
	field := strings.NewReplacer("\x00", "", "\r", "", "\n", "").Replace(p) // without characters that end a field
	say := func(head string) crawltest.Raw {
		return func(_ context.Context, conn net.Conn, _ *http.Request) bool {
			_, err := conn.Write([]byte(head + "\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"))
			return err == nil
		}
	}
	name, e := hostileName(n), url.PathEscape(p)
	return &crawltest.Site{
		Name: name,
		Robots: crawltest.Robots{Body: "User-agent: " + field + "\nDisallow: /\n\nUser-agent: *\nDisallow: /no" + field + "\n# " + field + "\nDisallow: /no\n" +
			"Sitemap: http://" + name + "/map?" + field + "\n"},
		Pages: map[string]crawltest.Page{
			"/reason": {Raw: say("HTTP/1.1 500 " + field)},
			"/line":   {Raw: say("HTTP/1.1 " + field)},
			"/field":  {Raw: say("HTTP/1.1 200 OK\r\n" + field + ": " + field)},
			"/coded":  {Raw: say("HTTP/1.1 200 OK\r\nContent-Encoding: " + field)},
			"/length": {Raw: say("HTTP/1.1 200 OK\r\nTransfer-Encoding: " + field)},
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/":
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, `<title>%[1]s</title><a href="/moved">%[1]s</a><a href="/away">x</a><a href="/type">x</a><a href="/%[2]s">x</a><a href="/no%[2]s">x</a><a href="/raw?%[3]s#%[3]s">x</a>`+
					`<a href="http://%[2]s.test/">x</a><a href="http://u%[2]s@%[4]s/as">x</a>`, p, e, html.EscapeString(p), name)
				bad := []string{"/reason", "/line", "/field", "/coded", "/length"}
				fmt.Fprintf(w, `<a href="%s">x</a><a href="%s">x</a>`, bad[n%len(bad)], bad[(n+1)%len(bad)]) // the host may rest after one
			case "/moved":
				w.Header().Set("Location", "/to/"+field)
				w.WriteHeader(http.StatusFound)
			case "/away":
				w.Header().Set("Location", "http://"+field+"/")
				w.WriteHeader(http.StatusFound)
			default:
				w.Header().Set("Content-Type", "text/html"+field)
				w.Header().Set("X-Robots-Tag", field)
				w.Header().Set("Retry-After", field)
				w.Header().Set("Set-Cookie", field)
				if r.URL.Path == "/raw" {
					w.WriteHeader(http.StatusForbidden)
				}
			}
		}),
	}
}

// overhearing records on every page the scripts that run, the policy's violations, and the dialogs.
func overhearing(t *testing.T, tab context.Context) *overheard {
	t.Helper()
	o := &overheard{}
	err := chromedp.Listen(tab, func(ev any) {
		if e, ok := ev.(*page.EventJavascriptDialogOpening); ok {
			o.add("dialog: %s", e.Message)
		}
	})
	if err == nil {
		err = chromedp.Do(tab, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
				Source: `window.forbidden = []; document.addEventListener("securitypolicyviolation", (e) => window.forbidden.push(e.violatedDirective + " " + e.blockedURI + " " + e.sample));
					window.alert = (m) => window.forbidden.push("alert " + m);`,
			})
			return err
		}))
	}
	require.NoError(t, err)
	return o
}

// strange lists everything on a page that the dashboard does not make.
const strange = `(() => {
	const found = [];
	if (window.planted !== undefined) found.push("a script ran");
	found.push(...(window.forbidden || ["nobody listens to the policy"]).map((f) => "forbidden: " + f));
	for (const e of document.querySelectorAll("*")) {
		const name = e.localName;
		if (["img", "iframe", "object", "embed", "base", "style", "video", "audio", "source", "math", "mtext", "animate", "textarea", "frame", "applet"].includes(name)) found.push("element " + name);
		if (name === "script" && (e.getAttribute("src") !== "/assets/page.js" || e.textContent)) found.push("script " + e.outerHTML.slice(0, 80));
		if (name === "link" && !(e.getAttribute("href") || "").startsWith("/assets/")) found.push("link " + e.outerHTML.slice(0, 80));
		if (name === "meta" && e.httpEquiv && e.getAttribute("content") !== "5") found.push("meta " + e.outerHTML.slice(0, 80));
		if (name === "svg" && !["chart", "bar", "meter"].includes(e.getAttribute("class")) && e.getAttribute("viewBox") !== "0 0 24 24") found.push("svg " + e.outerHTML.slice(0, 80));
		for (const a of e.attributes) {
			if (/^on/.test(a.name) || ["srcdoc", "style", "autofocus", "ping", "formaction"].includes(a.name)) found.push("attribute " + a.name + " of " + name);
		}
		for (const to of [e.href, e.src, name === "form" ? e.getAttribute("action") : null]) {
			if (typeof to === "string" && new URL(to, document.baseURI).origin !== location.origin) found.push("leads to " + to.slice(0, 80));
		}
	}
	return found.join("\n");
})()`

// The detector finds each plant, with and without a policy, and nothing else.
func TestPeers_DetectorSeesPlantedScripts(t *testing.T) {
	t.Parallel()
	const planted = `<script>window.planted=1;alert(1)</script><img src=x onerror=window.planted=1><p onclick=window.planted=1>x</p><svg onload=window.planted=1></svg>
		<a href="javascript:window.planted=1">x</a><form action="https://form.test/"></form><base href="https://base.test/">`
	found := []string{ // lines, each for one plant
		"script <script>window.planted=1;alert(1)</script>", "element img", "attribute onerror of img", "leads to https://base.test/x", "attribute onclick of p",
		`svg <svg onload="window.planted=1"></svg>`, "attribute onload of svg", "leads to javascript:window.planted=1", "leads to https://form.test/",
		"element base", "leads to https://base.test/",
	}
	tab := browser(t)
	overhearing(t, tab)
	for _, c := range []struct {
		policy, body string
		want         []string
	}{
		{"", `<p>&lt;script&gt;window.planted=1&lt;/script&gt;</p>`, nil},
		{"", planted, append([]string{"a script ran", "forbidden: alert 1"}, found...)},
		{"default-src 'none'", planted, append([]string{"forbidden: script-src-elem inline "}, found...)},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			if c.policy != "" {
				w.Header().Set("Content-Security-Policy", c.policy)
			}
			fmt.Fprint(w, "<!doctype html><title>x</title>", c.body)
		}))
		defer server.Close()
		goTo(t, tab, server.URL)
		got := textOf(t, tab, strange)
		for _, want := range c.want {
			assert.Containsf(t, strings.Split(got, "\n"), want, "under %q: %q", c.policy, got)
		}
		if len(c.want) == 0 && got != "" {
			t.Errorf("%s: %q", c.body, got)
		}
	}
}

// Each payload is in all places that a site, a list of seeds and a directory's name can write to. No view of the dashboard and no
// report runs one, or makes an element of one.
func TestPeers_NothingPlantedRuns(t *testing.T) {
	t.Parallel()
	all := payloads(t)
	tab := browser(t)
	sites := []*crawltest.Site{townSite("slow.test", "User-agent: *\nCrawl-delay: 5\n", 100, nil)} // keeps the crawl going
	seeds := "http://slow.test/\n"
	for n, p := range all {
		sites = append(sites, plantedSite(n, p))
		seeds += "http://" + hostileName(n) + "/\t" + strings.ReplaceAll(p, "\x00", "") + "\n"
	}
	folder := t.TempDir()
	list := filepath.Join(folder, "seeds.txt")
	require.NoError(t, os.WriteFile(list, []byte(seeds), 0o600))
	dir, plant := filepath.Join(folder, `"><img src=x onerror=window.planted=1>`), `</title><script>window.planted=1;alert(1)</script>`
	address := dashboarded(t, crawltest.New(sites...), dir,
		"--delay", "0", "--seeds", list, "--max-wait", "10m", "--operator", plant, "--purpose", `"onclick="alert(1)`+plant, "--exclude", plant)
	home, _, _ := strings.Cut(address, "/?")
	o := overhearing(t, tab)
	goTo(t, tab, address)
	// A few payloads swallow the links behind them, as they would in any browser.
	until(t, tab, "what is hostile was crawled", `[...document.querySelectorAll("#out tr")].some((r) => r.textContent.startsWith("disallowed") && parseInt(r.cells[1].textContent) > 35)`)
	until(t, tab, "the page was brought up to date by its script", `Number(document.documentElement.dataset.updates) > 1`)
	look := func(where string) {
		t.Helper()
		assert.Empty(t, textOf(t, tab, strange), where)
		o.none(t, where)
	}
	look("overview")
	shown := 0
	see := func(where, path string) {
		t.Helper()
		goTo(t, tab, home+path)
		look(where)
		if strings.Contains(textOf(t, tab, "document.body.textContent"), "window.planted") {
			shown++
		}
	}
	for _, sort := range []string{"host", "state", "last"} {
		see("hosts by "+sort, "/crawl/0/hosts?sort="+sort)
	}
	for _, q := range []string{"", "?decision=robots", "?decision=disallow", "?outcome=failed", "?outcome=redirected", "?status=5xx", "?q=planted", "?q=%3Cscript"} {
		see("decisions"+q, "/crawl/0/decisions"+q)
	}
	until(t, tab, "the list was brought up to date by its script", `Number(document.documentElement.dataset.updates) > 0`)
	look("decisions, brought up to date")
	for n, p := range all {
		at := "http://" + hostileName(n)
		for i, view := range []func(){ // of each payload one, or all in full size
			func() { see("host of "+p, "/crawl/0/host?name="+at) },
			func() { see("explain "+p, "/crawl/0/explain?url="+url.QueryEscape(at+"/no"+p)) },
			func() {
				see("decisions of "+p, "/crawl/0/decisions?host="+at+"&q="+url.QueryEscape(p[:min(len(p), 150)]))
			},
		} {
			if full() || n%3 == i {
				view()
			}
		}
	}
	assert.GreaterOrEqualf(t, shown, 33, "the hostile text shows in only %d views: the test proves little", shown)
	for _, more := range [][]string{nil, {"--host", hostileName(0)}} {
		report := filepath.Join(folder, fmt.Sprintf("report%d.html", len(more)))
		inside(t, append([]string{"report", "--no-audit", "-o", report, dir}, more...)...).want(t, cli.ExitDone)
		goTo(t, tab, "file://"+report)
		const never = `String(window.planted || 0) + window.forbidden + document.querySelectorAll('script,img,iframe,object,embed,link,base,form,a[href^="javascript:"],a[href^="data:"],[onclick],[onload],[onerror],[onmouseover]').length`
		assert.Equalf(t, "00", textOf(t, tab, never), "report %q", more)
		assert.Containsf(t, textOf(t, tab, "document.body.textContent"), "window.planted", "report %q shows no hostile text", more)
		o.none(t, "report")
	}
}
