package sink

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"curtsy/frontier/durable"
	"curtsy/storage/tables"
)

// Sink takes the rows of one table, in the order of its key, and makes one file of them. It may not be used by two
// goroutines at once.
type Sink interface {
	// Write adds a row, which it does not keep. The first error ends the file: Close then gives it again.
	Write(r tables.Row) error
	// Close completes the file and makes it durable. The file has its name only then.
	Close() error
	// Abort leaves nothing behind. It does nothing after Close.
	Abort()
}

// Options say how files are written. The zero value is the default of each.
type Options struct {
	// Version is the program's, for the formats that have a place for it. Empty means "devel".
	Version string
	// ExactCSV leaves strings of CSV files as they are that a spreadsheet would run as formulas. The default marks them.
	ExactCSV bool
}

// Create begins the file of table t at path, in place of what may stand there.
func Create(format Format, path string, t *tables.Table, o Options) (Sink, error) {
	o.Version = cmp.Or(o.Version, "devel")
	if _, err := Parse(string(format)); err != nil {
		return nil, err
	}
	if format == SQLite {
		return newAlone(path, t, o)
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
	return newFile(t, d, w, true), nil
}

// file is a Sink: it checks rows, keeps the first error, and has the file written.
type file struct {
	t     *tables.Table
	draft *durable.Draft
	whole bool // the draft is this table's alone
	w     writer
	keys  []int
	last  tables.Row // the key of the row before, if there was one
	rows  int64
	err   error
}

func newFile(t *tables.Table, d *durable.Draft, w writer, whole bool) *file {
	return &file{t: t, draft: d, whole: whole, w: w, keys: t.Places(), last: make(tables.Row, len(t.Columns))}
}

// Write implements Sink.
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

// Close implements Sink.
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
	case f.whole:
		return f.draft.Commit()
	}
	return nil
}

// Abort implements Sink.
func (f *file) Abort() {
	if f.whole {
		f.draft.Abort()
	}
}

// Format is a way to write tables as files.
type Format string

// Formats of files.
const (
	Parquet Format = "parquet"
	CSV     Format = "csv"
	JSONL   Format = "jsonl"
	SQLite  Format = "sqlite"

	// WET is that of Common Crawl's texts. The table text alone can be written so.
	WET Format = "wet"
)

// Formats are all in which any table can be written, the default first.
func Formats() []Format { return []Format{Parquet, CSV, JSONL, SQLite} }

// Parse reads the word of a format.
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

// Ext ends the name of a file of the format, with its dot.
func (f Format) Ext() string {
	if f == WET {
		return wetExt
	}
	return "." + string(f)
}

// DatabaseName is the file of all tables of a Set of SQLite.
const DatabaseName = "crawl.sqlite"

// Set is the files of several tables in one folder: one for each, or, of SQLite, one for all. Its sinks may be open side
// by side, but not be used by several goroutines at once.
type Set struct {
	format Format
	dir    string
	o      Options
	db     *database // of SQLite, once there is a table
}

// NewSet makes nothing yet. The folder must be there.
func NewSet(format Format, dir string, o Options) (*Set, error) {
	if _, err := Parse(string(format)); err != nil {
		return nil, err
	}
	return &Set{format: format, dir: dir, o: o}, nil
}

// Path is where the rows of t go.
func (s *Set) Path(t *tables.Table) string {
	if s.format == SQLite {
		return filepath.Join(s.dir, DatabaseName)
	}
	return filepath.Join(s.dir, t.Name+s.format.Ext())
}

// Create begins table t. Its file has its name when its sink is closed; that of SQLite when the Set is.
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
	return s.db.table(t, s.o)
}

// Close completes what the tables share. It fails if one of them failed, or was aborted, or is still open.
func (s *Set) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.close()
}

// Abort leaves nothing behind of what the tables share. It does nothing after Close.
func (s *Set) Abort() {
	if s.db != nil {
		s.db.abort()
	}
}

// alone is the only table of its database, which ends with it.
type alone struct {
	Sink
	db *database
}

func newAlone(path string, t *tables.Table, o Options) (Sink, error) {
	db, err := newDatabase(path)
	if err != nil {
		return nil, err
	}
	s, err := db.table(t, o)
	if err != nil {
		db.abort()
		return nil, err
	}
	return &alone{s, db}, nil
}

// Close implements Sink.
func (a *alone) Close() error {
	if err := a.Sink.Close(); err != nil {
		a.db.abort()
		return err
	}
	return a.db.close()
}

// Abort implements Sink.
func (a *alone) Abort() {
	a.Sink.Abort()
	a.db.abort()
}

// unfinished is the error of a table that was not closed when its database was.
func unfinished(t *tables.Table) error { return fmt.Errorf("sink: table %s is not complete", t.Name) }
