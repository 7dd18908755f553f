package crawler

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/frontier"
)

func TestRule14_TheField(t *testing.T) {
	s := time.Second
	spaced := func(space, until time.Duration) limit { return limit{given: true, space: space, until: until} }
	for _, tt := range []struct {
		field string
		want  limit
	}{
		{`"p";r=10;t=60`, spaced(6*s, 60*s)},
		{`"p";t=60;r=10`, spaced(6*s, 60*s)},
		{`"p";r=7;t=60`, spaced(8571428572*time.Nanosecond, 60*s)}, // never shorter than t/r
		{`"p";r=0;t=30`, limit{given: true, wait: 30 * s}},
		{`"p";r=1;t=30`, spaced(30*s, 30*s)},
		{`"p";r=10;t=0`, limit{given: true}},
		{`"a";r=100;t=10, "b";r=50;t=100`, spaced(2*s, 100*s)},
		{`"a";r=0;t=5,"b";r=2;t=10`, limit{given: true, wait: 5 * s, space: 5 * s, until: 10 * s}},
		{`"p";r=0;t=999999999999999`, limit{given: true, wait: day}},
		{`"p";r=10;t=60;pk=:cHNm:;x;y=?1;z="\"\\";w=tok/en;v=1.5;u=-1`, spaced(6*s, 60*s)},
		{`"p;r=1";r=10;t=60`, spaced(6*s, 60*s)},
		{`"p";r=1;t=999;r=10;t=60`, spaced(6*s, 60*s)}, // RFC 9651 3.1.2: the last value of a key holds
		{`"p";r=10`, limit{}},
		{`"p";t=60`, limit{}},
		{``, limit{}},
		// Malformed:
		{`p;r=10;t=60`, limit{}},
		{`limit=100, remaining=10, reset=60`, limit{}},
		{`"p";r=-1;t=60`, limit{}},
		{`"p";r=1.5;t=60`, limit{}},
		{`"p";r="1";t=60`, limit{}},
		{`"p";r;t=60`, limit{}},
		{`"p";r=;t=60`, limit{}},
		{`"p";r=10;t=60,`, limit{}},
		{`"p";r=10;t=60 "q"`, limit{}},
		{`"p;r=10;t=60`, limit{}},
		{`"p";R=10;t=60`, limit{}},
		{`("p";r=10;t=60)`, limit{}},
		{`"p";r=1000000000000000000;t=60`, limit{}},
		{`"p";r=0;t=30, nonsense`, limit{}},
		{`"p";r=10;t=60` + "\x00", limit{}},
	} {
		if got := rateLimit(http.Header{"Ratelimit": {tt.field}}); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.field, got, tt.want)
		}
	}
	if got := rateLimit(http.Header{"Ratelimit": {`"a";r=1;t=2`, `"b";r=1;t=3`}}); got.space != 3*s {
		t.Errorf("two fields are one list: %+v", got)
	}
}

// Whatever a site sends, no time is negative, none is over a year, and spacing lasts no longer than its quota.
func FuzzRule14_TheFieldIsBounded(f *testing.F) {
	f.Add(`"p";r=10;t=60, "q";r=0;t=1`)
	f.Add(`"\"";r=3;t=31536000;pk=:AA==:`)
	f.Fuzz(func(t *testing.T, field string) {
		l := rateLimit(http.Header{"Ratelimit": {field}})
		if l.wait < 0 || l.space < 0 || l.wait > longestAfter || l.space > l.until || l.until > longestAfter {
			t.Fatalf("%q: %+v", field, l)
		}
		if !l.given && l != (limit{}) {
			t.Fatalf("%q asks for nothing and says %+v", field, l)
		}
		if _, ok := readQuotas(field); !ok && l.given {
			t.Fatalf("%q is malformed, and obeyed: %+v", field, l)
		}
	})
}

