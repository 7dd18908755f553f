package sink

import (
	"fmt"
	"path/filepath"

	"curtsy/storage/tables"
)

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
