package ledger

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

func TestOperator_RecordsActs(t *testing.T) {
	dir := t.TempDir()
	acts := []Operator{
		{Act: ActPark, About: "https://a.test", URLs: 7, Note: "they \u001b[31m called"},
		{Act: ActExclude, About: `added "/cal/"`, Settings: strings.Repeat("ab", 32)},
		{Act: ActDrain, Note: strings.Repeat("x", MaxNote+100)},
	}
	w := open(t, Options{Dir: dir})
	write(t, w, storage.Line{URL: "http://a.test/", Decision: storage.DecisionAllow})
	for _, o := range acts[:2] {
		require.NoError(t, w.Operator(t.Context(), o))
	}
	require.NoError(t, w.Close())
	w = open(t, Options{Dir: dir})
	for _, bad := range []Operator{{}, {Act: "Park"}, {Act: "park\n"}, {Act: ActPark, URLs: -1}, {Act: ActPark, Settings: "x"}} {
		assert.Errorf(t, w.Operator(t.Context(), bad), "%+v is taken", bad)
	}
	require.NoError(t, w.Operator(t.Context(), acts[2]))
	require.NoError(t, w.Close())
	var kinds []string
	n := 0
	for e, err := range Scan(dir) {
		require.NoError(t, err)
		require.Nil(t, e.Problem)
		m := e.Mark
		if m == nil || m.Kind == KindHosts { // of checkpoints, which are made beside
			continue
		}
		kinds = append(kinds, m.Kind)
		if m.Kind != KindOperator {
			continue
		}
		want := acts[n]
		if n == 2 {
			want.Note = want.Note[:MaxNote-3] + "…"
		}
		if *m.Operator != want || m.Time.IsZero() {
			t.Errorf("%+v, want %+v", *m.Operator, want)
		}
		n++
	}
	assert.Equal(t, "begin run operator operator stop operator", strings.Join(kinds, " "))
}
