package export

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/tables"
)

func TestRows_CutsAreMarked(t *testing.T) {
	wide := &tables.Table{Name: "wide", Columns: []tables.Column{
		{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}, {Name: "f"}, {Name: "list", Kind: tables.List}, {Name: "problem"}}}
	long, many := tables.Text(strings.Repeat("é\"", 30<<20)), tables.Texts(make([]string, 1<<20))
	for name, c := range map[string]struct {
		row  tables.Row
		want string // of the column problem
	}{
		"nothing amiss":     {tables.Row{tables.Text("a"), tables.Null(), tables.Text(strings.Repeat("x", maxValue))}, ""},
		"a text of 90 MB":   {tables.Row{tables.Text("a"), long}, ProblemCut},
		"many long texts":   {tables.Row{long, long, long, long, long, long}, ProblemCut},
		"many short ones":   {tables.Row{6: many}, ProblemCut},
		"a long one, so":    {tables.Row{6: tables.Texts([]string{"a", long.Text(), "b"})}, ProblemCut},
		"it is amiss, also": {tables.Row{0: long, 7: tables.Text(ProblemDamaged)}, ProblemDamaged},
	} {
		for i := range wide.Columns {
			if i >= len(c.row) {
				c.row = append(c.row, tables.Null())
			} else if c.row[i].Kind() != wide.Columns[i].Kind {
				c.row[i] = tables.Null()
			}
		}
		before := sizes(c.row)
		var got tables.Row
		out := NewOut(wide, func(r tables.Row) error { got = r; return wide.Check(r) })
		require.NoError(t, out.Row(c.row))
		n := sizes(got)
		assert.Truef(t, n <= maxRow+len(ProblemCut) && (c.want != "" || n == before), "%s: %d bytes of %d", name, n, before)
		assert.Truef(t, got[7].Text() == c.want && (c.want == "" || out.Problems[c.want] == 1), "%s: %q, %v; want %q", name, got[7].Text(), out.Problems, c.want)
		for i, v := range got {
			n := sizeOf(v)
			assert.Truef(t, n <= maxValue && utf8.ValidString(v.Text()) && (strings.HasPrefix(c.row[i].Text(), v.Text()) || i >= 7), "%s: column %d has %d bytes", name, i, n)
		}
		assert.Truef(t, sizes(c.row) == before || c.want == ProblemCut, "%s: the row itself was changed", name)
	}
	none := NewOut(&tables.Table{Name: "none", Columns: []tables.Column{{Name: "a"}}}, func(tables.Row) error { return nil })
	require.NoError(t, none.Row(tables.Row{long}))
	assert.EqualValues(t, 1, none.Problems[ProblemCut], "a table without the column")
}

func sizes(r tables.Row) (n int) {
	for _, v := range r {
		n += sizeOf(v)
	}
	return n
}
