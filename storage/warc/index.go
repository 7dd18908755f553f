package warc

import (
	"time"

	"curtsy/storage"
)

// Index is told where records stand while they are written. Its methods are called one at a time, and an error of one
// poisons the Writer like a failed append.
type Index interface {
	// Add is called for each response and revisit record once it is appended, in the order of the file.
	Add(e Entry) error
	// Complete is called once a segment has its final name; file is that name without its folder.
	Complete(file string) error
	// Mended is called by Open for a segment that a killed process left behind, before Complete: of its entries those at
	// offset end and beyond are gone, and others may be missing. removed says that nothing of the segment is left. path is
	// where the segment stands at that time, already cut and not yet under its final name, which is file. A kill may make
	// that be told twice.
	Mended(path, file string, end int64, removed bool) error
}

// Entry says where a response or revisit record stands.
type Entry struct {
	File           string // the segment's final name, without its folder
	Offset, Length int64  // of the record's gzip member
	Kind           string // "response" or "revisit"
	ID             string
	URL            string // WARC-Target-URI
	Date           time.Time
	Status         int      // of the HTTP head; 0 without one
	Type           string   // media type, without parameters and in lower case; "" without one
	Payload        [32]byte // SHA-256 of the payload, valid when HasPayload
	HasPayload     bool
	Repeatable     bool // as in storage.Record, for a response: later ones may refer to it
}

// Originals knows the archived answers that a new one may repeat.
type Originals interface {
	// Original returns the answer whose payload has that digest, in this archive or an earlier one. It may be called
	// concurrently.
	Original(payload [32]byte) (o storage.Original, known bool, err error)
}