func TestRule14_WhatItMeansForTheHost(t *testing.T) {
	s := time.Second
	for _, tt := range []struct {
		said said
		wait time.Duration
		in   frontier.Condition
	}{
		{said{answer: answered, limit: limit{given: true, wait: 30 * s}}, 30 * s, frontier.Parked},
		{said{answer: answered, limit: limit{given: true, space: 6 * s}}, 6 * s, frontier.Open},
		{said{answer: answered, limit: limit{given: true, space: 6 * time.Hour}}, 6 * time.Hour, frontier.Parked},
		{said{answer: answered, limit: limit{given: true, space: time.Millisecond}}, s, frontier.Open}, // the pace
		{said{answer: answered, limit: limit{given: true, wait: day + s}}, day + s, frontier.Retired},
		{said{answer: throttled, why: "status 429", limit: limit{given: true, wait: 5 * s}}, time.Minute, frontier.Parked},
		{said{answer: throttled, why: "status 429", limit: limit{given: true, wait: time.Hour}}, time.Hour, frontier.Parked},
		{said{answer: throttled, why: "status 429", after: after{given: true, wait: 5 * s}, limit: limit{given: true, wait: time.Hour}}, 5 * s, frontier.Parked},
		{said{answer: refused, why: "status 403", limit: limit{given: true, wait: 30 * s}}, 30 * s, frontier.Parked},
	} {
		var n notes
		if r := n.after(tt.said, s); r.wait != tt.wait || r.condition != tt.in {
			t.Errorf("%+v: waits %v in %d, want %v in %d", tt.said, r.wait, r.condition, tt.wait, tt.in)
		}
	}
}

func TestRule14_SpacingEndsWithItsQuota(t *testing.T) {
	var n notes
	n.spacing(limit{given: true, space: 6 * time.Second, until: time.Minute}, 1000)
	n.spacing(limit{}, 2000) // an answer without the field changes nothing
	for now, want := range map[int64]time.Duration{1000: 6 * time.Second, 60_000_999: 6 * time.Second, 60_001_000: 0} {
		if got := n.space(now); got != want {
			t.Errorf("at %d: %v, want %v", now, got, want)
		}
	}
	n.spaced, n.spacedUntil = math.MaxUint64, math.MaxInt64 // damaged
	if got := n.space(0); got != 0 {
		t.Errorf("%v", got)
	}
}

func TestRule14_TheWholeCrawlKeepsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("a.test", 6)
		left := 5
		pages := site.Pages
		site.Pages = nil
		site.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.RequestURI, "/robots") {
				http.NotFound(rw, r)
				return
			}
			left--
			rw.Header().Set("RateLimit", fmt.Sprintf(`"q";r=%d;t=40`, left))
			if left == 0 {
				left = 10
			}
			rw.Header().Set("Content-Type", "text/html")
			for _, l := range pages[r.RequestURI].Links {
				fmt.Fprintf(rw, `<a href="%s">x</a>`, l)
			}
		})
		w := newWorld(t, []string{"http://a.test/"}, site)
		begin := time.Now()
		s := w.run()
		// After the robots.txt 1 s, then 40 s / 4, 3, 2, 1, then all of 40 s.
		want := time.Second + 10*time.Second + 13333334*time.Microsecond + 20*time.Second + 40*time.Second + 40*time.Second
		if took := time.Since(begin).Truncate(time.Millisecond); s.Status.Fetched != 6 || took != want.Truncate(time.Millisecond) {
			t.Errorf("%d fetched in %v, want 6 in %v", s.Status.Fetched, took, want)
		}
		by := map[string]int{}
		for _, l := range w.ledger.all {
			by[l.PaceBy]++
			if l.PaceBy == byRateLimit && l.Gap < l.Pace {
				t.Errorf("%s: a gap of %v at a pace of %v", l.URL, l.Gap, l.Pace)
			}
		}
		if by[byRateLimit] != 5 { // four were spaced by it, one had to wait for all of a quota
			t.Errorf("who asked for the pace: %v; five exchanges waited for RateLimit", by)
		}
	})
}
