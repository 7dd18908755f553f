package export

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/sorted"
	"curtsy/storage/tables"
)

// versionsOf makes rows of sights one second apart.
func versionsOf(t *testing.T, sights []sight) (got []string) {
	t.Helper()
	all := sorted.NewRows[*sight](t.TempDir(), 1<<20)
	defer all.Close()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, s := range sights {
		s.Began = start.Add(time.Duration(i) * time.Second)
		require.NoError(t, all.Add(keyOf("k", "http://a:80", "c", s.Began.Format(time.RFC3339)), &s))
	}
	m := &made{table: &tables.Robots}
	since := func(v tables.Value) string {
		if v.IsNull() {
			return "-"
		}
		return v.Time().Sub(start).String()
	}
	out := NewOut(&tables.Robots, func(r tables.Row) error {
		assert.NoError(t, tables.Robots.Check(r))
		at := m.table.Index
		got = append(got, m.show(r, "status", "exchanges")+" | "+since(r[at("valid_from")])+" | "+since(r[at("last_seen")])+" | "+
			since(r[at("valid_to")])+" | "+m.show(r, "sha256"))
		return nil
	})
	require.NoError(t, versions(t.Context(), all, out))
	return got
}

// Half of the file names agents and the other half has rules for all of them; the row must not be the product of both.
func TestRobots_ManyAgentsAndRulesStaySmall(t *testing.T) {
	body := strings.Repeat("User-agent: ab\nUser-agent: ba\n", 8<<10) + strings.Repeat("Allow:/\n", 16<<10) + strings.Repeat("Crawl-delay:1\n", 8<<10)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	v := &version{sight: sight{SHA256: "0", Body: []byte(body)}, key: []string{"k", "http://a:80", "c"}}
	r := v.row(newFiller(&tables.Robots), time.Time{})
	runtime.ReadMemStats(&after)
	at := tables.Robots.Index
	all := (after.TotalAlloc - before.TotalAlloc) >> 20
	assert.Truef(t, all <= 64 && sizes(r) <= maxRow, "%d MiB in all for a row of %d bytes", all, sizes(r))
	assert.Equal(t, []string{"ab", "ba"}, r[at("agents")].List())
	assert.Equal(t, ProblemCut, r[at("problem")].Text())
	rules := r[at("rules")].List()
	assert.Truef(t, len(rules) != 0 && strings.HasSuffix(rules[0], " allow: /"), "%d rules", len(rules))
}
