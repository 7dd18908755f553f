package main

import (
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/scope"
	"curtsy/frontier/canon"
	"curtsy/storage/ledger"
)

// flagSite has a page for each setting that decides what is asked for.
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

// targets are what was asked of the web beside robots.txt, sorted.
func targets(web *crawltest.Web) []string {
	var out []string
	for _, r := range web.Referee().Requests() {
		if r.Target != "/robots.txt" {
			out = append(out, r.Target)
		}
	}
	slices.Sort(out)
	return out
}

// drawn is what a crawl of the site asks for of which half of the pages are drawn: the port is another one each time.
func drawn(t *testing.T, root string) string {
	t.Helper()
	half, err := scope.ParseSample("pages:50%")
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{"/": true, "/style.css": true} // the seed, and what it shows
	for _, link := range [][2]string{{"/", "/shop/"}, {"/", "/news/1.html"}, {"/", "/recipe.pdf"}, {"/shop/", "/shop/bread.html"}, {"/shop/bread.html", "/shop/rye.html"}} {
		u, err := canon.Parse(strings.TrimSuffix(root, "/") + link[1])
		if err != nil {
			t.Fatal(err)
		}
		if asked[link[0]] && half.Holds(u) {
			asked[link[1]] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(asked)), " ")
}

// Each flag that says what belongs to the crawl changes what is asked for.
func TestFlagsDecideWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	const everything = "/ /news/1.html /recipe.pdf /shop/ /shop/bread.html /shop/rye.html /style.css"
	for _, tt := range []struct{ flags, seed, want string }{
		{"", "", everything},
		{"--scope seeds", "", "/"},
		{"--scope prefix", "shop/", "/shop/ /shop/bread.html /shop/rye.html"},
		{"--scope domain", "", everything},
		{"--scope any --max-time 1m --contact crawl@library.org", "", everything},
		{"--include /shop/", "", "/ /shop/ /shop/bread.html /shop/rye.html"},
		{"--exclude rye --exclude [.]pdf$", "", "/ /news/1.html /shop/ /shop/bread.html /style.css"},
		{"--accept .pdf", "", "/ /news/1.html /recipe.pdf /shop/ /shop/bread.html /shop/rye.html"},
		{"--reject .pdf,.css", "", "/ /news/1.html /shop/ /shop/bread.html /shop/rye.html"},
		{"--depth 0 --page-requisites none", "", "/"},
		{"--depth 1 --page-requisites none", "", "/ /news/1.html /recipe.pdf /shop/"},
		{"--trap segments=1 --page-requisites none", "", "/ /recipe.pdf /shop/"},
		{"--workers 1 --max-pages 1 --page-requisites none", "", "/"},
		{"--workers 1 --max-per-host 1", "", "/"},
		{"--workers 1 --max-per-domain 1", "", "/"},
		{"--workers 1 --stop-when pages=1 --page-requisites none", "", "/"},
		{"--sample pages:50%", "", "SAMPLED"},
		{"--sample hosts:0.0000001%", "", "/"},
		{"--sample hosts:0.0000001% --sample-seeds", "", ""},
		{"--max-bytes 1B --workers 1", "", ""},
		{"--max-wait 0 --delay 400ms", "", ""},
	} {
		t.Run(tt.flags+" "+tt.seed, func(t *testing.T) {
			web := crawltest.New(flagSite())
			if err := web.Start(); err != nil {
				t.Fatal(err)
			}
			defer web.Close()
			args := append([]string{"crawl", "--quiet", "--delay", "0", "--dir", filepath.Join(t.TempDir(), "d")}, strings.Fields(tt.flags)...)
			r := inside(t, append(args, web.LoopbackURL("bakery.test")+tt.seed)...)
			if tt.want == "SAMPLED" {
				tt.want = drawn(t, web.LoopbackURL("bakery.test"))
			}
			if got := strings.Join(targets(web), " "); got != tt.want {
				t.Errorf("asked for %q, want %q (exit code %d: %s)", got, tt.want, r.code, r.err)
			}
		})
	}
}

func TestAnOlderStandardAddsRefusalsAndIsNamedInTheLedger(t *testing.T) {
	t.Parallel()
	site := flagSite()
	site.Robots.Body = "User-agent: *\nDisallow: /shop\nAllow: /shop/\n" // the draft takes the first rule, RFC 9309 the longest
	for standard, want := range map[string]string{"rfc9309": "/ /shop/", "draft1996": "/"} {
		web := crawltest.New(site)
		if err := web.Start(); err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := filepath.Join(t.TempDir(), "d")
		inside(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, "--robots-standard", standard,
			"--include", "/shop/$", web.LoopbackURL("bakery.test"))
		if got := strings.Join(targets(web), " "); got != want {
			t.Errorf("by %s: asked for %q, want %q", standard, got, want)
		}
		for l, err := range ledger.Read(inDir(dir, crawldir.LedgerName)) {
			if err != nil {
				t.Fatal(err)
			}
			if l.Decision == "robots" && l.Standard != standard {
				t.Errorf("by %s: the ledger says %q", standard, l.Standard)
			}
		}
	}
}

