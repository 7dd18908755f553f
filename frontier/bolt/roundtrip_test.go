package bolt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/bolt/repair"
	"curtsy/frontier/canon"
	"curtsy/frontier/frontiertest"
	"curtsy/frontier/ndjson"
)

// rewrites is a harness that rewrites the file whenever a frontier is opened again. The model must see no difference.
func rewrites(write func(t testing.TB, path string)) frontiertest.Harness {
	h := harness()
	open := h.Open
	h.Open = func(t testing.TB, dir string, o frontier.Options) frontier.Frontier {
		t.Helper()
		path := filepath.Join(dir, "frontier.db")
		switch _, err := os.Stat(path); {
		case err == nil:
			write(t, path)
			checkClean(t, path)
		case !errors.Is(err, os.ErrNotExist):
			t.Fatal(err)
		}
		return open(t, dir, o)
	}
	return h
}

func move(t testing.TB, path string) {
	t.Helper()
	f := reader(t, path)
	var lines bytes.Buffer
	w := ndjson.NewWriter(&lines)
	err := f.Export(context.Background(), w.Write)
	_, closed := w.Close()
	require.NoError(t, errors.Join(err, closed, f.Close(), os.Remove(path)))
	require.NoError(t, repair.Import(path, ndjson.NewReader(&lines).Next))
}

// seeds returns how many workloads to run: n, ten times as many with CURTSY_LONG, one with -short.
func seeds(n uint64) uint64 {
	switch {
	case os.Getenv("CURTSY_LONG") != "":
		return 10 * n
	case testing.Short():
		return 1
	}
	return n
}

// An export and an import change nothing: holds, drops under a lease, deferrals, suspects with their stops, caps,
// released tasks.
func TestWorkload_ExportAndImportChangeNothing(t *testing.T) {
	for seed := range seeds(6) {
		frontiertest.Workload(t, seed, 250, rewrites(move))
	}
}

func TestWorkload_CompactChangesNothing(t *testing.T) {
	compact := func(t testing.TB, path string) {
		t.Helper()
		_, _, err := Compact(t.Context(), path, false)
		require.NoError(t, err)
	}
	for seed := range seeds(4) {
		frontiertest.Workload(t, seed, 200, rewrites(compact))
	}
}

// Holds, released tasks and suspects survive a rebuild.
func TestRebuild_KeepsHoldsMarksAndStops(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	for _, h := range []string{"a", "b", "c", "d"} {
		e.add(e.links(h, 0, 4))
	}
	turn := e.turn(3)
	r := fetched(turn)
	r.Done[0].Outcome, r.Done[1].Outcome = frontier.Held, frontier.Failed
	r.Deferred = []frontier.Deferral{{Print: turn.Tasks[2].Print, After: time.Hour, Reason: "status 503"}}
	r.Done = r.Done[:2]
	e.finish(r)
	e.retry(frontier.Retrial{Outcome: frontier.Held})
	e.turn(1)
	e.turn(1)
	e.sync()
	e.die() // two suspects
	e.start()
	e.steer(frontier.Steering{Act: frontier.Park, Authority: authority(t, "b"), Reason: "night"})
	e.steer(frontier.Steering{Act: frontier.Park, Authority: authority(t, "c"), For: 1 << 50, Reason: "a while"})
	leased := e.turn(2)
	e.steer(frontier.Steering{Act: frontier.Drop, Authority: leased.Authority, URLs: []canon.URL{leased.Tasks[0].URL}})
	e.steer(frontier.Steering{Act: frontier.Drop, Authority: authority(t, "d")})
	e.die()
	out, s, err := rebuild(t, e.file, nil)
	require.NoError(t, err)
	require.True(t, s.Whole(), s)
	e.start() // judges the tasks in flight, which a rebuilt file does not record
	e.shut()
	want, _ := export(t, e.file)
	got, _ := export(t, out)
	suspects := 0
	for i, x := range want.urls {
		suspects += x.Stops
		y := got.urls[i]
		x.Wait, y.Wait = 0, 0
		if x.URL == leased.Tasks[1].URL {
			x.Stops, x.Alone = 0, 0
		}
		assert.Equalf(t, y, x, "got  %+v\nwant %+v", y, x)
	}
	for i, h := range want.hosts {
		if k := got.hosts[i].Hold; k.Act != h.Hold.Act || k.Reason != h.Hold.Reason || k.Wait/time.Minute != h.Hold.Wait/time.Minute {
			t.Errorf("%s: hold %+v, want %+v", h.Authority, k, h.Hold)
		}
	}
	assert.GreaterOrEqual(t, suspects, 2, "too few stops: the test does not hit")
}
