package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/frontier/frontiertest"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

func TestOpen_DirectoryOrItsFile(t *testing.T) {
	dir := t.TempDir()
	f, err := engine.Open(dir, frontier.Options{})
	require.NoError(t, err)
	u, err := canon.Parse("http://a.test/")
	require.NoError(t, err)
	if _, err := f.Add(t.Context(), []frontier.Candidate{{URL: u, Kind: frontier.KindSeed}}); err != nil {
		t.Fatal(err)
	}
	for _, locator := range []string{dir, filepath.Join(dir, engine.FileName)} {
		_, err := engine.Open(locator, frontier.Options{})
		assert.ErrorIsf(t, err, frontier.ErrInUse, "%s is open, and open again", locator)
		_, err = engine.OpenReadOnly(locator)
		assert.ErrorIsf(t, err, frontier.ErrInUse, "%s is open, and open to be read", locator)
	}
	require.NoError(t, f.Close())
	for _, locator := range []string{dir, filepath.Join(dir, engine.FileName)} {
		s, err := engine.OpenReadOnly(locator)
		require.NoError(t, err)
		seeds, err := frontier.SeedsOf(t.Context(), s)
		assert.Truef(t, err == nil && len(seeds) == 1 && seeds[0].URL == u, "%s: seeds %v, %v", locator, seeds, err)
		require.NoError(t, s.Close())
		found, err := engine.Check(locator)
		assert.Truef(t, err == nil && len(found) == 0, "%s: Check: %q, %v", locator, found, err)
	}
	names, err := os.ReadDir(dir)
	assert.Truef(t, err == nil && len(names) == 1, "%v in the directory, %v", names, err)
}

func TestOpen_RefusesUnknownSchemes(t *testing.T) {
	const locator = "redis://crawl@db.example/curtsy"
	errs := maintenanceErrors(t, locator)
	_, errs["Open"] = engine.Open(locator, frontier.Options{})
	_, errs["OpenReadOnly"] = engine.OpenReadOnly(locator)
	for call, err := range errs {
		assert.Truef(t, err != nil && strings.Contains(err.Error(), "no engine for redis://"), "%s: %v", call, err)
	}
}

// maintenanceErrors returns the errors of the calls for the embedded engine.
func maintenanceErrors(t *testing.T, locator string) map[string]error {
	errs := map[string]error{}
	_, errs["Check"] = engine.Check(locator)
	_, errs["CutShort"] = engine.CutShort(locator)
	_, _, errs["Compact"] = engine.Compact(t.Context(), locator, false)
	_, errs["Rebuild"] = engine.Rebuild(t.Context(), locator, filepath.Join(t.TempDir(), "x"), nil)
	errs["Import"] = engine.Import(locator, nil)
	return errs
}

func noSeeds(frontier.Frontier) error { return nil }

// A member's directory opens like any other, under a lock.
func TestMember_OpensSharedFrontier(t *testing.T) {
	t.Parallel()
	locator, w1, w2 := frontiertest.Start(t).Locator(), t.TempDir(), t.TempDir()
	_, err := engine.Join(t.Context(), locator, w2)
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "no crawl"), "Join before Create: %v", err)
	twice := make(chan error)
	for range 2 {
		go func() { twice <- engine.Create(t.Context(), locator, w1, []byte("settings"), noSeeds) }()
	}
	if all := fmt.Sprint(<-twice, <-twice); !strings.Contains(all, "<nil>") || !strings.Contains(all, `crawl "t1" `) { // exists, or lacks seeds
		t.Errorf("Create twice at one time: %s", all)
	}
	if err := engine.Create(t.Context(), locator, w2, nil, noSeeds); err == nil || !strings.Contains(err.Error(), "exists: use curtsy join") {
		t.Errorf("Create again: %v", err)
	}
	settings, err := engine.Join(t.Context(), locator, w2)
	require.Truef(t, err == nil && string(settings) == "settings", "Join: %q, %v", settings, err)
	u, err := canon.Parse("http://a.test/")
	require.NoError(t, err)
	a, err := engine.Open(w1, frontier.Options{})
	require.NoError(t, err)
	b, err := engine.Open(w2, frontier.Options{})
	require.NoError(t, err)
	if _, err := engine.Open(w2, frontier.Options{}); !errors.Is(err, frontier.ErrInUse) {
		t.Errorf("open, and open again: %v", err)
	}
	_, ok := a.(frontier.Member)
	assert.True(t, ok, "it is not a frontier.Member")
	if _, err := a.Add(t.Context(), []frontier.Candidate{{URL: u, Kind: frontier.KindSeed}}); err != nil {
		t.Fatal(err)
	}
	if st, err := b.Stats(t.Context()); err != nil || st.Queued != 1 {
		t.Errorf("the other sees %d, %v", st.Queued, err)
	}
	require.NoError(t, errors.Join(a.Close(), b.Close()))
	for _, from := range []string{w1, locator} {
		s, err := engine.OpenReadOnly(from)
		require.NoError(t, err)
		st, err := s.Stats(t.Context())
		assert.Truef(t, err == nil && st.Queued == 1 && !st.Unclean, "%s: %+v, %v", from, st, err)
		require.NoError(t, s.Close())
	}
	for call, err := range maintenanceErrors(t, w1) {
		assert.Truef(t, err != nil && strings.Contains(err.Error(), "pg_dump"), "%s: %v", call, err)
	}
}

func TestLocator_Invalid(t *testing.T) {
	t.Parallel()
	for locator, says := range map[string]string{
		"postgres://crawl:secret@127.0.0.1/db?crawl=news":            "PGPASSWORD",
		"postgres://crawl@127.0.0.1/db?crawl=news&password=x":        "PGPASSWORD",
		"postgres://crawl@127.0.0.1/db":                              "crawl=NAME",
		"postgres://crawl@127.0.0.1/db?crawl=Two+Words":              "crawl=NAME",
		"postgres://crawl@127.0.0.1:1/db?crawl=news&sslmode=disable": "no server at 127.0.0.1:1",
	} {
		dir := t.TempDir()
		err := engine.Create(t.Context(), locator, dir, nil, noSeeds)
		assert.Truef(t, err != nil && strings.Contains(err.Error(), says) && !strings.Contains(err.Error(), "secret"), "%s: %v", locator, err)
		names, err := os.ReadDir(dir)
		assert.Truef(t, err == nil && len(names) == 0, "%s: %v in the directory, %v", locator, names, err)
	}
}
