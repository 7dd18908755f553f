// Package tables defines the tables of an export: names, columns, types and order. It holds the definitions and the
// values of a row, and does no I/O: package sink writes files, crawler/export makes the rows.
//
// A Table is data. Writers of every format, docs/reference/tables.md and the tests that read files back with other programs all
// take it from here, so that a column has one name, one type and one meaning.
//
// The columns of Pages begin with those of Common Crawl's columnar index in its flat form, with the same names and types,
// so that its queries run on ours: https://github.com/commoncrawl/cc-index-table.
//
// # Rows
//
// A Row has a Value for each column, in the table's order. Whoever makes rows keeps the table's order of rows (Table.Key);
// writers check it and never sort. Strings are of the web and hostile: they are made valid UTF-8 once, by Text, and each
// writer escapes what its format needs.
package tables
