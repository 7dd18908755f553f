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

// Sink writes the rows of one table, in the order of its key, to one file. It is not safe for concurrent use.
type Sink interface {
	// Write adds a row, which it does not keep. The first error ends the file; Close returns it again.
	Write(r tables.Row) error
	// Close completes the file, makes it durable and gives it its name.
	Close() error
	// Abort removes the file. It does nothing after Close.
	Abort()
}

// Options configure the files.
type Options struct {
	Version  string // of the program, for formats that record it. Empty means "devel".
	ExactCSV bool   // do not mark CSV strings that a spreadsheet would run as formulas
}

// Create begins the file of table t at path, and replaces an existing one.
func Create(format Format, path string, t *tables.Table, o Options) (Sink, error) {
	o.Version = cmp.Or(o.Version, "devel")
	if _, err := Parse(string(format)); err != nil {
		return nil, err
	}
	if format == SQLite {
		db, err := newDatabase(path)
		if err != nil {
			return nil, err
		}
		s, err := db.table(t, o, db.close, db.abort) // the only table of its database
		if err != nil {
			db.abort()
		}
		return s, err
	}
	d, err := durable.Begin(path)
	if err != nil {
		return nil, err
	}
	var w writer
	switch format {
	case CSV:
		w, err = newCSV(d, t, o.ExactCSV)
	case JSONL:
		w, err = newJSONL(d, t), nil
	case Parquet:
		w, err = newParquet(d, t, o.Version)
	case WET:
		w, err = newWET(d, t, o.Version)
	}
	if err != nil {
		d.Abort()
		return nil, d.Wrong(err)
	}
	return newFile(t, d, w, d.Commit, d.Abort), nil
}

// file is a Sink: it checks rows and keeps the first error.
type file struct {
	t     *tables.Table
	draft *durable.Draft
	w     writer
	keys  []int
	last  tables.Row // with the key of the previous row
	rows  int64
	err   error

	// commit and abandon end the draft; nil while other tables share it.
	commit  func() error
	abandon func()
}

func newFile(t *tables.Table, d *durable.Draft, w writer, commit func() error, abandon func()) *file {
	return &file{t: t, draft: d, w: w, keys: t.Places(), last: make(tables.Row, len(t.Columns)), commit: commit, abandon: abandon}
}

func (f *file) Write(r tables.Row) error {
	if f.err == nil {
		f.err = f.add(r)
	}
	return f.err
}

func (f *file) add(r tables.Row) error {
	if err := f.t.Check(r); err != nil {
		return f.draft.Wrong(err)
	}
	if f.rows > 0 && tables.Keyed(f.keys, f.last, r) > 0 {
		return f.draft.Wrong(fmt.Errorf("sink: row %d of %s sorts before the previous row, by %s",
			f.rows+1, f.t.Name, strings.Join(f.t.Key, ", ")))
	}
	for _, k := range f.keys {
		f.last[k] = r[k]
	}
	f.rows++
	if err := f.w.Write(r); err != nil {
		return f.draft.Wrong(err)
	}
	return nil
}

func (f *file) Close() error {
	if f.err == nil {
		if err := f.w.Finish(); err != nil {
			f.err = f.draft.Wrong(err)
		}
	}
	switch {
	case f.err != nil:
		f.Abort()
		return f.err
	case f.commit != nil:
		return f.commit()
	}
	return nil
}

func (f *file) Abort() {
	if f.abandon != nil {
		f.abandon()
	}
}

// Format is a file format for tables.
type Format string

const (
	Parquet Format = "parquet"
	CSV     Format = "csv"
	JSONL   Format = "jsonl"
	SQLite  Format = "sqlite"

	WET Format = "wet" // of Common Crawl's texts, only for the table text
)

// Formats returns the formats for any table, the default first.
func Formats() []Format { return []Format{Parquet, CSV, JSONL, SQLite} }

// Parse parses the name of a format.
func Parse(word string) (Format, error) {
	var words []string
	for _, f := range append(Formats(), WET) {
		if string(f) == word {
			return f, nil
		}
		words = append(words, string(f))
	}
	return "", fmt.Errorf("sink: %q is not a format of tables: %s", word, strings.Join(words, ", "))
}

