// Package sink writes tables as Parquet, CSV, JSON lines and SQLite.
//
// A Sink checks each row against its table and key, and does not sort. It holds a bounded number of bytes besides the row:
// Parquet and SQLite hold a row several times (decision 12), so that crawler/export bounds rows at 8 MiB.
//
// A file gets its name once it is whole and durable (durable.Draft). A killed process leaves a file whose name begins
// with a dot, which the next Create of the same path removes. Errors name the final file. The SQLite tables of a Set
// share a file, written in one transaction without a journal, with indexes at the end.
//
// Values survive a round trip: docs/reference/tables.md describes null, lists and instants in each format.
package sink
