package sink_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/storage/tables"
	"curtsy/storage/tables/sink"
)

// fuzzed has strings in all places where a format could confuse values: beside null, in a list, in a dictionary.
var fuzzed = &tables.Table{Name: "fuzzed", Columns: []tables.Column{
	{Name: "n", Kind: tables.Int64, Required: true}, {Name: "text"}, {Name: "few", Few: true, Required: true},
	{Name: "list", Kind: tables.List}, {Name: "end"}}}

// Any strings come back as valid UTF-8 in their place from third-party readers, and CSV has no formulas.
func FuzzRowsComeBack(f *testing.F) {
	for _, s := range append([]string{strings.Repeat("long ", 100)}, hostile...) {
		f.Add(s, "=", int64(len(s)))
		f.Add("b", s, int64(-1))
	}
	f.Fuzz(func(t *testing.T, a, b string, n int64) {
		none := tables.Null()
		rows := []tables.Row{
			{tables.Long(n), tables.Text(a), tables.Text(b), tables.Texts([]string{b, a, ""}), tables.Text(a)},
			{tables.Long(n + 1), none, tables.Text(a), none, tables.Text(b)},
			{tables.Long(n + 2), tables.Text(b + a), tables.Text(a + b), tables.Texts(nil), none},
		}
		same(t, parquetRows(t, written(t, sink.Parquet, fuzzed, rows, sink.Options{}), fuzzed), rows)
		lines, err := os.ReadFile(written(t, sink.JSONL, fuzzed, rows, sink.Options{}))
		require.NoError(t, err)
		same(t, jsonRows(t, lines, fuzzed), rows)
		for _, exact := range []bool{false, true} {
			csvSame(t, written(t, sink.CSV, fuzzed, rows, sink.Options{ExactCSV: exact}), fuzzed, rows, exact)
		}
	})
}
