package bolt

import (
	"testing"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// publicState is the public state of a frontier, without times.
type publicState struct {
	stats frontier.Stats
	hosts []frontier.Host
	seeds []frontier.Seed
}

func stateOf(t testing.TB, path string) publicState {
	t.Helper()
	f := reader(t, path)
	defer f.Close()
	var w publicState
	var err error
	if w.stats, err = f.Stats(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.stats.Due, w.stats.Size, w.stats.State = 0, 0, 0
	if w.hosts, err = f.Hosts(t.Context(), canon.Authority{}, 1000); err != nil {
		t.Fatal(err)
	}
	for i := range w.hosts {
		w.hosts[i].Wait = 0
	}
	if w.seeds, err = frontier.SeedsOf(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	return w
}
