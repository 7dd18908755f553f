package robots_test

import (
	"fmt"
	"time"

	"curtsy/robots"
)

func ExampleParse() {
	policy := robots.Parse([]byte(`
User-agent: *
Disallow: /search
Allow: /search/about
Crawl-delay: 2.5
`), robots.Options{Token: "curtsy"})

	for _, target := range []string{"/search?q=rye", "/search/about", "/bread"} {
		v := policy.Match(target)
		fmt.Printf("%s: %v, %s, line %d %q, before %q\n", target, v.Allowed, v.Reason, v.Line, v.Rule, v.RunnerUp)
	}
	delay, _ := policy.CrawlDelay()
	fmt.Println("pause:", delay)
	// Output:
	// /search?q=rye: false, disallow rule, line 3 "Disallow: /search", before ""
	// /search/about: true, allow rule, line 4 "Allow: /search/about", before "Disallow: /search"
	// /bread: true, no match, line 0 "", before ""
	// pause: 2.5s
}

// A server that is down, comes back with a redirect, and then answers.
func ExampleNext() {
	const origin = "https://bakery.example"
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	answers := []robots.Exchange{
		{Status: 503, Header: map[string][]string{"Retry-After": {"600"}}},
		{Status: 301, Header: map[string][]string{"Location": {"https://www.bakery.example/robots.txt"}}},
		{Status: 200, Body: []byte("User-agent: *\nDisallow: /ovens/\n")},
	}

	var state robots.State
	for need := state.Need(origin, now); need.Action != robots.Judge; {
		if need.Action == robots.Wait {
			fmt.Println("wait", need.After)
			now = now.Add(need.After)
			need = state.Need(origin, now)
			continue
		}
		fmt.Println("ask", need.URL)
		state, need = robots.Next(state, origin, answers[0], now)
		answers = answers[1:]
	}
	digest, _ := state.Body()
	fmt.Printf("judge by %x…, until %s\n", digest[:4], state.Expires().Format(time.DateTime))
	// Output:
	// ask https://bakery.example/robots.txt
	// wait 10m0s
	// ask https://bakery.example/robots.txt
	// ask https://www.bakery.example/robots.txt
	// judge by 30f3812c…, until 2026-03-02 12:10:00
}
