package sink_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/tables"
	"curtsy/storage/tables/sink"
)

var texts = &tables.Table{Name: "texts", Key: []string{"n"}, Columns: []tables.Column{
	{Name: "n", Kind: tables.Int64, Required: true}, {Name: "text", Kind: tables.String}, {Name: "list", Kind: tables.List}}}

func TestLongTextsMakeSmallRowGroups(t *testing.T) {
	var rows []tables.Row
	for i := range 40 {
		text := strings.Repeat(string(rune('a'+i%26))+"\"\n", 1<<20)
		rows = append(rows, tables.Row{tables.Long(int64(i)), tables.Text(text), tables.Texts([]string{text[:1000]})})
	}
	path := written(t, sink.Parquet, texts, rows, sink.Options{})
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	fi, err := f.Stat()
	require.NoError(t, err)
	p, err := parquet.OpenFile(f, fi.Size())
	require.NoError(t, err)
	assert.Equal(t, 4, len(p.RowGroups()), "row groups")
	for _, g := range p.Metadata().RowGroups {
		assert.Truef(t, len(g.SortingColumns) == 1 && g.SortingColumns[0].ColumnIdx == 0, "sorted by %v", g.SortingColumns)
		for _, c := range g.Columns {
			s := c.MetaData.Statistics
			if len(s.MinValue) == 0 || len(s.MinValue) > 256 || len(s.MaxValue) == 0 || len(s.MaxValue) > 256 {
				t.Errorf("%v: bounds of %d and %d bytes", c.MetaData.PathInSchema, len(s.MinValue), len(s.MaxValue))
			}
		}
	}
	same(t, parquetRows(t, path, texts), rows)
}

func TestLargeValuesComeBack(t *testing.T) {
	var list []string
	for i := range 10_000 {
		list = append(list, fmt.Sprintf("%s %d", hostile[i%len(hostile)], i))
	}
	size := 4 << 20
	if testing.Short() {
		size = 1 << 20
	}
	rows := []tables.Row{
		{tables.Long(1), tables.Text(strings.Repeat("\"\x00,\r\n=é\\", size/9)), tables.Texts(list)},
		{tables.Long(2), tables.Text(strings.Repeat("x", size)), tables.Texts([]string{strings.Repeat("\x01\"", size/2)})},
	}
	same(t, parquetRows(t, written(t, sink.Parquet, texts, rows, sink.Options{}), texts), rows)
	same(t, sqliteRows(t, written(t, sink.SQLite, texts, rows, sink.Options{}), texts), rows)
	b, err := os.ReadFile(written(t, sink.JSONL, texts, rows, sink.Options{}))
	require.NoError(t, err)
	same(t, jsonRows(t, b, texts), rows)
}

func sample(table *tables.Table, n int) (rows []tables.Row) {
	r := rand.New(rand.NewPCG(1, uint64(len(table.Columns))))
	first := ""
	if len(table.Key) > 0 {
		first = table.Key[0]
	}
	for i := range n {
		row := make(tables.Row, len(table.Columns))
		for k, c := range table.Columns {
			text := hostile[r.IntN(len(hostile))]
			switch {
			case c.Name == first && c.Kind == tables.String:
				row[k] = tables.Text(fmt.Sprintf("%06d", i))
			case c.Name == first && c.Kind == tables.Time:
				row[k] = tables.Instant(time.Unix(int64(i), 0))
			case c.Name == first && c.Kind == tables.Int64:
				row[k] = tables.Long(int64(i))
			case !c.Required && r.IntN(4) == 0:
				row[k] = tables.Null()
			case c.Kind == tables.String:
				row[k] = tables.Text(text)
			case c.Kind == tables.Bool:
				row[k] = tables.Flag(r.IntN(2) == 0)
			case c.Kind == tables.Int16:
				row[k] = tables.Short(int16(r.Uint64()))
			case c.Kind == tables.Int32:
				row[k] = tables.Int(int32(r.Uint64()))
			case c.Kind == tables.Int64:
				row[k] = tables.Long(int64(r.Uint64()))
			case c.Kind == tables.Float64:
				row[k] = tables.Float(r.NormFloat64())
			case c.Kind == tables.Time:
				row[k] = tables.Instant(time.UnixMicro(r.Int64N(1 << 52)))
			case c.Kind == tables.List:
				row[k] = tables.Texts([]string{text, "x", text}[:r.IntN(4)])
			}
		}
		rows = append(rows, row)
	}
	return rows
}
