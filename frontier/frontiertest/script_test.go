package frontiertest

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/bolt"
)

// A line that tests less than it seems to fails, rather than passes.
func TestScript_LineThatTestsNothingFails(t *testing.T) {
	t.Parallel()
	const begin = "== a rule\nwith LeaseLength=10m\nadd a/0 a/1\nturn 1 = a/0\n"
	for _, c := range []struct {
		text string
		want bool
	}{
		{"finish fetched a/0", true},
		{"finish @a fetched = ", true},
		{"outlast\nfinish = stale", true},
		{"outlast\nfinish", false},
		{"outlast\nunchanged finish", false},
		{"finish @typo", false},
		{"finish @typo =", false},
		{"finish host robots=" + strings.Repeat("x", 1<<20), false},
		{"finish fetched a/9", false},
		{"finish deferred a/9", false},
		{"finish fetched a/0 keep 2", false},
		{"finish keep 2 fetched", false},
		{"finish failed (status 500) a/0", false},
		{"alone b", true},
		{"alone a = not due", true},
		{"alone a", false},
		{"tasks = a/0", true},
		{"tasks", false},
		{"task a/0 Attempts=0", true},
		{"task a/9 Attempts=0", false},
		{"task a/0", false},
		{"task a/0 Attempts", false},
		{"as old\nnewer older = not newer", false},
		{"claim 1 1 0s 9 = a/1", false},
		{"finish fetched\nclaim 1 1", true},
		{"drop a\nfinish\nclaim 1 1", false},
		{"seeds =", true},
		{"seeds =x", false},
		{"heard =x", false},
		{"quarantined =x", false},
		{"elapsed =1s", false},
		{"add b/1 =2 new", false},
		{"add b", false},
		{"seen b/1", false},
		{"close now", false},
		{"sync =", false},
		{"as", false},
		{"sorted drain", false},
		{"same reopen wth Pace=1h", false},
		{"reopen with Pace=1h", true},
		{"reopen wth Pace=1h", false},
		{"times 2\nadd a/0 = 1 known\nend", true},
		{"times 0\nadd a/0 = 1 known\nend", false},
		{"times 2\nadd a/0 = 1 known", false},
	} {
		t.Run(c.text[:min(len(c.text), 60)], func(t *testing.T) {
			t.Parallel()
			r := rulesOf("rule.txt", begin+c.text)[0]
			failed := false
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				h := Harness{Open: func(t testing.TB, dir string, o frontier.Options) frontier.Frontier {
					f, err := bolt.Open(filepath.Join(dir, "frontier.db"), o)
					require.NoError(t, err)
					return f
				}}
				failed = fails(t, func(t testing.TB) { r.Test(NewStage(t, h, dir, r.Options)) })
			})
			assert.Equal(t, c.want, !failed, "whether it passes")
		})
	}
}

func TestScript_RuleWithoutNameOrCommandsPanics(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"add a/0\n", "== a\n== b\nadd a/0\n", "== a\nwith Pace=1s\n", "== a\nadd a/0\n== a\nadd b/0\n"} {
		func() {
			defer func() {
				assert.Truef(t, recover() != nil, "%q makes rules", text)
			}()
			rulesOf("rule.txt", text)
		}()
	}
}
