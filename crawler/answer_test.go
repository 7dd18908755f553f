package crawler

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"curtsy/crawler/fetch"
	"curtsy/robots"
)

func TestWhatAnAnswerMeans(t *testing.T) {
	for _, tt := range []struct {
		status   int
		location string
		unwanted string
		failure  fetch.Class
		cause    error
		want     answer
		why      string
		again    int
	}{
		{status: 200, want: answered, again: 1},
		{status: 206, want: answered, again: 1},
		{status: 200, unwanted: "too large", want: unwanted, why: "too large", again: 1},
		{status: 301, location: "/x", want: redirected, why: "status 301", again: 1},
		{status: 308, location: "/x", want: redirected, why: "status 308", again: 1},
		{status: 302, want: useless, why: "status 302", again: 1},
		{status: 304, location: "/x", want: useless, why: "status 304", again: 1},
		{status: 400, want: useless, why: "status 400", again: 1},
		{status: 401, want: refused, why: "status 401", again: 1},
		{status: 402, want: refused, why: "status 402", again: 1},
		{status: 403, want: refused, why: "status 403", again: 1},
		{status: 407, want: refused, why: "status 407", again: 1},
		{status: 451, want: refused, why: "status 451", again: 1},
		{status: 404, want: gone, why: "status 404", again: 1},
		{status: 410, want: gone, why: "status 410", again: 1},
		{status: 408, want: broken, why: "status 408", again: 3},
		{status: 425, want: broken, why: "status 425", again: 3},
		{status: 500, want: broken, why: "status 500", again: 3},
		{status: 504, want: broken, why: "status 504", again: 3},
		{status: 429, want: throttled, why: "status 429", again: 5},
		{status: 503, want: throttled, why: "status 503", again: 5},
		{failure: fetch.NXDomain, want: nowhere, why: "nxdomain", again: 2},
		{failure: fetch.PrivateAddress, want: guarded, why: "private address", again: 1},
		{failure: fetch.DNS, want: unreachable, why: "dns", again: 3},
		{failure: fetch.Connect, want: unreachable, why: "connect", again: 3},
		{failure: fetch.Timeout, want: unreachable, why: "timeout", again: 3},
		{failure: fetch.Timeout, cause: fmt.Errorf("read: %w", fetch.ErrWhole), want: unwanted, why: "too slow", again: 1},
		{status: 200, failure: fetch.Incomplete, want: unreachable, why: "incomplete", again: 3},
		{status: 200, failure: fetch.Coding, want: useless, why: "coding", again: 1},
		{status: 503, failure: fetch.Coding, want: throttled, why: "status 503", again: 5},
		{status: 429, failure: fetch.Incomplete, want: throttled, why: "status 429", again: 5},
		{status: 500, failure: fetch.Incomplete, want: broken, why: "status 500", again: 3},
		{status: 404, failure: fetch.Coding, want: gone, why: "status 404", again: 1},
	} {
		ex := &fetch.Exchange{Status: tt.status, Header: http.Header{}, Unwanted: tt.unwanted}
		if tt.location != "" {
			ex.Header.Set("Location", tt.location)
		}
		if tt.failure != "" {
			ex.Failure = &fetch.Failure{Class: tt.failure, Err: errors.Join(tt.cause, errors.New("cause"))}
		}
		a, why := classify(ex)
		if a != tt.want || why != tt.why || a.again() != tt.again {
			t.Errorf("status %d, failure %q: answer %d, %q, %d exchanges; want %d, %q, %d", tt.status, tt.failure, a, why, a.again(), tt.want, tt.why, tt.again)
		}
	}
}

func TestRetryAfterMeansSomethingWith(t *testing.T) {
	for status := 100; status < 600; status++ {
		ex := &fetch.Exchange{Status: status, Header: http.Header{}}
		a, _ := classify(ex)
		if want := status == 429 || status == 503 || status/100 == 3; restful(a, status) != want {
			t.Errorf("status %d: %v", status, !want)
		}
	}
}

// Politeness rules 9 and 18.
func TestTheFloorIsLoweredForOwnHostsOnly(t *testing.T) {
	for _, tt := range []struct {
		url     string
		foreign bool
		own     bool
	}{
		{"http://127.0.0.1:8080/", false, true},
		{"http://127.7.7.7/", false, true},
		{"http://[::1]/", false, true},
		{"http://localhost:99/", false, true},
		{"http://localhost.test/", false, false},
		{"http://10.0.0.1/", false, false},
		{"http://127.0.0.1/", true, false},
		{"http://localhost/", true, false},
	} {
		c := Config{Delay: -1, LoopbackForeign: tt.foreign}.withDefaults()
		a := parse(t, tt.url).Authority()
		if got := c.own(a); got != tt.own {
			t.Errorf("%s, loopback foreign %v: own %v", tt.url, tt.foreign, got)
		}
		if floor := c.floor(a); floor != 0 && tt.own || floor != Floor && !tt.own {
			t.Errorf("%s: floor %v", tt.url, floor)
		}
		if c.Delay = 3 * Floor; c.floor(a) != 3*Floor {
			t.Errorf("%s: floor %v at a delay of %v", tt.url, c.floor(a), c.Delay)
		}
	}
}

func TestParsedPoliciesAreBoundedAndTheLatestKept(t *testing.T) {
	g := newGate(nil, "libbot", robots.RFC9309)
	if len(g.tokens) != 2 {
		t.Fatalf("tokens %q", g.tokens)
	}
	rules := func(i int) ([32]byte, []byte) {
		b := []byte("User-agent: *\n")
		for k := range 2000 {
			b = fmt.Appendf(b, "Disallow: /%d/%d\n", i, k)
		}
		var d [32]byte
		d[0], d[1] = byte(i), byte(i>>8)
		return d, b
	}
	for i := range 200 {
		d, b := rules(i)
		g.learn(d, b)
		first, _ := rules(0)
		if g.known(first) == nil {
			t.Fatalf("the one that is always in use was forgotten after %d", i)
		}
		sum := 0
		for _, e := range g.parsed {
			sum += e.size
		}
		if g.size != sum || g.size > maxParsed {
			t.Fatalf("size %d, sum %d, bound %d", g.size, sum, maxParsed)
		}
	}
	if len(g.parsed) == 200 {
		t.Error("nothing was forgotten: the test shows nothing")
	}
}
