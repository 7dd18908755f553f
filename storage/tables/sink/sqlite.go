package sink

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"curtsy/frontier/durable"
	"curtsy/storage/tables"
)

// database is a file of SQLite that is being written: one transaction without a journal, for a file that is not whole
// has no name, and nobody else reads it.
type database struct {
	draft *durable.Draft
	pool  *sql.DB
	conn  *sql.Conn
	open  []*sqliteWriter
	err   error // the first of any table
	ended bool
}

// pragmas make SQLite write each page once, keep 8 MiB of them, and sort what an index needs beside the file.
var pragmas = []string{"journal_mode=OFF", "synchronous=OFF", "cache_size=-8192", "locking_mode=EXCLUSIVE", "temp_store=FILE"}

func newDatabase(path string) (*database, error) {
	draft, err := durable.Begin(path)
	if err != nil {
		return nil, err
	}
	db := &database{draft: draft}
	if err := db.begin(); err != nil {
		db.abort()
		return nil, draft.Wrong(err)
	}
	return db, nil
}

// begin opens the draft, whose lock is ours already: nolock keeps SQLite's, which some systems hold to be the same.
func (db *database) begin() error {
	name, err := filepath.Abs(db.draft.Name())
	if err != nil {
		return err
	}
	name = filepath.ToSlash(name)
	if !strings.HasPrefix(name, "/") { // C:/
		name = "/" + name
	}
	u := url.URL{Scheme: "file", Path: name, RawQuery: "nolock=1"}
	if db.pool, err = sql.Open("sqlite", u.String()); err != nil {
		return err
	}
	ctx := context.Background()
	if db.conn, err = db.pool.Conn(ctx); err != nil {
		return err
	}
	for _, p := range pragmas {
		if err := db.exec("PRAGMA " + p); err != nil {
			return err
		}
	}
	return db.exec("BEGIN")
}

func (db *database) exec(statement string) error {
	_, err := db.conn.ExecContext(context.Background(), statement)
	return err
}

// table begins a table, and returns its sink.
func (db *database) table(t *tables.Table, o Options) (Sink, error) {
	w := &sqliteWriter{db: db, t: t}
	if err := w.create(o); err != nil {
		db.err = cmp.Or(db.err, db.draft.Wrong(err))
		return nil, db.err
	}
	db.open = append(db.open, w)
	return newFile(t, db.draft, w, false), nil
}

// close makes the indexes, and gives the file its name.
func (db *database) close() error {
	err := db.err
	for _, w := range db.open {
		if err == nil && !w.done {
			err = unfinished(w.t)
		}
	}
	if err == nil && !db.ended {
		err = db.finish()
	}
	if err != nil {
		db.abort()
		return db.draft.Wrong(err)
	}
	db.ended = true
	return db.draft.Commit()
}

func (db *database) finish() error {
	for _, w := range db.open {
		if err := w.index(); err != nil {
			return err
		}
	}
	if err := db.exec("COMMIT"); err != nil {
		return err
	}
	if err := db.conn.Close(); err != nil {
		return err
	}
	return db.pool.Close()
}

func (db *database) abort() {
	if db.ended {
		return
	}
	db.ended = true
	if db.conn != nil {
		_ = db.conn.Close() // the file goes away
	}
	if db.pool != nil {
		_ = db.pool.Close()
	}
	db.draft.Abort()
}

// sqliteWriter writes the rows of one table of a database.
type sqliteWriter struct {
	db     *database
	t      *tables.Table
	insert *sql.Stmt
	args   []any
	done   bool
}

// sqliteTypes are those of strict tables. Instants are texts, as SQLite's functions of dates read them; lists are texts of
// JSON, as json_each reads them.
func sqliteType(k tables.Kind) string {
	switch k {
	case tables.Bool, tables.Int16, tables.Int32, tables.Int64:
		return "INTEGER"
	case tables.Float64:
		return "REAL"
	}
	return "TEXT"
}

// create makes the table. SQLite keeps the comments of the statement: a reader of the schema sees them.
func (w *sqliteWriter) create(o Options) error {
	var b strings.Builder
	line := strings.NewReplacer("\n", " ", "\r", " ")
	fmt.Fprintf(&b, "CREATE TABLE %s ( -- %s (curtsy %s)\n", name(w.t.Name), line.Replace(w.t.Doc), line.Replace(o.Version))
	for i := range w.t.Columns {
		c := &w.t.Columns[i]
		required, comma := "", ","
		if c.Required {
			required = " NOT NULL"
		}
		if i == len(w.t.Columns)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, "  %s %s%s%s -- %s: %s\n", name(c.Name), sqliteType(c.Kind), required, comma, c.Kind, line.Replace(c.Doc))
	}
	b.WriteString(") STRICT")
	if err := w.db.exec(b.String()); err != nil {
		return err
	}
	marks := strings.Repeat(", ?", len(w.t.Columns))[2:]
	var err error
	w.insert, err = w.db.conn.PrepareContext(context.Background(), "INSERT INTO "+name(w.t.Name)+" VALUES ("+marks+")")
	return err
}

// name is a name as SQL has it. Those of tables and columns have no quotes in them.
func name(s string) string { return `"` + s + `"` }

func (w *sqliteWriter) Write(r tables.Row) error {
	w.args = w.args[:0]
	for _, v := range r {
		w.args = append(w.args, sqliteValue(v))
	}
	_, err := w.insert.ExecContext(context.Background(), w.args...)
	clear(w.args)
	if err != nil {
		w.db.err = cmp.Or(w.db.err, w.db.draft.Wrong(err))
	}
	return err
}

func sqliteValue(v tables.Value) any {
	if v.IsNull() {
		return nil
	}
	switch v.Kind() {
	case tables.String:
		return v.Text()
	case tables.Float64:
		return v.Float()
	case tables.Time:
		return v.Time().Format(instantLayout)
	case tables.List:
		var b strings.Builder
		jsonList(v.List(), func(part string) { b.WriteString(part) })
		return b.String()
	}
	return v.Number()
}

func (w *sqliteWriter) Finish() error {
	w.done = true
	return w.insert.Close()
}

// index makes the indexes: one of the key, and one of each column by which rows are looked up.
func (w *sqliteWriter) index() error {
	var lists []string
	if len(w.t.Key) > 0 {
		lists = append(lists, strings.Join(w.t.Key, `", "`))
	}
	for _, c := range append(lists, w.t.Lookup...) {
		label := w.t.Name + "_by_" + strings.ReplaceAll(c, `", "`, "_")
		if err := w.db.exec("CREATE INDEX " + name(label) + " ON " + name(w.t.Name) + " (" + name(c) + ")"); err != nil {
			return err
		}
	}
	return nil
}
