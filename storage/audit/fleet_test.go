package audit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
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
	a, err := canon.ParseAuthority(site)
	require.NoError(t, err)
	slot := []int{a.Slot()}
	// marks has w1 own the site until 4.5 s of the server's clock and w2 from 5 s on, whose clock is 5 s behind.
	given := true
	marks := func(f *Fleet) {
		at := func(d, behind time.Duration) Notice {
			return Notice{Server: day0.Add(d), Asked: day0.Add(d - behind - 5*ms), Time: day0.Add(d - behind + 5*ms)}
		}
		took, gave, took2 := at(-s, 0), at(4500*ms, 0), at(5*s, 5*s)
		took.Taken, took2.Taken = slot, slot
		if given {
			gave.Given = slot
		}
		f.Notice("w1", took)
		f.Notice("w1", gave)
		f.Notice("w2", took2)
		f.Missing = []string{"w3"}
	}
	expired := func(f *Fleet) {
		given = false
		marks(f)
		given = true
	}
	frozen := ours(t)
	frozen.add(fetch{url: site + "/robots.txt", body: rule})
	frozen.add(fetch{url: site + "/", at: 2 * s, took: 5 * s})
	for _, tt := range []struct {
		name          string
		first, second *archive
		codes         string
		marks         func(f *Fleet)
	}{
		{"a hand-over", member(0, 2*s, 4*s), member(5100*ms, 7*s), "", nil},
		{"there and back", member(0, 2*s, 20*s, 22*s), member(10*s, 12*s), "", nil},
		{"within the delay", member(0, 2*s, 4*s), member(4500*ms, 7*s), "gap", nil},
		{"a page within the delay", member(0, 2*s, 9*s), member(4*s, 8500*ms), "gap", nil},
		{"at one time", member(0, 2*s, 4*s), member(4050*ms, 7*s), "in-flight", nil},
		{"between two", member(0, 1500*ms, 3*s), member(2300 * ms), "in-flight", nil},
		{"another clock", member(0, 2*s, 4*s), member(150*ms, 2*s), "member-missing", marks},
		{"200 ms earlier", member(0, 2*s, 4*s), member(-50*ms, 2*s), "gap member-missing owner", marks},
		{"200 ms later", member(0, 2*s, 4200*ms), member(150*ms, 2*s), "gap member-missing", marks},
		{"after it was given", member(0, 2*s, 4700*ms), member(2*s, 4*s), "member-missing owner", marks},
		{"read late", frozen, member(1100*ms, 3*s), "member-missing", expired},
		{"read late, and within the delay", frozen, member(900*ms, 3*s), "gap member-missing", expired},
		{"before it was taken", member(0, 2*s), member(-500*ms, 2*s), "member-missing owner", marks},
	} {
		for _, order := range [][2]*archive{{tt.first, tt.second}, {tt.second, tt.first}} {
			var f Fleet
			var all string
			if tt.marks != nil {
				tt.marks(&f)
			}
			for i, a := range order {
				if r := a.audit(Options{}); !r.Clean {
					t.Errorf("%s: member %d by itself: %s", tt.name, i, shown(r))
				}
				f.Member, f.Last = map[*archive]string{tt.first: "w1", tt.second: "w2"}[a], i == 1
				all += " " + codes(a.audit(Options{Witnesses: []Witness{&f}}))
			}
			found := strings.Fields(all)
			slices.Sort(found)
			assert.Equal(t, tt.codes, strings.Join(found, " "), tt.name)
		}
	}
}
