package bolt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// hosts pages through all hosts.
func (e *engine) hosts(limit int, between func()) (all []frontier.Host) {
	e.Helper()
	var last canon.Authority
	for {
		page, err := e.Hosts(context.Background(), last, limit)
		require.NoError(e, err)
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		last = page[len(page)-1].Authority
		between()
	}
}

func TestSurvey_IsWhatALookAtEveryHostTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, t.TempDir(), frontier.Options{})
		e.busy(7, 120)
		for h := range 40 {
			e.add(e.links(fmt.Sprint("x", h), 0, h%5))
		}
		e.steer(frontier.Steering{Act: frontier.Park, Authority: authority(t, "x3")})
		all := e.hosts(7, func() {})
		why, holds := map[frontier.Condition]map[string]int64{}, map[frontier.Act]int64{}
		for i, h := range all {
			all[i].Robots, all[i].Memory = nil, nil
			if h.Condition != frontier.Open {
				if why[h.Condition] == nil {
					why[h.Condition] = map[string]int64{}
				}
				why[h.Condition][h.Reason]++
			}
			if h.Hold.Act != 0 {
				holds[h.Hold.Act]++
			}
		}
		pending := func(h frontier.Host) int64 { return h.Queued + h.InFlight + h.Deferred }
		slices.SortStableFunc(all, func(a, b frontier.Host) int { return int(pending(b) - pending(a)) })
		all = slices.DeleteFunc(all, func(h frontier.Host) bool { return pending(h) == 0 })
		shut := slices.DeleteFunc(slices.Clone(all), func(h frontier.Host) bool { return h.Condition == frontier.Open && h.Hold.Act == 0 })
		if len(shut) == 0 || len(why) == 0 || len(holds) < 2 {
			t.Fatalf("%d shut, %v, %v: the test does not test it", len(shut), why, holds)
		}
		for _, n := range []int{0, 1, 2, 5, 1000} {
			s, err := e.Survey(context.Background(), n)
			require.NoError(t, err)
			want := frontier.Survey{
				Longest: append([]frontier.Host(nil), all[:min(n, len(all))]...), Shut: append([]frontier.Host(nil), shut[:min(n, len(shut))]...),
				Why: why, Holds: holds,
			}
			assert.Equalf(t, want, s, "n=%d", n)
		}
	})
}

// Hosts that become known while somebody pages through come in their place, if it is not past, and no host comes twice.
func TestHosts_PagesAreInOrderWhileHostsBecomeKnown(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	rng := rand.New(rand.NewPCG(8, 9))
	known := func() (cs []frontier.Candidate) {
		for range 30 {
			cs = append(cs, e.links(fmt.Sprint("h", rng.IntN(5000)), 0, 1)...)
		}
		return cs
	}
	e.add(append(known(), known()...))
	rounds := 0
	all := e.hosts(5, func() {
		if rounds++; rounds < 40 {
			e.add(known())
		}
	})
	names := make([]string, len(all))
	for i, h := range all {
		names[i] = h.Authority.String()
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) || rounds < 10 {
		t.Errorf("%d pages: %v", rounds, names)
	}
	again := e.hosts(1<<40, func() {})
	if int64(len(again)) != e.stats().Hosts {
		t.Errorf("%d hosts of %d", len(again), e.stats().Hosts)
	}
}

// However many pages are asked for while hosts become known, an entry of the large part moves a few times only.
func TestHosts_TheIndexIsNotMadeAnewForEachPage(t *testing.T) {
	var n names
	var hosts []*host
	rng := rand.New(rand.NewPCG(10, 11))
	merges, steps := 0, 0
	large := 0
	for range 2000 {
		for range 10 {
			hosts = append(hosts, &host{authority: mustURL(t, fmt.Sprintf("http://h%d.test/", rng.Uint32())).Authority()})
		}
		n.update(hosts)
		steps += len(n.small)
		if len(n.large) != large {
			merges, large = merges+1, len(n.large)
			steps += large
		}
	}
	if len(n.large)+len(n.small) != len(hosts) || !slices.IsSortedFunc(n.large, byName) || !slices.IsSortedFunc(n.small, byName) {
		t.Fatal("the index is not what it should be")
	}
	if merges > 80 {
		t.Errorf("%d merges, %d steps for %d hosts", merges, steps, len(hosts))
	}
}
