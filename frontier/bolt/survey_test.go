package bolt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

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

// Hosts that become known during paging come in their place, if it is not past, and no host comes twice.
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
	assert.Truef(t, slices.IsSorted(names) && len(slices.Compact(slices.Clone(names))) == len(names) && rounds >= 10, "%d pages: %v", rounds, names)
	again := e.hosts(1<<40, func() {})
	assert.Truef(t, int64(len(again)) == e.stats().Hosts, "%d hosts of %d", len(again), e.stats().Hosts)
}

// However many pages are read while hosts become known, an entry of the large part moves only a few times.
func TestHosts_IndexIsReusedBetweenPages(t *testing.T) {
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
		t.Fatal("the index is wrong")
	}
	assert.LessOrEqualf(t, merges, 80, "%d merges, %d steps for %d hosts", merges, steps, len(hosts))
}
