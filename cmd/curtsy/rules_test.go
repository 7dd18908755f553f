package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch/webbotauth"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

func ledgerLinesIn(t *testing.T, dir string) (out []storage.Line) {
	t.Helper()
	for l, err := range ledger.Read(inDir(dir, crawldir.LedgerName)) {
		require.NoError(t, err)
		out = append(out, l)
	}
	return out
}

// Rules 1, 2, 4, 5, 6, 7 and 8 in one crawl over sockets, judged by the servers, the archive and the ledger.
func TestRules01To08_OverSockets(t *testing.T) {
	t.Parallel()
	const (
		pace  = 300 * time.Millisecond
		delay = 500 * time.Millisecond
		file  = "User-agent: libbot\nDisallow: /p1\n\nUser-agent: curtsy\nDisallow: /p2\nCrawl-delay: 0.5\n\nUser-agent: *\nDisallow: /\n"
	)
	named, plain, moved, broken := crawltest.Tree("named.test", 6), crawltest.Tree("plain.test", 4), crawltest.Tree("moved.test", 4), crawltest.Tree("broken.test", 4)
	named.Robots.Body, broken.Robots.Status = file, 503
	moved.Robots.Redirect = "http://plain.test/rules.txt"
	plain.Pages["/rules.txt"] = crawltest.Page{Type: "text/plain", Body: "User-agent: *\nDisallow: /p3.html\n"}
	web := webOf(t, named, plain, moved, broken)
	dir := filepath.Join(t.TempDir(), "d")
	args := []string{
		"crawl", "--agent", "libbot", "--contact", "crawl@library.org", "--operator", "The Library", "--purpose", "a test of rules",
		"--delay", pace.String(), "--max-wait", "5s", "--dir", dir,
	}
	for _, host := range web.Hosts() {
		args = append(args, web.LoopbackURL(host))
	}
	ended(t, curtsy(t, args...)).want(t, cli.ExitIncomplete, "robots.txt: status 503")

	report := judged(t, web, crawltest.Rules{Token: "libbot", Pace: pace})
	for _, rule := range []crawltest.Rule{crawltest.RobotsFirst, crawltest.RobotsObeyed, crawltest.RobotsDown, crawltest.Pace, crawltest.CrawlDelay, crawltest.Identity, crawltest.Coverage, crawltest.Once} {
		if row := report.Row(rule); row.Verdict != crawltest.Kept {
			t.Errorf("%s: %s: %s", rule, row.Verdict, row.Evidence)
		}
	}
	if h := report.Host("named.test"); h.Gap < delay || h.Pages != 3 {
		t.Errorf("named.test: gap %v, %d pages", h.Gap, h.Pages)
	}
	const agent = "libbot/" + crawldir.Version + " (+crawl@library.org) curtsy/" + crawldir.Version
	for _, r := range web.Referee().Requests() {
		if r.UserAgent != agent || !slices.Equal(r.Header.Values("From"), []string{"crawl@library.org"}) {
			t.Errorf("%s%s: User-Agent: %q, From: %q", r.Host, r.Target, r.UserAgent, r.Header.Values("From"))
		}
	}
	archive := archiveText(t, dir)
	for _, want := range []string{"operator: The Library", "description: a test of rules", "User-Agent: " + agent, file, "Disallow: /p3.html"} {
		assert.Contains(t, archive, want, "the archive")
	}
	rules := map[string]int{}
	for _, l := range ledgerLinesIn(t, dir) {
		switch {
		case l.Decision == "robots" && l.Status == 200 && (l.RobotsSHA256 == "" || !strings.Contains(archive, l.Record)):
			t.Errorf("an exchange without its record: %+v", l)
		case l.Decision == "disallow":
			rules[l.RobotsRule]++
		}
	}
	if rules["Disallow: /p1"] != 1 || rules["Disallow: /p2"] != 1 || rules["Disallow: /p3.html"] != 1 {
		t.Errorf("the ledger names %v", rules)
	}
}

