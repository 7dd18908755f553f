package bolt

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// used makes a closed frontier with many superseded records.
func used(t testing.TB) string {
	t.Helper()
	e := newEngine(t, t.TempDir(), frontier.Options{})
	e.add(append(e.links("a", 0, 2000), frontier.Candidate{URL: mustURL(t, "http://seed.test/"), Kind: frontier.KindSeed}))
	e.add(e.links("b", 0, 500))
	for i := range 60 {
		turn := e.turn(50)
		r := fetched(turn)
		if i%3 == 0 {
			for k := range r.Done {
				r.Done[k].Outcome, r.Done[k].Reason = frontier.Failed, "status 500"
			}
			r.Deferred = []frontier.Deferral{{Print: r.Done[0].Print, After: 1 << 50, Reason: "later"}}
			r.Done = r.Done[1:]
		}
		r.Found = append(e.links("c", 10*i, 10), frontier.Candidate{URL: e.links("out", i, 1)[0].URL, Refused: "scope"})
		r.Host = &frontier.HostUpdate{Robots: make([]byte, 3000+i), Memory: []byte{byte(i)}, Pace: 1}
		r.Blobs = [][]byte{[]byte("User-agent: *"), make([]byte, 9000)}
		e.finish(r)
		if i%5 == 0 {
			e.sync()
		}
	}
	e.shut()
	return e.file
}

func TestCompact_KeepsLiveRecords(t *testing.T) {
	for _, forget := range []bool{false, true} {
		path := used(t)
		want := stateOf(t, path)
		before, after, err := Compact(t.Context(), path, forget)
		require.Truef(t, err == nil && after < before && after == int64(len(read(t, path))), "Compact: %d, %d octets, error %v", before, after, err)
		checkClean(t, path)
		assert.Equal(t, want, stateOf(t, path))
		e := &engine{TB: t, file: path}
		e.start()
		for _, c := range e.links("a", 0, 2000) {
			seen, err := e.Seen(t.Context(), []canon.URL{c.URL})
			require.Truef(t, err == nil && seen[0], "%s: %v, %v", c.URL, seen, err)
		}
		assert.Equal(t, 2000, e.add(e.links("a", 0, 2000)).Known)
		assert.Equal(t, want.stats.Outcomes[frontier.Failed], e.retry(frontier.Retrial{Outcome: frontier.Failed}).URLs)
		e.closeAll(frontier.Fetched)
		e.shut()
	}
}

func TestCompact_ForgetsTextsOfFinishedURLs(t *testing.T) {
	path := used(t)
	want := stateOf(t, path)
	_, kept, err := Compact(t.Context(), path, false)
	require.NoError(t, err)
	_, forgot, err := Compact(t.Context(), path, true)
	require.NoError(t, err)
	require.Lessf(t, forgot, kept, "%d octets with texts, %d without, error %v", kept, forgot, err)
	before, again, err := Compact(t.Context(), path, true)
	require.Truef(t, err == nil && before == forgot && again == forgot, "%d, then %d and %d octets, error %v", forgot, before, again, err)
	assert.Equal(t, want, stateOf(t, path))
}

func TestCompact_FailureChangesNothing(t *testing.T) {
	path := used(t)
	before := string(read(t, path))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := Compact(ctx, path, true)
	assert.ErrorIs(t, err, context.Canceled, "cancelled")
	_, _, err = Compact(t.Context(), path+"x", true)
	assert.ErrorIs(t, err, os.ErrNotExist, "none")
	assert.Equal(t, before, string(read(t, path)), "the file has been changed")
	f := opened(t, path)
	_, _, err = Compact(t.Context(), path, true)
	assert.ErrorIs(t, err, frontier.ErrInUse, "in use")
	f.Close()
	require.NoError(t, os.Truncate(path, 40_000))
	_, _, err = Compact(t.Context(), path, true)
	assert.ErrorIs(t, err, frontier.ErrDamaged, "cut off")
	_, err = os.Stat(path + ".new")
	assert.Error(t, err, "a file remains beside it")
}

// forgetful makes a closed frontier that has forgotten 512 URLs of host a; three remain, one of them pending.
func forgetful(t testing.TB) string {
	t.Helper()
	e := newEngine(t, t.TempDir(), frontier.Options{})
	e.add(e.links("a", 0, 512))
	e.finish(fetched(e.turn(512)))
	e.add(e.links("a", 512, 3))
	turn := e.turn(2)
	r := fetched(turn)
	r.Done[1].Outcome = frontier.Gone
	e.finish(r)
	e.shut()
	_, _, err := Compact(t.Context(), e.file, true)
	require.NoError(t, err)
	return e.file
}

func TestCompact_DropAfterForgetting(t *testing.T) {
	e := newEngine(t, filepath.Dir(forgetful(t)), frontier.Options{})
	s := frontier.Steering{Act: frontier.Drop, Authority: authority(t, "a")}
	for _, c := range e.links("a", 500, 15) {
		s.URLs = append(s.URLs, c.URL)
	}
	assert.EqualValues(t, 1, e.steer(s).URLs)
	assert.Equal(t, frontier.Drained, e.stats().State)
}

func TestCompact_ForgottenStaySeenAfterExport(t *testing.T) {
	path := forgetful(t)
	want := stateOf(t, path).stats
	x, _ := export(t, path)
	if len(x.urls) != 3 || len(x.refused) != 512 || x.totals.Reasons[ReasonForgotten] != 512 {
		t.Errorf("%d URLs, %d fingerprints, %v", len(x.urls), len(x.refused), x.totals.Reasons)
	}
	move(t, path)
	checkClean(t, path)
	st := stateOf(t, path).stats
	if st.Discovered != want.Discovered || st.Outcomes != (frontier.Outcomes{frontier.Fetched: 1, frontier.Gone: 1, frontier.Dropped: 512}) || st.Queued != 1 {
		t.Errorf("%+v", st)
	}
	e := newEngine(t, filepath.Dir(path), frontier.Options{})
	assert.Equal(t, 515, e.add(e.links("a", 0, 515)).Known)
}
