// Package tables defines the tables of an export: names, columns, types and order, for writers of every format,
// docs/reference/tables.md and tests. It does no I/O: package sink writes files, crawler/export makes rows in the order of
// Table.Key, which writers check.
//
// Pages begins with the columns of Common Crawl's columnar index in its flat form, so that its queries also run here:
// https://github.com/commoncrawl/cc-index-table.
//
// Strings from the web are hostile: Text makes them valid UTF-8, and each writer escapes them for its format.
package tables
