package export

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/sorted"
	"curtsy/storage/tables"
)

// versionsOf makes rows of sights that are a second apart each.
func versionsOf(t *testing.T, sights []sight) (got []string) {
	t.Helper()
	all := sorted.NewRows[*sight](t.TempDir(), 1<<20)
	defer all.Close()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, s := range sights {
		s.Began = start.Add(time.Duration(i) * time.Second)
		err := all.Add(keyOf("k", "http://a:80", "c", s.Began.Format(time.RFC3339)), &s)
		require.NoError(t, err)
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

// Half of a robots.txt may name agents and the other half say something to all of them: the row is no product of both.
func TestARobotsTxtOfManyAgentsAndRulesIsNoBomb(t *testing.T) {
	body := strings.Repeat("User-agent: ab\nUser-agent: ba\n", 8<<10) + strings.Repeat("Allow:/\n", 16<<10) + strings.Repeat("Crawl-delay:1\n", 8<<10)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	v := &version{sight: sight{SHA256: "0", Body: []byte(body)}, key: []string{"k", "http://a:80", "c"}}
	r := v.row(newFiller(&tables.Robots), time.Time{})
	runtime.ReadMemStats(&after)
	at := tables.Robots.Index
	if all := (after.TotalAlloc - before.TotalAlloc) >> 20; all > 64 || sizes(r) > maxRow {
		t.Errorf("%d MiB in all for a row of %d bytes", all, sizes(r))
	}
	if agents := r[at("agents")].List(); !slices.Equal(agents, []string{"ab", "ba"}) || r[at("problem")].Text() != ProblemCut {
		t.Errorf("agents %q, problem %q", agents, r[at("problem")].Text())
	}
	rules := r[at("rules")].List()
	assert.Truef(t, len(rules) != 0 && strings.HasSuffix(rules[0], " allow: /"), "%d rules", len(rules))
}
