package sink

import "curtsy/storage/tables"

// writer writes the rows of one table, in their order, in one format to an io.Writer: CSV, JSON lines, Parquet, or texts
// as WET records. It checks no row, and flushes nothing before Finish. It may not be used by two goroutines at once.
type writer interface {
	// Write adds a row, which it does not keep.
	Write(r tables.Row) error
	// Finish writes what is still to be written.
	Finish() error
}

// wetExt ends the name of a file of WET records.
const wetExt = ".warc.wet.gz"
