//go:build peers

package sink_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage/tables"
	"curtsy/storage/tables/sink"
)

// absent skips a test without its third-party program, or fails if it must run.
func absent(t testing.TB, what string, err error) {
	t.Helper()
	require.Emptyf(t, os.Getenv("CURTSY_MUST_RUN"), "%s does not run (%v), and CURTSY_MUST_RUN is set", what, err)
	t.Skipf("%s does not run: %v", what, err)
}

type answer struct {
	Types map[string]string
	Rows  [][]any
}

// duckdb queries DuckDB, which npm ci --ignore-scripts installs in .ci/clients.
func duckdb(t testing.TB, queries ...string) (answers []answer) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		absent(t, "node", err)
	}
	modules, err := filepath.Abs(filepath.Join("..", "..", "..", ".ci", "clients", "node_modules"))
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(modules, "@duckdb", "node-api")); err != nil {
		absent(t, "DuckDB", err)
	}
	asked, err := json.Marshal(map[string]any{"modules": modules, "queries": queries})
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), node, filepath.Join("testdata", "duckdb.js"))
	var out, failed bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(asked), &out, &failed
	c.Env = append(os.Environ(), "TZ=America/New_York") // an instant is one wherever it is read
	require.NoError(t, c.Run(), failed.String())
	if err := json.Unmarshal(out.Bytes(), &answers); err != nil || len(answers) != len(queries) {
		t.Fatalf("%d answers: %v", len(answers), err)
	}
	return answers
}

var duckTypes = map[tables.Kind]string{
	tables.String: "VARCHAR", tables.Bool: "BOOLEAN", tables.Int16: "SMALLINT", tables.Int32: "INTEGER", tables.Int64: "BIGINT",
	tables.Float64: "DOUBLE", tables.Time: "TIMESTAMP WITH TIME ZONE", tables.List: "VARCHAR[]",
}

// columnsOf selects the columns of a table, with instants in microseconds and strings in base64, since the client removes
// a leading U+FEFF.
func columnsOf(table *tables.Table, from string) string {
	var names []string
	for _, c := range table.Columns {
		name := `"` + c.Name + `"`
		switch c.Kind {
		case tables.Time:
			name = "epoch_us(" + name + ")"
		case tables.String:
			name = "to_base64(encode(" + name + "))"
		case tables.List:
			name = "list_transform(" + name + ", lambda s: to_base64(encode(s)))"
		}
		names = append(names, name)
	}
	return "SELECT " + strings.Join(names, ", ") + " FROM " + from
}

func duckSame(t testing.TB, what string, table *tables.Table, got [][]any, want []tables.Row) {
	t.Helper()
	require.Equalf(t, len(want), len(got), "%s: %d rows, want %d", what, len(got), len(want))
	for i, r := range want {
		for k, w := range plain(r) {
			g := got[i][k]
			switch v := w.(type) {
			case time.Time:
				w = fmt.Sprint(v.UnixMicro())
			case int64:
				g, w = fmt.Sprint(g), fmt.Sprint(v)
				if f, ok := got[i][k].(float64); ok {
					g = fmt.Sprint(int64(f))
				}
			case string:
				w = base64.StdEncoding.EncodeToString([]byte(v))
			case []string:
				list := []any{}
				for _, s := range v {
					list = append(list, base64.StdEncoding.EncodeToString([]byte(s)))
				}
				w = list
			}
			if !reflect.DeepEqual(g, w) {
				t.Errorf("%s: %s of row %d is %q, want %q", what, table.Columns[k].Name, i, g, w)
			}
		}
	}
}

func quoteSQL(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func TestPeers_DuckDBReadsHostileRowsOfEachFormat(t *testing.T) {
	rows := hostileRows()
	var types, json []string
	for _, c := range every.Columns {
		types = append(types, quoteSQL(c.Name)+": "+quoteSQL(duckTypes[c.Kind]))
		kind := duckTypes[c.Kind]
		if c.Kind == tables.List {
			kind = "JSON"
		}
		json = append(json, quoteSQL(c.Name)+": "+quoteSQL(kind))
	}
	csvFile := "read_csv(" + quoteSQL(written(t, sink.CSV, every, rows, sink.Options{ExactCSV: true})) +
		", header = true, quote = '\"', escape = '\"', delim = ',', auto_detect = false, allow_quoted_nulls = false, columns = {" + strings.Join(json, ", ") + "})"
	lists := "(SELECT * REPLACE (from_json(list, '[\"VARCHAR\"]') AS list, from_json(names, '[\"VARCHAR\"]') AS names) FROM " + csvFile + ")"
	froms := []string{
		"read_parquet(" + quoteSQL(written(t, sink.Parquet, every, rows, sink.Options{})) + ")",
		"read_json(" + quoteSQL(written(t, sink.JSONL, every, rows, sink.Options{})) + ", format = 'newline_delimited', columns = {" + strings.Join(types, ", ") + "})",
		lists,
	}
	var queries []string
	for _, from := range froms {
		queries = append(queries, columnsOf(every, from))
	}
	for i, a := range duckdb(t, queries...) {
		duckSame(t, froms[i], every, a.Rows, rows)
	}
}

func TestPeers_DuckDBReadsEveryTableWithTheTypesPromised(t *testing.T) {
	all := append(tables.All(), every)
	var queries []string
	rows := map[string][]tables.Row{}
	for _, table := range all {
		rows[table.Name] = sample(table, 300)
		file := quoteSQL(written(t, sink.Parquet, table, rows[table.Name], sink.Options{Version: "1.2"}))
		queries = append(queries,
			"SELECT * FROM "+file, columnsOf(table, file),
			"SELECT decode(value) FROM parquet_kv_metadata("+file+") WHERE decode(key) = 'curtsy.doc'",
			"SELECT DISTINCT compression FROM parquet_metadata("+file+")",
			"SELECT name, converted_type FROM parquet_schema("+file+") WHERE converted_type IN ('LIST', 'INT_16', 'TIMESTAMP_MICROS')")
	}
	answers := duckdb(t, queries...)
	for i, table := range all {
		a := answers[5*i:]
		for _, c := range table.Columns {
			if got := a[0].Types[c.Name]; got != duckTypes[c.Kind] {
				t.Errorf("%s.%s is a %s, want a %s", table.Name, c.Name, got, duckTypes[c.Kind])
			}
		}
		duckSame(t, table.Name, table, a[1].Rows, rows[table.Name])
		if fmt.Sprint(a[2].Rows) != fmt.Sprint([][]any{{table.Doc}}) || fmt.Sprint(a[3].Rows) != "[[ZSTD]]" {
			t.Errorf("%s: %v, %v", table.Name, a[2].Rows, a[3].Rows)
		}
		annotated := 0
		for _, c := range table.Columns {
			if c.Kind == tables.List || c.Kind == tables.Int16 || c.Kind == tables.Time {
				annotated++
			}
		}
		if len(a[4].Rows) != annotated {
			t.Errorf("%s: %v", table.Name, a[4].Rows)
		}
	}
}
