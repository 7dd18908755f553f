package sink_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/scratch"
	"curtsy/storage/tables"
	"curtsy/storage/tables/sink"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

var every = &tables.Table{
	Name: "every", Doc: "One row per test", Key: []string{"key", "n64"}, Lookup: []string{"few"},
	Columns: []tables.Column{
		{Name: "key", Kind: tables.String, Required: true, Doc: "the key"},
		{Name: "n64", Kind: tables.Int64, Required: true, Doc: "a number"},
		{Name: "text", Kind: tables.String, Doc: "a string"},
		{Name: "few", Kind: tables.String, Few: true, Doc: "one of few strings"},
		{Name: "few16", Kind: tables.Int16, Few: true, Required: true, Doc: "one of few numbers"},
		{Name: "flag", Kind: tables.Bool, Doc: "yes or no"},
		{Name: "n16", Kind: tables.Int16, Doc: "a short number"},
		{Name: "n32", Kind: tables.Int32, Doc: "a number"},
		{Name: "real", Kind: tables.Float64, Doc: "a fraction"},
		{Name: "at", Kind: tables.Time, Doc: "when"},
		{Name: "list", Kind: tables.List, Doc: "some strings"},
		{Name: "names", Kind: tables.List, Few: true, Required: true, Doc: "more of them"},
	},
}

var hostile = []string{
	"", " ", "'", `"`, `""`, ",", "a,b", "\r", "\n", "\r\n", "\n\r", "a\r\nb\rc\nd", "\x00", "a\x00b", "\x1b[31m", "\t", "=cmd|' /C calc'!A0",
	"+1", "-1", "@SUM(A1)", "＝1+1", "'=1", "''", "null", "NULL", `\N`, "NaN", "[", "[]", "{}", "true", "\u2028\u2029", "\ufeff", "\ufeffkey",
	"\xff\xfe", "\xed\xa0\x80", "日本語", "𝄞", "\\", `\"`, `\u0000`, "</script>", "#", "--", ";", "a;b", "|", "\x7f", "\u0085", " padded ", "x\x1ay",
}

func row(i int, text string) tables.Row {
	s := tables.Text(text)
	if i%7 == 3 {
		s = tables.Null()
	}
	list := tables.Texts([]string{text, "", text + "x"})
	switch i % 3 {
	case 1:
		list = tables.Null()
	case 2:
		list = tables.Texts(nil)
	}
	at := tables.Instant(time.Date(2026, 11, 23, 7, 0, 0, 123456789, time.FixedZone("", 3600)).Add(time.Duration(i) * time.Hour))
	if i%5 == 4 {
		return tables.Row{tables.Text(fmt.Sprintf("%06d", i)), tables.Long(-1 << 63), s, tables.Null(), tables.Short(-1 << 15), tables.Null(),
			tables.Null(), tables.Null(), tables.Null(), tables.Null(), list, tables.Texts([]string{})}
	}
	return tables.Row{tables.Text(fmt.Sprintf("%06d", i)), tables.Long(1<<63 - 1 - int64(i)), s, tables.Text([]string{"a", "", "=b"}[i%3]),
		tables.Short(int16(i)), tables.Flag(i%2 == 0), tables.Short(1<<15 - 1), tables.Int(-1 << 31), tables.Float(0.1 * float64(i)), at, list,
		tables.Texts([]string{text})}
}

func hostileRows() (rows []tables.Row) {
	for i := range 3 * len(hostile) {
		rows = append(rows, row(i, hostile[i%len(hostile)]))
	}
	return rows
}

func written(t testing.TB, format sink.Format, table *tables.Table, rows []tables.Row, o sink.Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), table.Name+format.Ext())
	s, err := sink.Create(format, path, table, o)
	require.NoError(t, err)
	defer s.Abort()
	for _, r := range rows {
		require.NoError(t, s.Write(r))
	}
	require.NoError(t, s.Close())
	return path
}

func plain(r tables.Row) (vs []any) {
	for _, v := range r {
		switch {
		case v.IsNull():
			vs = append(vs, nil)
		case v.Kind() == tables.String:
			vs = append(vs, v.Text())
		case v.Kind() == tables.Bool:
			vs = append(vs, v.Number() == 1)
		case v.Kind() == tables.Float64:
			vs = append(vs, v.Float())
		case v.Kind() == tables.Time:
			vs = append(vs, v.Time())
		case v.Kind() == tables.List:
			vs = append(vs, append([]string{}, v.List()...))
		default:
			vs = append(vs, v.Number())
		}
	}
	return vs
}

func same(t testing.TB, got [][]any, want []tables.Row) {
	t.Helper()
	require.Equalf(t, len(want), len(got), "%d rows, want %d", len(got), len(want))
	for i, r := range want {
		assert.Equalf(t, plain(r), got[i], "row %d", i)
	}
}