// Ext returns the extension of files in the format, with its dot.
func (f Format) Ext() string {
	if f == WET {
		return wetExt
	}
	return "." + string(f)
}

// DatabaseName is the file of all tables of an SQLite Set.
const DatabaseName = "crawl.sqlite"

// Set is the files of several tables in one directory: one for each, or one SQLite file. Its sinks may be open at the
// same time, but are not safe for concurrent use.
type Set struct {
	format Format
	dir    string
	o      Options
	db     *database // of SQLite, after the first table
}

// NewSet creates no file. The directory must exist.
func NewSet(format Format, dir string, o Options) (*Set, error) {
	if _, err := Parse(string(format)); err != nil {
		return nil, err
	}
	return &Set{format: format, dir: dir, o: o}, nil
}

// Path returns the file of table t.
func (s *Set) Path(t *tables.Table) string {
	if s.format == SQLite {
		return filepath.Join(s.dir, DatabaseName)
	}
	return filepath.Join(s.dir, t.Name+s.format.Ext())
}

// Create begins table t. Its file gets its name when its sink is closed, or with SQLite the Set.
func (s *Set) Create(t *tables.Table) (Sink, error) {
	if s.format != SQLite {
		return Create(s.format, s.Path(t), t, s.o)
	}
	if s.db == nil {
		db, err := newDatabase(s.Path(t))
		if err != nil {
			return nil, err
		}
		s.db = db
	}
	return s.db.table(t, s.o, nil, nil)
}

// Close completes the shared file. It fails if a table failed, was aborted, or is open.
func (s *Set) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.close()
}

// Abort removes the shared file. It does nothing after Close.
func (s *Set) Abort() {
	if s.db != nil {
		s.db.abort()
	}
}

// database is an SQLite file being written: one transaction without a journal, since the file has no reader before it
// is whole.
type database struct {
	draft *durable.Draft
	pool  *sql.DB
	conn  *sql.Conn
	open  []*sqliteWriter
	err   error // the first of any table
	ended bool
}

// pragmas make SQLite write each page once, cache 8 MiB, and sort in files.
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

// begin opens the draft, which is locked already: nolock skips SQLite's lock, which conflicts on some systems.
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

// table begins a table and returns its sink. commit and abandon are nil if tables share the database.
func (db *database) table(t *tables.Table, o Options, commit func() error, abandon func()) (Sink, error) {
	w := &sqliteWriter{db: db, t: t}
	if err := w.create(o); err != nil {
		db.err = cmp.Or(db.err, db.draft.Wrong(err))
		return nil, db.err
	}
	db.open = append(db.open, w)
	return newFile(t, db.draft, w, commit, abandon), nil
}

func (db *database) close() error {
	err := db.err
	for _, w := range db.open {
		if err == nil && !w.done {
			err = fmt.Errorf("sink: table %s is not complete", w.t.Name)
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
		_ = db.conn.Close() // the file is removed
	}
	if db.pool != nil {
		_ = db.pool.Close()
	}
	db.draft.Abort()
}

type sqliteWriter struct {
	db     *database
	t      *tables.Table
	insert *sql.Stmt
	args   []any
	done   bool
}

// sqliteType returns the type in strict tables. Instants are texts for SQLite's date functions, lists JSON for json_each.
func sqliteType(k tables.Kind) string {
	switch k {
	case tables.Bool, tables.Int16, tables.Int32, tables.Int64:
		return "INTEGER"
	case tables.Float64:
		return "REAL"
	}
	return "TEXT"
}

// create creates the table. SQLite keeps the statement's comments, for readers of the schema.
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

// name quotes a name of a table or column, which has no quotes.
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
		return string(appendJSON(nil, listOf(v)))
	}
	return v.Number()
}

func (w *sqliteWriter) Finish() error {
	w.done = true
	return w.insert.Close()
}

// index creates the indexes of the key and of each lookup column.
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
