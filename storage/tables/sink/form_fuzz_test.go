package sink

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/tables"
)

// fuzzed has strings where each format could mistake one value for another: beside null, in a list, in a dictionary.
var fuzzed = &tables.Table{Name: "fuzzed", Columns: []tables.Column{
	{Name: "n", Kind: tables.Int64, Required: true}, {Name: "text"}, {Name: "few", Few: true, Required: true},
	{Name: "list", Kind: tables.List}, {Name: "end"}}}

// Whatever strings a page has, each format gives them back as valid UTF-8, in their rows and columns, read by code of
// others. A CSV file gives a spreadsheet nothing to run.
func FuzzRowsComeBack(f *testing.F) {
	for _, s := range []string{"", "a", `"`, "a,b", "a\r\nb\rc\n", "\x00\x1b\x7f", "=cmd|' /C calc'!A0", "＝1", "'", "\xff\xfe", "\xed\xa0\x80",
		"\u2028", "\ufeff", "日本語 𝄞", `\"`, `\u0000`, `\N`, " padded ", "null", strings.Repeat("long ", 100)} {
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
		want := said(rows)
		for name, got := range map[string][][]any{
			"parquet": backByParquet(t, fuzzedFile(t, rows, "parquet")),
			"jsonl":   backByJSON(t, fuzzedFile(t, rows, "jsonl")),
		} {
			if x, y := asJSON(t, got), asJSON(t, want); x != y {
				t.Errorf("%s: %s, want %s", name, x, y)
			}
		}
		backByCSV(t, fuzzedFile(t, rows, "csv"), rows, false)
		backByCSV(t, fuzzedFile(t, rows, "exact csv"), rows, true)
	})
}

func fuzzedFile(t *testing.T, rows []tables.Row, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w writer
	var err error
	switch format {
	case "csv", "exact csv":
		w, err = newCSV(&b, fuzzed, format != "csv")
	case "jsonl":
		w = newJSONL(&b, fuzzed)
	default:
		w, err = newParquet(&b, fuzzed, "1")
	}
	for _, r := range rows {
		if err == nil {
			err = w.Write(r)
		}
	}
	if err == nil {
		err = w.Finish()
	}
	require.NoError(t, err, format)
	return b.Bytes()
}

// said are rows as values of Go: nil, float64, string, list.
func said(rows []tables.Row) (all [][]any) {
	for _, r := range rows {
		var vs []any
		for _, v := range r {
			switch {
			case v.IsNull():
				vs = append(vs, nil)
			case v.Kind() == tables.String:
				vs = append(vs, v.Text())
			case v.Kind() == tables.List:
				vs = append(vs, append([]string{}, v.List()...))
			default:
				vs = append(vs, v.Number())
			}
		}
		all = append(all, vs)
	}
	return all
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

func backByJSON(t *testing.T, b []byte) (rows [][]any) {
	t.Helper()
	for line := range bytes.Lines(b) {
		var r struct {
			N    int64
			Text *string
			Few  *string
			List []string
			End  *string
		}
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		require.NoErrorf(t, d.Decode(&r), "of %q", line)
		var list any
		if r.List != nil {
			list = r.List
		}
		rows = append(rows, []any{r.N, r.Text, r.Few, list, r.End})
	}
	return rows
}

func backByParquet(t *testing.T, b []byte) (rows [][]any) {
	t.Helper()
	file, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	for _, group := range file.RowGroups() {
		reader := group.Rows()
		buf := make([]parquet.Row, file.NumRows()+1)
		n, _ := reader.ReadRows(buf) // fewer rows than there are show below
		for _, r := range buf[:n] {
			vs := make([]any, len(fuzzed.Columns))
			for _, v := range r {
				at := &vs[v.Column()]
				switch isList := v.Column() == 3; {
				case isList && v.DefinitionLevel() == 1:
					*at = []string{}
				case v.IsNull():
				case isList:
					list, _ := (*at).([]string)
					*at = append(list, string(v.ByteArray()))
				case v.Column() == 0:
					*at = v.Int64()
				default:
					*at = string(v.ByteArray())
				}
			}
			rows = append(rows, vs)
		}
		require.NoError(t, reader.Close())
	}
	return rows
}

// backByCSV reads a file by encoding/csv, which takes a CR LF in a field for an LF, and null for the empty string.
func backByCSV(t *testing.T, b []byte, rows []tables.Row, exact bool) {
	t.Helper()
	cells, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || len(cells) != len(rows)+1 {
		t.Fatalf("%d rows: %v: %q", len(cells), err, b)
	}
	for i, r := range said(rows) {
		for k, v := range r {
			got, want := cells[i+1][k], ""
			switch v := v.(type) {
			case string:
				want = strings.ReplaceAll(v, "\r\n", "\n")
				if !exact {
					if formula(got) && got[0] != '\'' {
						t.Errorf("%q would be run", got)
					}
					got = strings.TrimPrefix(got, "'")
				}
			case []string:
				var list []string
				assert.NoError(t, json.Unmarshal([]byte(got), &list), got)
				got, want = asJSON(t, list), asJSON(t, v)
			case int64:
				want = asJSON(t, v)
			}
			if got != want {
				t.Errorf("%s of row %d is %q, want %q", fuzzed.Columns[k].Name, i, got, want)
			}
		}
	}
}