func TestAnOwnHostOfTheUserIsAForeignHostWithOwnSiteNone(t *testing.T) {
	t.Parallel()
	web := crawltest.New(crawltest.Tree("bakery.test", 2))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	inside(t, "crawl", "--delay", "0", "--own-site", "none", "--dir", filepath.Join(t.TempDir(), "d"), web.LoopbackURL("bakery.test")).
		want(t, cli.ExitDone, "--delay 0 acts on hosts of your own only; any other keeps 1s")
	judged(t, web, crawltest.Rules{Pace: time.Second})
}

func TestTimeAndBodyLimits(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	inside(t, "crawl", "--max-time", "1ms", "--dir", filepath.Join(t.TempDir(), "d"), seed).want(t, cli.ExitDone, "--max-time is over")
	inside(t, "crawl", "--max-body", "9B", "--delay", "0", "--dir", filepath.Join(t.TempDir(), "d"), seed).want(t, cli.ExitIncomplete, "too large")
}

func TestACertificateAuthorityOfOnesOwnAndTheLanguageField(t *testing.T) {
	t.Parallel()
	var languages []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		languages = append(languages, r.Header.Get("Accept-Language"))
	}))
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	inside(t, "crawl", "--dir", filepath.Join(t.TempDir(), "d"), server.URL).want(t, cli.ExitIncomplete, "certificate from an unknown issuer (--ca-file FILE trusts it)")
	inside(t, "crawl", "--delay", "0", "--ca-file", ca, "--accept-language", "de, en;q=0.5", "--dir", filepath.Join(t.TempDir(), "d"), server.URL).want(t, cli.ExitDone)
	if len(languages) == 0 || languages[0] != "de, en;q=0.5" {
		t.Errorf("sent Accept-Language %q", languages)
	}
}

// Only the address and port given as a seed may be private (politeness rule 23): where a redirect leads, allow-net decides.
func TestPrivateAddressesNeedAllowNet(t *testing.T) {
	t.Parallel()
	moved := &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{"/": {Redirect: "http://library.test/"}}}
	web := crawltest.New(moved, crawltest.Tree("library.test", 1))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	for _, tt := range []struct {
		allow string
		code  int
	}{{"10.0.0.0/8", cli.ExitIncomplete}, {"127.0.0.0/8", cli.ExitDone}} {
		r := inside(t, "crawl", "--delay", "0", "--allow-net", tt.allow, "--dir", filepath.Join(t.TempDir(), "d"), web.LoopbackURL("bakery.test"))
		r.want(t, tt.code)
		if tt.code == cli.ExitIncomplete {
			r.want(t, tt.code, "--allow-net")
		}
	}
}

func TestADryRunAsksForRobotsTxtOnlyAndKeepsNothing(t *testing.T) {
	t.Parallel()
	site := flagSite()
	site.Robots.Body = "User-agent: *\nCrawl-delay: 3\n"
	web := crawltest.New(site)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	cmd := curtsy(t, "crawl", "--dry-run", web.LoopbackURL("bakery.test"))
	cmd.Dir = t.TempDir()
	r := ended(t, cmd)
	r.want(t, cli.ExitDone)
	for _, s := range []string{"rules", "3s", "for 2 requests (1 known page)"} {
		if !strings.Contains(r.out, s) {
			t.Errorf("standard output lacks %q:\n%s", s, r.out)
		}
	}
	if n := len(web.Referee().Requests()); n != 1 || len(targets(web)) != 0 {
		t.Errorf("%d requests, %q beside robots.txt", n, targets(web))
	}
	if left, err := os.ReadDir(cmd.Dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestOperatorAndPurposeAreInTheArchiveAndVerboseSaysEveryDecision(t *testing.T) {
	t.Parallel()
	site := flagSite()
	site.Robots.Body = "User-agent: *\nDisallow: /news/\n"
	web := crawltest.New(site)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	seed := web.LoopbackURL("bakery.test")
	r := inside(t, "crawl", "-v", "--delay", "0", "--operator", "The Library", "--purpose", "a test", "--dir", dir, seed)
	r.want(t, cli.ExitDone,
		"robots 200 "+seed+"robots.txt\n",
		"fetched 200 "+seed+"\n",
		"disallowed "+seed+"news/1.html (robots.txt line 2: Disallow: /news/)\n")
	text := archiveText(t, dir)
	for _, want := range []string{"operator: The Library", "description: a test"} {
		if !strings.Contains(text, want) {
			t.Errorf("the archive lacks %q", want)
		}
	}
	for _, err := range ledger.Read(inDir(dir, crawldir.LedgerName)) {
		if err != nil {
			t.Fatal(err)
		}
	}
	inside(t, "crawl", "-v", "-q", seed).want(t, cli.ExitUsage, "--quiet and --verbose")
}

// --quiet prints errors only; that something is missing is one.
func TestQuietIsQuietUnlessSomethingIsMissing(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	if r := inside(t, "crawl", "-q", "--delay", "0", "--dir", filepath.Join(t.TempDir(), "d"), seed); r.code != 0 || r.err != "" || r.out != "" {
		t.Errorf("%+v", r)
	}
	dir := filepath.Join(t.TempDir(), "d")
	r := inside(t, "crawl", "-q", "--delay", "0", "--dir", dir, seed+"nowhere.html")
	r.want(t, cli.ExitIncomplete, "incomplete", "curtsy status "+dir)
	if n := strings.Count(r.err, "\n"); n != 1 {
		t.Errorf("%d lines: %s", n, r.err)
	}
}
