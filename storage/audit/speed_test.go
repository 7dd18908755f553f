package audit

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// speeds are crawls of others at a known speed, with dates of whole seconds and no ends, as wget writes them.
var speeds = []struct {
	name    string
	pages   int
	step    time.Duration
	robots  string
	floor   time.Duration
	shuffle bool
	codes   string
}{
	{name: "50 pages in a second, Crawl-delay 1", pages: 50, step: 20 * time.Millisecond, robots: "User-agent: *\nCrawl-delay: 1\n", codes: "gap"},
	{name: "300 pages at 100 a second, --floor 1s", pages: 300, step: 10 * time.Millisecond, floor: s, codes: "gap"},
	{name: "the same, shuffled", pages: 300, step: 10 * time.Millisecond, floor: s, shuffle: true, codes: "gap"},
	{name: "two a second, --floor 1s", pages: 20, step: s / 2, floor: s, codes: "gap"},
	{name: "9 of 10 seconds", pages: 40, step: 900 * time.Millisecond, floor: s, codes: "gap"},
	{name: "a Crawl-delay below a second", pages: 100, step: 100 * time.Millisecond, robots: "User-agent: *\nCrawl-delay: 0.2\n", codes: "gap"},
	{name: "one a second", pages: 200, step: s, floor: s},
	{name: "one a second, shuffled", pages: 200, step: s, floor: s, shuffle: true},
	{name: "Crawl-delay 0.2, kept", pages: 100, step: 200 * time.Millisecond, robots: "User-agent: *\nCrawl-delay: 0.2\n"},
	{name: "100 a second, and nobody asked for less", pages: 300, step: 10 * time.Millisecond},
}

// Dates of whole seconds hide a short pause, and not many of them.
func TestPausesAreHeldToTheirSum(t *testing.T) {
	for _, c := range speeds {
		t.Run(c.name, func(t *testing.T) {
			a := foreign(t)
			a.form = "2006-01-02T15:04:05Z"
			a.add(fetch{url: site + "/robots.txt", body: c.robots, meta: "none"})
			order := make([]int, c.pages)
			for i := range order {
				order[i] = i + 1
			}
			if c.shuffle {
				rand.New(rand.NewPCG(1, 1)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			}
			for _, i := range order {
				a.add(fetch{url: fmt.Sprintf("%s/%d", site, i), at: time.Duration(i) * c.step, meta: "none"})
			}
			if r := a.audit(Options{Floor: c.floor}); codes(r) != c.codes {
				t.Errorf("found %q, want %q%s", codes(r), c.codes, shown(r))
			}
		})
	}
}

// A record that lies far from its other half is one exchange all the same: two of a URL and date are not two pauses.
func TestTheHalvesOfAnExchangeAreOne(t *testing.T) {
	a := foreign(t)
	a.form = "2006-01-02T15:04:05Z"
	a.robots("")
	for i := range 30 {
		at := day0.Add(time.Duration(i+1) * s)
		head := "WARC-IP-Address: 198.18.0.1\r\nContent-Type: application/http; msgtype=response"
		for range 3 {
			a.record("response", fmt.Sprintf("%s/%d", site, i), at, head, "HTTP/1.1 200 OK\r\n\r\n")
		}
	}
	if r := a.audit(Options{Floor: s}); codes(r) != "" {
		t.Errorf("found %q%s", codes(r), shown(r))
	}
}