// With more hosts than the delay could slow down, the delay limits a crawl, and no gap is short. cmd/bench --setup saturation
// measures the rate.
func TestRule09_SaturationOverSocketsLeavesNoGapShort(t *testing.T) {
	t.Parallel()
	hosts, pages := 100, 20
	switch {
	case full():
	case testing.Short():
		hosts, pages = 20, 4
	default:
		hosts, pages = 50, 6
	}
	const pace, latency = 500 * time.Millisecond, 20 * time.Millisecond
	sites := make([]*crawltest.Site, hosts)
	for i := range sites {
		sites[i] = crawltest.Tree("host"+itoa(i)+".test", pages)
		sites[i].Latency = latency
	}
	web := webOf(t, sites...)
	args := []string{"crawl", "--delay", pace.String(), "--dir", filepath.Join(t.TempDir(), "d"), "--quiet"}
	for _, name := range web.Hosts() {
		args = append(args, web.LoopbackURL(name))
	}
	ended(t, curtsy(t, args...)).want(t, cli.ExitDone)
	row := judged(t, web, crawltest.Rules{Pace: pace}).Row(crawltest.Pace)
	if row.Verdict != crawltest.Kept || row.Checked != hosts*pages {
		t.Errorf("the pace: %s, %d gaps judged, want all %d kept", row.Verdict, row.Checked, hosts*pages)
	}
}

func flagSite() *crawltest.Site {
	return &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
		"/":                {Links: []string{"/shop/", "/news/1.html", "/recipe.pdf"}, Embeds: []string{"/style.css"}},
		"/shop/":           {Links: []string{"/shop/bread.html", "/"}},
		"/shop/bread.html": {Links: []string{"/shop/rye.html"}},
		"/shop/rye.html":   {},
		"/news/1.html":     {},
		"/recipe.pdf":      {Body: "%PDF-1.7", Type: "application/pdf"},
		"/style.css":       {Body: "p{}", Type: "text/css"},
	}}
}

func TestCrawl_CustomCAAndLanguage(t *testing.T) {
	t.Parallel()
	var languages []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		languages = append(languages, r.Header.Get("Accept-Language"))
	}))
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(ca, block, 0o600))
	inside(t, "crawl", "--dir", filepath.Join(t.TempDir(), "d"), server.URL).want(t, cli.ExitIncomplete, "certificate from an unknown issuer (--ca-file FILE trusts it)")
	inside(t, "crawl", "--delay", "0", "--ca-file", ca, "--accept-language", "de, en;q=0.5", "--dir", filepath.Join(t.TempDir(), "d"), server.URL).want(t, cli.ExitDone)
	if len(languages) == 0 || languages[0] != "de, en;q=0.5" {
		t.Errorf("sent Accept-Language %q", languages)
	}
}

const botAgent = "https://crawl.library.org"

// botKey is a user with a Web Bot Auth key, and the file of its directory.
func botKey(t *testing.T) (u *lab, path string) {
	t.Helper()
	u, path = &lab{t: t, config: t.TempDir()}, filepath.Join(t.TempDir(), "directory")
	u.run("identity", "keygen", "--signature-agent", botAgent, "-o", path).want(t, cli.ExitDone, "kept in ", botAgent+webbotauth.WellKnown)
	return u, path
}

// Once there is a key, all requests are signed; a resumed crawl continues so, and the audit takes no signature for a credential.
func TestCrawl_SignsWithAKey(t *testing.T) {
	t.Parallel()
	u, path := botKey(t)
	keys, err := crawltest.ParseDirectory(fileOf(t, path))
	require.NoError(t, err)
	web := webOf(t, flagSite())
	seed, dir := web.LoopbackURL("bakery.test"), filepath.Join(t.TempDir(), "d")
	u.run("crawl", "--quiet", "--delay", "0", "--max-pages", "2", "--workers", "1", "--dir", dir, seed).want(t, cli.ExitDone)
	u.run("resume", "--quiet", "--max-pages", "0", dir).want(t, cli.ExitDone)
	u.run("robots", "check", seed).want(t, cli.ExitDone)
	all := len(web.Referee().Requests())
	row := web.Referee().Judge(crawltest.Rules{Keys: keys, Partial: true}).Row(crawltest.Signatures)
	if row.Verdict != crawltest.Kept || row.Checked != all || all < 9 {
		t.Errorf("%s: %s; %d requests", row.Verdict, row.Evidence, all)
	}
	u.run("audit", dir).want(t, cli.ExitDone)
}
