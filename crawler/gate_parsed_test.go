package crawler

import (
	"fmt"
	"testing"

	"curtsy/robots"
)

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
