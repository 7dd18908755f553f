package bolt

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// engine is a frontier in its own directory, for tests that look inside. Calls fail the test on an error, and the file
// is checked whenever the frontier is closed or killed.
type engine struct {
	testing.TB
	*Frontier
	file string
	o    frontier.Options
}

func newEngine(t testing.TB, dir string, o frontier.Options) *engine {
	e := &engine{TB: t, file: filepath.Join(dir, "frontier.db"), o: o}
	e.start()
	t.Cleanup(func() {
		if e.Frontier != nil {
			e.shut()
		}
	})
	return e
}

// bubble runs a test with an engine in virtual time.
func bubble(t *testing.T, o frontier.Options, test func(t *testing.T, e *engine)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) { test(t, newEngine(t, dir, o)) })
}

func (e *engine) start() {
	e.Helper()
	f, err := Open(e.file, e.o)
	require.NoError(e, err)
	e.Frontier = f
}

func (e *engine) shut() {
	e.Helper()
	f := e.Frontier
	e.Frontier = nil
	require.NoError(e, f.Close(), "Close")
	checkClean(e, e.file)
}

func (e *engine) die() {
	e.Helper()
	e.Frontier.kill()
	e.Frontier = nil
	checkClean(e, e.file)
}

func (e *engine) crash() {
	e.Helper()
	e.die()
	e.start()
}

func (e *engine) links(host string, from, n int) []frontier.Candidate {
	e.Helper()
	cs := make([]frontier.Candidate, n)
	for i := range cs {
		cs[i] = frontier.Candidate{
			URL:  mustURL(e, fmt.Sprintf("http://%s.test/%d", host, from+i)),
			Kind: frontier.KindLink, Via: "http://via.test/", Depth: 1, Seed: "http://seed.test/",
		}
	}
	return cs
}

func (e *engine) add(cs []frontier.Candidate) frontier.Added {
	e.Helper()
	n, err := e.Add(context.Background(), cs)
	require.NoError(e, err, "Add")
	return n
}

func (e *engine) turn(tasks int) frontier.Turn {
	e.Helper()
	c, err := e.Claim(context.Background(), frontier.Want{Tasks: tasks})
	require.Truef(e, err == nil && len(c.Turns) == 1, "Claim: %d turns, state %d, error %v", len(c.Turns), c.State, err)
	return c.Turns[0]
}

func fetched(t frontier.Turn) frontier.Result {
	r := frontier.Result{Authority: t.Authority, Token: t.Token}
	for _, x := range t.Tasks {
		r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: frontier.Fetched})
	}
	return r
}

func (e *engine) finish(rs ...frontier.Result) []frontier.Finished {
	e.Helper()
	fs, err := e.Finish(context.Background(), rs)
	require.NoError(e, err, "Finish")
	for _, f := range fs {
		require.Truef(e, f.Err == nil, "Finish: %v", f.Err)
	}
	return fs
}

func (e *engine) sync() {
	e.Helper()
	require.NoError(e, e.Sync(context.Background()), "Sync")
}

func (e *engine) stats() frontier.Stats {
	e.Helper()
	st, err := e.Stats(context.Background())
	require.NoError(e, err, "Stats")
	return st
}

func (e *engine) transactions() uint64 {
	e.Helper()
	e.db.Sync()
	tx, err := e.db.Begin(false)
	require.NoError(e, err)
	defer tx.Rollback()
	return uint64(tx.ID())
}

func mustURL(t testing.TB, raw string) canon.URL {
	t.Helper()
	u, err := canon.Parse(raw)
	require.NoError(t, err)
	return u
}

func reader(t testing.TB, path string) *Frontier {
	t.Helper()
	f, err := OpenReadOnly(path)
	require.NoError(t, err)
	return f
}

func opened(t testing.TB, path string) *Frontier {
	t.Helper()
	f, err := Open(path, frontier.Options{})
	require.NoError(t, err)
	return f
}