func TestParquetComesBackByTheLibrary(t *testing.T) {
	rows := hostileRows()
	same(t, parquetRows(t, written(t, sink.Parquet, every, rows, sink.Options{}), every), rows)
}

func parquetRows(t testing.TB, path string, table *tables.Table) (rows [][]any) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	fi, err := f.Stat()
	require.NoError(t, err)
	p, err := parquet.OpenFile(f, fi.Size())
	require.NoError(t, err)
	for _, group := range p.RowGroups() {
		reader := group.Rows()
		buf := make([]parquet.Row, 10)
		for {
			n, err := reader.ReadRows(buf)
			for _, r := range buf[:n] {
				rows = append(rows, fromParquet(table, r))
			}
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
		}
		reader.Close()
	}
	return rows
}

func fromParquet(table *tables.Table, r parquet.Row) []any {
	vs := make([]any, len(table.Columns))
	for _, v := range r {
		c := &table.Columns[v.Column()]
		at := &vs[v.Column()]
		base := 1
		if c.Required {
			base = 0
		}
		switch {
		case c.Kind == tables.List && v.DefinitionLevel() < base:
		case c.Kind == tables.List && v.DefinitionLevel() == base:
			*at = []string{}
		case c.Kind == tables.List && v.RepetitionLevel() == 0:
			*at = []string{string(v.ByteArray())}
		case c.Kind == tables.List:
			*at = append((*at).([]string), string(v.ByteArray()))
		case v.IsNull():
		case c.Kind == tables.String:
			*at = string(v.ByteArray())
		case c.Kind == tables.Bool:
			*at = v.Boolean()
		case c.Kind == tables.Int16 || c.Kind == tables.Int32:
			*at = int64(v.Int32())
		case c.Kind == tables.Float64:
			*at = v.Double()
		case c.Kind == tables.Time:
			*at = time.UnixMicro(v.Int64()).UTC()
		default:
			*at = v.Int64()
		}
	}
	return vs
}

func TestJSONL_StandardLibraryRoundTrip(t *testing.T) {
	rows := hostileRows()
	b, err := os.ReadFile(written(t, sink.JSONL, every, rows, sink.Options{}))
	require.NoError(t, err)
	same(t, jsonRows(t, b, every), rows)
}

func jsonRows(t testing.TB, b []byte, table *tables.Table) (rows [][]any) {
	t.Helper()
	for line := range strings.Lines(string(b)) {
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		var object map[string]any
		require.NoErrorf(t, d.Decode(&object), "of %.500q", line)
		var r []any
		for _, c := range table.Columns {
			v, ok := object[c.Name]
			require.Truef(t, ok, "%s is not in %.500q", c.Name, line)
			r = append(r, fromJSON(t, &c, v))
		}
		rows = append(rows, r)
	}
	return rows
}

func fromJSON(t testing.TB, c *tables.Column, v any) any {
	switch {
	case v == nil:
		return nil
	case c.Kind == tables.Time:
		return instant(t, v.(string))
	case c.Kind == tables.Float64:
		f, err := v.(json.Number).Float64()
		require.NoError(t, err)
		return f
	case c.Kind == tables.List:
		list := []string{}
		for _, s := range v.([]any) {
			list = append(list, s.(string))
		}
		return list
	case c.Kind == tables.String || c.Kind == tables.Bool:
		return v
	}
	n, err := v.(json.Number).Int64()
	require.NoError(t, err)
	return n
}

func instant(t testing.TB, s string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, s)
	require.NoError(t, err)
	require.Equal(t, len("2006-01-02T15:04:05.000000Z"), len(s), s)
	return at.UTC()
}

func TestCSV_StandardLibraryRoundTrip(t *testing.T) {
	for _, exact := range []bool{false, true} {
		rows := hostileRows()
		csvSame(t, written(t, sink.CSV, every, rows, sink.Options{ExactCSV: exact}), every, rows, exact)
	}
}

func csvSame(t testing.TB, path string, table *tables.Table, rows []tables.Row, exact bool) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	cells, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	var names []string
	for _, c := range table.Columns {
		names = append(names, c.Name)
	}
	require.Truef(t, reflect.DeepEqual(cells[0], names) && len(cells) == len(rows)+1, "%d rows below %q", len(cells)-1, cells[0])
	for i, r := range rows {
		for k, v := range plain(r) {
			got, want := cells[i+1][k], ""
			switch v := v.(type) {
			case nil:
			case string:
				want = strings.ReplaceAll(v, "\r\n", "\n")
				if !exact {
					first, _ := utf8.DecodeRuneInString(got)
					assert.Falsef(t, got != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first), "%q would be run", got)
					got = strings.TrimPrefix(got, "'")
				}
			case time.Time:
				assert.Truef(t, instant(t, got).Equal(v), "%q is not %s", got, v)
				want = got
			case []string:
				list := []string{}
				err := json.Unmarshal([]byte(got), &list)
				assert.Truef(t, err == nil && reflect.DeepEqual(list, v), "%q is not %q: %v", got, v, err)
				want = got
			default:
				want = fmt.Sprint(v)
			}
			assert.Truef(t, got == want, "%s of row %d is %q, want %q", table.Columns[k].Name, i, got, want)
		}
	}
}

