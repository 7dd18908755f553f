package crawldir

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest"
)

func TestCreate_OneOfTwoCrawlsWins(t *testing.T) {
	c, err := Seed("http://127.0.0.1:9/", "")
	require.NoError(t, err)
	for _, exists := range []bool{false, true} {
		parent := t.TempDir()
		dir := filepath.Join(parent, "d")
		if exists {
			require.NoError(t, os.Mkdir(dir, 0o700))
		}
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				errs <- lay(context.Background(), dir, func(tmp string) error {
					return fill(context.Background(), tmp, "", []byte("# settings\n"), Given([]frontier.Candidate{c}))
				})
			}()
		}
		first, second := <-errs, <-errs
		assert.NotEqualf(t, (second == nil), (first == nil), "exists %v: %v and %v", exists, first, second)
		left, err := os.ReadDir(parent)
		assert.Truef(t, err == nil && len(left) == 1, "exists %v: beside it: %v %v", exists, left, err)
		left, err = os.ReadDir(dir)
		assert.Truef(t, err == nil && len(left) == 5, "exists %v: it holds %v %v", exists, left, err)
	}
}

// A shared frontier can be joined once its last seed is entered. An error before removes it.
func TestCreate_SharedFrontierWhole(t *testing.T) {
	t.Parallel()
	s := Defaults()
	s.Fleet.Locator = frontiertest.Start(t).Locator()
	seed, err := Seed("http://a.test/", "")
	require.NoError(t, err)
	parent, cut := t.TempDir(), errors.New("cut")
	dir := func(name string) string { return filepath.Join(parent, name) }
	batches := 0
	err = CreateUnchecked(t.Context(), dir("w1"), &s, func() ([]frontier.Candidate, error) {
		if batches++; batches == 1 {
			return []frontier.Candidate{seed}, nil
		}
		for what, err := range map[string]error{
			"join":  Join(t.Context(), dir("w2"), s.Fleet),
			"crawl": CreateUnchecked(t.Context(), dir("w3"), &s, Given([]frontier.Candidate{seed})),
		} {
			if err == nil || !strings.Contains(err.Error(), `crawl "t1" lacks seeds`) || !strings.Contains(err.Error(), "DROP SCHEMA curtsy_t1 CASCADE") {
				t.Errorf("%s among the seeds: %v", what, err)
			}
		}
		return nil, cut
	})
	require.ErrorIs(t, err, cut)
	left, err := os.ReadDir(parent)
	assert.Truef(t, err == nil && len(left) == 0, "left: %v %v", left, err)
	require.NoError(t, CreateUnchecked(t.Context(), dir("w1"), &s, Given([]frontier.Candidate{seed})))
	require.NoError(t, Join(t.Context(), dir("w2"), s.Fleet))
}

func TestFleet_RefusesWhatItLists(t *testing.T) {
	f := Fleet{Locator: "postgres://curtsy@127.0.0.1/postgres?crawl=a"}
	others := map[string]string{"order": "depth", "stop-when": "pages > 5", "max-bytes": "100MiB", "max-db-size": "100MiB"}
	for _, u := range NotInFleet() {
		name, ok := strings.CutPrefix(u.Name, "--")
		if !ok || name == "dry-run" {
			continue // of commands
		}
		s := Defaults()
		k := s.flags().Lookup(name)
		require.NotNil(t, k, u.Name)
		value := cmp.Or(others[name], "5")
		if k.Value.Type() == "bool" {
			value = "true"
		}
		require.NoError(t, Assign(k, value), u.Name)
		err := f.check(&s, nil)
		assert.ErrorContainsf(t, err, u.Name+": not supported in a fleet yet", "%s: %v", u.Name, err)
	}
}
