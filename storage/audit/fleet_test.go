package audit

import (
	"testing"
	"time"
)

// Two members whose archives are sound are not sound together when they request from one host at one time, or within its delay.
func TestFleet_Together(t *testing.T) {
	t.Parallel()
	member := func(at ...time.Duration) *archive {
		a := ours(t)
		for i, at := range at {
			f := fetch{url: site + "/", at: at}
			if i == 0 {
				f.url, f.body = site+"/robots.txt", rule
			}
			a.add(f)
		}
		return a
	}
	const ms = time.Millisecond
	for _, tt := range []struct {
		name          string
		first, second *archive
		codes         string
	}{
		{"a hand-over", member(0, 2*s, 4*s), member(5100*ms, 7*s), ""},
		{"there and back", member(0, 2*s, 20*s, 22*s), member(10*s, 12*s), ""},
		{"within the delay", member(0, 2*s, 4*s), member(4500*ms, 7*s), "gap"},
		{"a page within the delay", member(0, 2*s, 9*s), member(4*s, 8500*ms), "gap"},
		{"at one time", member(0, 2*s, 4*s), member(4050*ms, 7*s), "in-flight"},
		{"between two", member(0, 1500*ms, 3*s), member(2300 * ms), "in-flight"},
	} {
		for _, order := range [][2]*archive{{tt.first, tt.second}, {tt.second, tt.first}} {
			var f Fleet
			var all string
			for i, a := range order {
				if r := a.audit(Options{}); !r.Clean {
					t.Errorf("%s: member %d by itself: %s", tt.name, i, shown(r))
				}
				f.Member = []string{"w1", "w2"}[i]
				all = codes(a.audit(Options{Witnesses: []Witness{&f}}))
				if i == 0 && all != "" {
					t.Errorf("%s: the first: %s", tt.name, all)
				}
			}
			if all != tt.codes {
				t.Errorf("%s: %q, want %q", tt.name, all, tt.codes)
			}
		}
	}
}
