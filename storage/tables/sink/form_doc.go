// Package form writes the rows of a table in one format to an io.Writer: CSV, JSON lines, Parquet, and texts as WET records.
// Package sink makes files of them, and holds what a row may have; nothing here checks a row, and nothing is flushed
// before Finish.
//
// SQLite, which writes a file of its own, is not among them: so a fuzz target of this package is made in seconds.
package sink

import "curtsy/storage/tables"

// writer writes the rows of one table, in their order. It may not be used by two goroutines at once.
type writer interface {
	// Write adds a row, which it does not keep.
	Write(r tables.Row) error
	// Finish writes what is still to be written.
	Finish() error
}

// wetExt ends the name of a file of WET records.
const wetExt = ".warc.wet.gz"
