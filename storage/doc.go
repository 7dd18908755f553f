// Package storage defines the stored data of a crawl: a Record per request, and a Line per decision. It holds the
// values and the two interfaces between the crawler, which produces them, and the packages below it, which write them:
// storage/warc the records, storage/ledger the lines. Values only, no I/O.
//
// Order is the point: a record is written before the line that names it, both before the frontier is told that
// the URL is done, and both are synced by the frontier's barrier before that is durable. So a Done without its
// record cannot exist; a record without a Done can (a kill came between), and the repeat carries attempt + 1.
package storage
