package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

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

// townSite is a site with so many pages, each with text of its own.
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
			for i := range 60 { // words that no other page has in this order
				fmt.Fprintf(w, "<p>%x", sha256.Sum256(append(seed[:], byte(i))))
			}
			for n := range pages {
				fmt.Fprintf(w, `<a href="%s">%d</a> `, path(n), n)
			}
		}),
	}
}

// dashboardWeb is a web that keeps a crawl busy for minutes: hosts with a pace of their own, one that rests, one whose robots.txt
// cannot be had, errors.
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

// townDashboard is the address of a dashboard beside a crawl of dashboardWeb.
func townDashboard(t *testing.T) (address string) {
	t.Helper()
	args := []string{"--own-site", "none"}
	web := dashboardWeb()
	for _, h := range web.Hosts() {
		args = append(args, "http://"+h+"/")
	}
	return dashboarded(t, web, filepath.Join(t.TempDir(), "town crawl"), args...)
}

// dashboarded crawls a web with a dashboard beside it until the test ends, and returns the dashboard's address.
func dashboarded(t *testing.T, web *crawltest.Web, dir string, more ...string) (address string) {
	t.Helper()
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	said := &addressIn{found: make(chan string, 1)}
	cmd := crawlcmd.NewIn(crawlcmd.World{Resolve: web.Resolve, Dial: web.Dial}, cli.Streams{In: strings.NewReader(""), Out: said, Err: said})
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
			cancel()
			ended := <-done
			done <- ended
			t.Fatalf("%v; the crawl ended: %v\n%s", err, ended, said.text.String())
		}
		ready = resp.StatusCode == http.StatusOK
		resp.Body.Close()
	}
	return address
}
