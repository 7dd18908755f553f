package robots_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"

	"curtsy/robots"
)

// mayFetch reads a site's robots.txt and reports whether the crawler of that product token may fetch a page of it. A
// crawler stores the State of each site, so that it requests robots.txt once a day and not once a page.
func mayFetch(token, page string) (robots.Verdict, error) {
	u, err := url.Parse(page)
	if err != nil {
		return robots.Verdict{}, err
	}
	client := &http.Client{
		Timeout: 30 * time.Second,
		// Next follows redirects: the file at their end binds the first site.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	origin := u.Scheme + "://" + u.Host
	var state robots.State
	var body []byte
	for need := state.Need(origin, time.Now()); need.Action == robots.Fetch; {
		var ex robots.Exchange
		if resp, err := client.Get(need.URL); err != nil {
			ex.Failure = "network" // unreachable: nothing may be fetched (RFC 9309 2.3.1.4)
		} else {
			ex.Status, ex.Header = resp.StatusCode, resp.Header
			// One octet beyond the limit shows whether the body is longer.
			if ex.Body, err = io.ReadAll(io.LimitReader(resp.Body, robots.MaxBody+1)); err != nil {
				ex.Failure = "incomplete"
			}
			resp.Body.Close()
		}
		body = ex.Body
		state, need = robots.Next(state, origin, ex, time.Now())
	}
	if v, ok := state.Verdict(); ok {
		return v, nil // robots.txt is missing or unavailable
	}
	// The target is the path and query of the request line.
	return robots.Parse(body, robots.Options{Token: token}).Match(u.RequestURI()), nil
}

// This example requests a site's robots.txt and judges targets by it.
func Example() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			http.Redirect(w, r, "/static/robots.txt", http.StatusMovedPermanently)
		case "/static/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /search\nAllow: /search/about\n")
		}
	}))
	defer site.Close()

	for _, target := range []string{"/search?q=rye", "/search/about", "/bread"} {
		v, err := mayFetch("ExampleBot", site.URL+target)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %v (%s, line %d)\n", target, v.Allowed, v.Reason, v.Line)
	}
	// Output:
	// /search?q=rye: false (disallow rule, line 2)
	// /search/about: true (allow rule, line 3)
	// /bread: true (no match, line 0)
}
