// Package sink writes tables as Parquet, CSV, JSON lines and SQLite.
//
// A Sink checks each row against its table and the order of its key, and never sorts. It holds a bounded number of bytes
// besides the row that it is given: no format keeps a table, and CSV and JSON lines not even a row. Parquet and SQLite
// hold a row several times (decision 12), so whoever makes rows bounds them: crawler/export at 8 MiB.
//
// A file is written beside its place (durable.Draft), and has its name when it is whole and durable. A process that is
// killed leaves a file whose name begins with a dot, which the next Create of the same path removes. An error names the
// file that was to be.
//
// A Set is the tables of one export. Those of SQLite share a file, which is one transaction without a journal and gets its
// indexes at the end.
//
// Values come back from each file as they were: docs/reference/tables.md says what each format makes of null, lists and instants.
package sink
