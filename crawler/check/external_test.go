package check_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/check"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
)

// elsewhere is a site with links to others, and those.
func elsewhere() *crawltest.Web {
	page := func(status int) crawltest.Page { return crawltest.Page{Status: status, Body: "x"} }
	links := []string{"http://b.test/ok", "http://b.test/gone", "http://b.test/bot", "http://b.test/moved", "http://b.test/private/x",
		"http://never.test/x", "http://b.test/pic.png", "http://c.test/999", "http://b.test/robots.txt", "http://d.test/robots.txt"}
	return crawltest.New(
		&crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
			"/": {Links: append(links, "/two")}, "/two": {Links: links},
		}},
		&crawltest.Site{Name: "b.test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /private/\n"}, Pages: map[string]crawltest.Page{
			"/ok": {Links: []string{"/never-asked"}}, "/gone": page(404), "/bot": page(403), "/moved": {Redirect: "/ok", Status: 301},
			"/pic.png": {Type: "image/png", Body: strings.Repeat("x", 200<<10)},
		}},
		&crawltest.Site{Name: "c.test", Pages: map[string]crawltest.Page{"/999": page(999)}},
		&crawltest.Site{Name: "d.test"},
	)
}

func of(all []check.Finding) (urls []string) {
	for _, f := range all {
		urls = append(urls, fmt.Sprint(f.URL, " ", f.Status, " ", f.Reason, " ", f.Kind, " ", f.Count))
	}
	slices.Sort(urls)
	return urls
}

// Links in external pages are not followed. A day later only failed ones are requested again.
func TestExternalLinks_AreRequestedOnceAsLeaves(t *testing.T) {
	for _, how := range []string{"head", "get"} {
		t.Run(how, func(t *testing.T) {
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			synctest.Test(t, func(t *testing.T) {
				web := elsewhere()
				web.StartPipe()
				defer web.Close()
				dir, s := filepath.Join(t.TempDir(), "d"), crawldir.Defaults()
				s.Contact, s.AllowNet, s.External, s.MaxWait = "crawl@library.org", []string{web.Net().String()}, how, 90*time.Second
				o := crawldir.Options{Unheard: true, Resolve: web.Resolve, Dial: web.Dial}
				seeds, err := crawldir.SeedURLs("http://a.test/")
				if err == nil {
					err = crawldir.Create(t.Context(), dir, &s, seeds)
				}
				if err == nil {
					_, err = crawldir.Run(t.Context(), dir, o)
				}
				require.NoError(t, err)
				r := judged(t, dir)
				wantFindings(t, "broken", r.Broken, "http://b.test/gone 404 status 404 external 2", "http://d.test/robots.txt 404 status 404 external 2", "http://never.test/x 0 nxdomain external 2")
				wantFindings(t, "undecided", r.Undecided, "http://b.test/bot 403 status 403 link 2", "http://c.test/999 999 status 999 link 2")
				wantFindings(t, "untested", r.Untested, "http://b.test/private/x 0 robots.txt forbids it link 2")
				assert.Truef(t, r.External == 0 && len(r.Redirects) == 1 && r.Documents == 2 && r.Mentions == 21, "%+v", r)
				first := requests(web, "")
				want := map[string][]string{
					"head": {"GET /bot", "GET /gone", "GET /robots.txt", "GET /robots.txt", "HEAD /bot", "HEAD /gone", "HEAD /moved", "HEAD /ok", "HEAD /pic.png"},
					"get":  {"GET /bot", "GET /gone", "GET /moved", "GET /ok", "GET /pic.png", "GET /robots.txt", "GET /robots.txt"},
				}[how]
				assert.Equal(t, want, requests(web, "b.test"), "asked of b.test")
				time.Sleep(25 * time.Hour) // virtual
				if _, err = crawldir.Update(t.Context(), dir, &s, &s); err == nil {
					_, err = crawldir.Run(t.Context(), dir, o)
				}
				require.NoError(t, err)
				again := judged(t, dir)
				for _, same := range [][2][]check.Finding{{r.Broken, again.Broken}, {r.Undecided, again.Undecided}, {r.Untested, again.Untested}} {
					assert.Equal(t, of(same[0]), of(same[1]), "a day later")
				}
				for _, x := range []string{"/ok", "/pic.png"} {
					assert.Equal(t, 1, strings.Count(strings.Join(requests(web, "b.test"), "\n")+"\n", " "+x+"\n"), x)
				}
				assert.Greater(t, len(requests(web, "")), len(first), "broken URLs were not requested again")
			})
		})
	}
}

func wantFindings(t *testing.T, what string, all []check.Finding, want ...string) {
	t.Helper()
	assert.Equal(t, want, of(all), what)
}

// requests returns those to a host, or to any if it is empty.
func requests(web *crawltest.Web, host string) (all []string) {
	for _, r := range web.Referee().Requests() {
		if host == "" || r.Host == host {
			all = append(all, r.Method+" "+r.Target)
		}
	}
	slices.Sort(all)
	return all
}

func TestExternal_InvalidValueIsRefused(t *testing.T) {
	s := crawldir.Defaults()
	s.External, s.Contact = "post", "crawl@library.org"
	assert.ErrorContains(t, s.Check(nil), "want none, head or get")
}
