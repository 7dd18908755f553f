package bolt

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

func harness() frontiertest.Harness {
	return frontiertest.Harness{
		Open: func(t testing.TB, dir string, o frontier.Options) frontier.Frontier {
			t.Helper()
			f, err := Open(filepath.Join(dir, "frontier.db"), o)
			require.NoError(t, err)
			return f
		},
		Crash: func(t testing.TB, f frontier.Frontier) { f.(*Frontier).kill() },
		Check: func(t testing.TB, dir string) {
			t.Helper()
			checkClean(t, filepath.Join(dir, "frontier.db"))
		},
	}
}

func checkClean(t testing.TB, path string) {
	t.Helper()
	found, err := Check(path)
	assert.NoError(t, err, "Check")
	for _, s := range found {
		t.Errorf("Check: %s", s)
	}
}

func TestConformance(t *testing.T) { frontiertest.Run(t, harness()) }

func TestWorkload(t *testing.T) {
	seeds := seeds(5)
	if os.Getenv("CURTSY_LONG") != "" {
		seeds = 300
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { frontiertest.Workload(t, seed, 300, harness()) })
	}
}
