package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// audience looks at the dashboard of a crawl for as long as it runs: browsers that have pages open, and a Prometheus. It
// is of the process that measures, so that its own work is not the crawl's.
type audience struct {
	said    lastWords // standard error of the crawl, which has the address
	line    []byte    // of that, until the address was found; nil from then on
	address chan string
	updates atomic.Int64
	scrapes atomic.Int64
}

// openPages are what the browsers look at: the page that most look at in two, and those that cost most.
var openPages = []string{"", "", "hosts", "hosts?sort=fetched", "decisions"}

// scrapeEvery is how often the Prometheus comes.
const scrapeEvery = time.Second

// dashboardSays is what stands before the address.
const dashboardSays = "dashboard: "

// Write implements io.Writer for the standard error of a crawl with a dashboard.
func (a *audience) Write(p []byte) (int, error) {
	if a.line != nil {
		a.line = append(a.line, p...)
		if _, after, ok := bytes.Cut(a.line, []byte(dashboardSays)); ok {
			if address, _, whole := bytes.Cut(after, []byte("\n")); whole {
				a.line = nil
				a.address <- string(address)
			}
		}
	}
	return a.said.Write(p)
}

func newAudience() *audience { return &audience{line: []byte{}, address: make(chan string, 1)} }

// look looks at the dashboard, once it is there, until ctx ends.
func (a *audience) look(ctx context.Context) {
	var address string
	select {
	case <-ctx.Done():
		return
	case address = <-a.address:
	}
	u, err := url.Parse(address)
	if err != nil {
		return // nothing is seen, which the result says
	}
	var looking sync.WaitGroup
	for _, page := range openPages {
		looking.Go(func() { a.browse(ctx, address, "http://"+u.Host+"/crawl/0/"+page) })
	}
	looking.Go(func() { a.scrape(ctx, "http://"+u.Host+"/metrics", u.Query().Get("token")) })
	looking.Wait()
}

// browse opens a page as a browser does, and reads what changes.
func (a *audience) browse(ctx context.Context, address, page string) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return
	}
	c := &http.Client{Jar: jar, Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	for _, ask := range []string{address, page} { // the first sets the cookie
		if read(ctx, c, ask, "text/html", "", func(r io.Reader) { _, _ = io.Copy(io.Discard, r) }) != nil {
			return
		}
	}
	_ = read(ctx, c, page, "text/event-stream", "", func(r io.Reader) { // it ends with the crawl
		for lines := bufio.NewReaderSize(r, 64<<10); ; {
			line, more, err := lines.ReadLine()
			if err != nil {
				return
			}
			if bytes.HasPrefix(line, []byte("data: ")) {
				a.updates.Add(1)
			}
			for more && err == nil {
				_, more, err = lines.ReadLine()
			}
		}
	})
}

// scrape asks for metrics again and again, as a Prometheus does.
func (a *audience) scrape(ctx context.Context, metrics, token string) {
	c := &http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	every := time.NewTicker(scrapeEvery)
	defer every.Stop()
	for {
		err := read(ctx, c, metrics, "text/plain", token, func(r io.Reader) {
			if b, err := io.ReadAll(r); err == nil && strings.Contains(string(b), "\ncurtsy_pages_total{") {
				a.scrapes.Add(1)
			}
		})
		if err != nil {
			return // the crawl is over
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// read asks for something, and hands it over.
func read(ctx context.Context, c *http.Client, address, accept, token string, take func(io.Reader)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", accept)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("bench: %s", resp.Status)
	}
	take(resp.Body)
	return nil
}
