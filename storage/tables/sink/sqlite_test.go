package sink_test

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/tables"
	"curtsy/storage/tables/sink"
)

func TestSQLiteComesBackByDatabaseSQL(t *testing.T) {
	rows := hostileRows()
	path := written(t, sink.SQLite, every, rows, sink.Options{})
	same(t, sqliteRows(t, path, every), rows)
}

func sqliteOpen(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func sqliteRows(t testing.TB, path string, table *tables.Table) (rows [][]any) {
	t.Helper()
	all, err := sqliteOpen(t, path).Query("SELECT * FROM " + table.Name + " ORDER BY rowid")
	require.NoError(t, err)
	defer all.Close()
	for all.Next() {
		r := make([]any, len(table.Columns))
		places := make([]any, len(r))
		for i := range r {
			places[i] = &r[i]
		}
		require.NoError(t, all.Scan(places...))
		for i, c := range table.Columns {
			switch {
			case r[i] == nil:
			case c.Kind == tables.Time:
				r[i] = instant(t, r[i].(string))
			case c.Kind == tables.Bool:
				r[i] = r[i].(int64) == 1
			case c.Kind == tables.List:
				list := []string{}
				require.NoError(t, json.Unmarshal([]byte(r[i].(string)), &list))
				r[i] = list
			}
		}
		rows = append(rows, r)
	}
	require.NoError(t, all.Err())
	return rows
}

func TestADatabaseHasAllTablesOfASetWithTheirIndexes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a ?#%20'\"é") // bytes with a meaning in the URI that SQLite opens
	require.NoError(t, os.Mkdir(dir, 0o777))
	other := *every
	other.Name = "other"
	set, err := sink.NewSet(sink.SQLite, dir, sink.Options{Version: "1.2"})
	require.NoError(t, err)
	defer set.Abort()
	sinks := map[string]sink.Sink{}
	for _, table := range []*tables.Table{every, &other} {
		sinks[table.Name], err = set.Create(table)
		require.NoError(t, err)
	}
	rows := hostileRows()
	for _, r := range rows { // side by side
		for _, s := range sinks {
			require.NoError(t, s.Write(r))
		}
	}
	for _, s := range sinks {
		require.NoError(t, s.Close())
		s.Abort()
	}
	path := set.Path(every)
	_, err = os.Stat(path)
	assert.Truef(t, err != nil && filepath.Base(path) == sink.DatabaseName, "%s is there before it is whole", path)
	require.NoError(t, set.Close())
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, names, 1)
	if err := os.Rename(path, filepath.Join(filepath.Dir(dir), "x.sqlite")); err != nil { // whose name means nothing
		t.Fatal(err)
	}
	path = filepath.Join(filepath.Dir(dir), "x.sqlite")
	same(t, sqliteRows(t, path, every), rows)
	same(t, sqliteRows(t, path, &other), rows)
	list, err := sqliteOpen(t, path).Query("SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY name")
	require.NoError(t, err)
	defer list.Close()
	var indexes []string
	for list.Next() {
		var name string
		require.NoError(t, list.Scan(&name))
		indexes = append(indexes, name)
	}
	want := []string{"every_by_few", "every_by_key_n64", "other_by_few", "other_by_key_n64"}
	assert.Truef(t, slices.Equal(indexes, want), "indexes %q, want %q", indexes, want)
	var found, schema string
	db := sqliteOpen(t, path)
	err = db.QueryRow("PRAGMA integrity_check").Scan(&found)
	assert.Truef(t, err == nil && found == "ok", "%s, %v", found, err)
	err = db.QueryRow("SELECT sql FROM sqlite_schema WHERE name = 'every'").Scan(&schema)
	assert.Truef(t, err == nil && strings.Contains(schema, "-- One row per test (curtsy 1.2)") && strings.Contains(schema, "-- timestamp: when"), "%s, %v", schema, err)
}

func TestSQLite_WritesCompleteFiles(t *testing.T) {
	for name, spoil := range map[string]func(s sink.Sink){
		"aborted":   func(s sink.Sink) { s.Abort() },
		"open":      func(sink.Sink) {},
		"failed":    func(s sink.Sink) { s.Write(row(0, "")[1:]); s.Close() },
		"unordered": func(s sink.Sink) { s.Write(row(5, "")); s.Write(row(2, "")); s.Close() },
	} {
		dir := t.TempDir()
		set, err := sink.NewSet(sink.SQLite, dir, sink.Options{})
		require.NoError(t, err)
		good, err := set.Create(every)
		require.NoError(t, err)
		other := *every
		other.Name = "other"
		bad, err := set.Create(&other)
		require.NoError(t, err)
		assert.NoError(t, good.Close())
		spoil(bad)
		if err := set.Close(); err == nil || !strings.Contains(err.Error(), "table other is not complete") || !strings.Contains(err.Error(), sink.DatabaseName) {
			t.Errorf("%s: %v", name, err)
		}
		names, err := os.ReadDir(dir)
		assert.Truef(t, err == nil && len(names) == 0, "%s: %v, %v", name, names, err)
	}
}

func TestASetOfOtherFormatsHasAFilePerTable(t *testing.T) {
	dir := t.TempDir()
	set, err := sink.NewSet(sink.CSV, dir, sink.Options{})
	require.NoError(t, err)
	s, err := set.Create(every)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, set.Close())
	set.Abort()
	_, err = os.Stat(filepath.Join(dir, "every.csv"))
	assert.NoError(t, err)
	_, err = sink.NewSet("xlsx", dir, sink.Options{})
	assert.Error(t, err, "a format that there is not")
}
