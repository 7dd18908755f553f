package main

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"

	"curtsy/crawler/crawltest"
)

// Browsers that open the page of a crawl and read nothing, a hundred of them, do not hold it up: it begins when they are
// there, and comes to its end while they still are.
func TestABrowserThatReadsNothingDoesNotHoldUpTheCrawl(t *testing.T) {
	t.Parallel()
	const pages = 300
	seated := make(chan struct{})
	web := crawltest.New(&crawltest.Site{
		Name: "bakery.test", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				select {
				case <-seated:
				case <-r.Context().Done():
					return
				}
			}
			w.Header().Set("Content-Type", "text/html")
			for n := range pages - 1 {
				fmt.Fprintf(w, `<a href="/%d">%d</a> `, n, n)
			}
		}),
	})
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	said := &addressIn{found: make(chan string, 1)}
	cmd := curtsy(t, "crawl", "--dashboard", "127.0.0.1:0", "--delay", "0", "--dir", filepath.Join(t.TempDir(), "d"), web.LoopbackURL("bakery.test"))
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var address string
	select {
	case address = <-said.found:
	case err := <-ended:
		t.Fatalf("the crawl ended: %v\n%s", err, said.text.String())
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.(*net.TCPConn).SetReadBuffer(1); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(c, "GET /crawl/0/ HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n", u.Host, u.Query().Get("token")); err != nil {
			t.Fatal(err)
		}
	}
	close(seated)
	if err := <-ended; err != nil {
		t.Errorf("%v\n%s", err, said.text.String())
	}
	asked := map[string]bool{}
	for _, r := range web.Referee().Requests() {
		asked[r.Target] = true
	}
	if len(asked) < pages {
		t.Errorf("%d of %d pages were asked for", len(asked), pages)
	}
}
