package crawldir

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/storage"
)

// stored returns a stopped frontier's URLs by path, its number of seeds, and its generation.
func stored(t *testing.T, dir string) (of map[string]frontier.Entry, seeds int, g budget.Generation) {
	t.Helper()
	f, err := engine.OpenReadOnly(dir)
	require.NoError(t, err)
	defer f.Close()
	of = map[string]frontier.Entry{}
	err = f.Export(t.Context(), func(i frontier.Item) error {
		switch {
		case i.URL != nil:
			of[i.URL.URL.Path()] = *i.URL
		case i.Seed != nil:
			seeds++
		case i.Totals != nil:
			g = budget.GenerationOf(i.Totals.Counts)
		}
		return nil
	})
	require.NoError(t, err)
	found, err := engine.Check(dir)
	require.Truef(t, err == nil && len(found) == 0, "%v %v", found, err)
	return of, seeds, g
}

func roundOf(paths ...string) Round {
	due := map[string]bool{}
	for _, p := range paths {
		due[p] = true
	}
	return Round{
		Due:         func(e frontier.Entry) bool { return due[e.URL.Path()] },
		Retired:     func(canon.Authority) bool { return false },
		PagesOfHost: func(canon.Authority) uint64 { return 0 },
	}
}

func TestRound_RequestsOnlyDueURLs(t *testing.T) {
	site := crawltest.Tree("bakery.test", 12)
	dir := crawled(t, site)
	before, seeds, _ := stored(t, dir)
	due := ""
	for path, e := range before {
		if path != "/" && e.Outcome == frontier.Fetched {
			due = path
		}
	}
	g, err := BeginRound(t.Context(), dir, nil, roundOf(due))
	require.Truef(t, err == nil && g.Number == 2 && g.Round, "%v %v", g, err)
	after, nowSeeds, stays := stored(t, dir)
	assert.Truef(t, nowSeeds == seeds && stays == g && len(after) == len(before), "%d seeds of %d, %d URLs of %d, generation %+v", nowSeeds, seeds, len(after), len(before), stays)
	for path, e := range after {
		want := before[path]
		if path == due {
			want.Outcome, want.Reason = 0, ""
		}
		assert.Truef(t, e.Outcome == want.Outcome && e.Reason == want.Reason && e.Print == want.Print && e.Depth == want.Depth && e.Attempts == 0, "%s: %+v, want %+v", path, e, want)
	}
	asked := 0
	r, err := Run(t.Context(), dir, Options{Line: func(l storage.Line) {
		if l.Outcome != "" {
			asked++
		}
	}})
	assert.Truef(t, err == nil && asked == 1 && r.Changes != nil && r.Changes.Round && r.Changes.Counts["unchanged"] == 1, "%d URLs were requested, %+v, %v", asked, r.Changes, err)
	left, err := filepath.Glob(in(dir, "frontier*"))
	assert.Truef(t, err == nil && len(left) == 1, "%v %v", left, err)
}

func TestRound_CannotBeginBeforeTheEnd(t *testing.T) {
	dir := crawled(t, crawltest.Tree("bakery.test", 3))
	require.NoError(t, one(BeginRound(t.Context(), dir, nil, roundOf("/"))))
	assert.Error(t, one(BeginRound(t.Context(), dir, nil, roundOf("/"))), "a round began before the end of the one before")
	ran(t, dir, Options{})
	first, err := BeginRound(t.Context(), dir, nil, roundOf("/"))
	assert.Truef(t, err == nil && first.Before == 0 && first.Number == 3, "%+v %v: an update after rounds must be compared with all since the last update", first, err)
}

func TestRound_FailedBeginLeavesNoFiles(t *testing.T) {
	dir := crawled(t, crawltest.Tree("bakery.test", 3))
	ctx, cancel := context.WithCancel(t.Context())
	r := roundOf("/")
	r.Due = func(frontier.Entry) bool { cancel(); return true }
	_, err := BeginRound(ctx, dir, nil, r)
	require.Error(t, err, "it began")
	left, err := filepath.Glob(in(dir, "frontier*"))
	assert.Truef(t, err == nil && len(left) == 1, "%v %v", left, err)
	_, _, g := stored(t, dir)
	assert.Truef(t, g.Number == 1, "%+v", g)
}
