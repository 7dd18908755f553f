package crawler

import (
	"testing"
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