// RFC 4180: lines end with CR LF, quotes preserve content. Null is an empty cell, "" a pair of quotes.
func TestCSV_FollowsRFC4180(t *testing.T) {
	table := &tables.Table{Name: "t", Columns: []tables.Column{{Name: "a"}, {Name: "b"}, {Name: "c", Kind: tables.List}}}
	rows := []tables.Row{
		{tables.Null(), tables.Text(""), tables.Null()},
		{tables.Text("a\r\nb\n\"c\""), tables.Text("1,2"), tables.Texts([]string{"x\"y", "=z"})},
		{tables.Text("=1"), tables.Text("'"), tables.Texts(nil)},
	}
	for _, c := range []struct {
		o    sink.Options
		want string
	}{
		{sink.Options{}, "a,b,c\r\n,\"\",\r\n\"a\r\nb\n\"\"c\"\"\",\"1,2\",\"[\"\"x\\\"\"y\"\",\"\"=z\"\"]\"\r\n\"'=1\",\"''\",\"[]\"\r\n"},
		{sink.Options{ExactCSV: true}, "a,b,c\r\n,\"\",\r\n\"a\r\nb\n\"\"c\"\"\",\"1,2\",\"[\"\"x\\\"\"y\"\",\"\"=z\"\"]\"\r\n=1,',\"[]\"\r\n"},
	} {
		b, err := os.ReadFile(written(t, sink.CSV, table, rows, c.o))
		require.NoError(t, err)
		assert.Equalf(t, c.want, string(b), "%+v: %q", c.o, b)
	}
}

func TestAFileHasItsNameOnlyWhenItIsWhole(t *testing.T) {
	for _, format := range sink.Formats() {
		dir := t.TempDir()
		path := filepath.Join(dir, "every"+format.Ext())
		require.NoError(t, os.WriteFile(path, []byte("before"), 0o666))
		begin := func() sink.Sink {
			s, err := sink.Create(format, path, every, sink.Options{})
			require.NoError(t, err)
			for i := range 10 {
				require.NoError(t, s.Write(row(i, "text")))
			}
			return s
		}
		is := func(what string, left int) {
			t.Helper()
			b, err := os.ReadFile(path)
			names, _ := os.ReadDir(dir)
			if err != nil || (string(b) == "before") != (what == "before") || len(names) != left {
				t.Errorf("%s: it begins %.20q, want %s; %v; %v", format, b, what, names, err)
			}
		}
		begin().Abort()
		is("before", 1)
		s := begin()
		wrong := s.Write(row(3, "text"))
		if wrong == nil || !strings.Contains(wrong.Error(), path+": ") || !strings.Contains(wrong.Error(), "row 11 of every") {
			t.Errorf("%s: a row in the wrong place: %v", format, wrong)
		}
		err := s.Write(row(99, "text"))
		assert.Truef(t, err == wrong, "%s: a row behind an error: %v", format, err)
		err = s.Close()
		assert.Truef(t, err == wrong, "%s: the end behind an error: %v", format, err)
		is("before", 1)
		s = begin()
		is("before", 2)
		assert.NoError(t, s.Close())
		is("new", 1)
		s.Abort()
		is("new", 1)
		assert.Error(t, s.Close(), "it was closed twice")
		is("new", 1)
	}
}

func TestRows_RejectsInvalid(t *testing.T) {
	for _, format := range sink.Formats() {
		for name, r := range map[string]tables.Row{"short": row(0, "")[1:], "null key": append(tables.Row{tables.Null()}, row(0, "")[1:]...)} {
			s, err := sink.Create(format, filepath.Join(t.TempDir(), "x"), every, sink.Options{})
			require.NoError(t, err)
			assert.Errorf(t, s.Write(r), "%s: %s", format, name)
			s.Abort()
		}
	}
}

func TestATableOfNoRowsIsAFile(t *testing.T) {
	for _, format := range sink.Formats() {
		path := written(t, format, every, nil, sink.Options{})
		if format == sink.Parquet {
			same(t, parquetRows(t, path, every), nil)
		}
	}
}

func TestParse(t *testing.T) {
	for _, f := range sink.Formats() {
		got, err := sink.Parse(string(f))
		assert.Truef(t, got == f && err == nil, "%s: %s, %v", f, got, err)
	}
	_, err := sink.Parse("xlsx")
	assert.True(t, err != nil && strings.Contains(err.Error(), "parquet, csv, jsonl"), err)
}
