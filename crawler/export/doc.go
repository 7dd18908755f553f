// Package export writes the tables of package tables from crawl directories.
//
// A Source makes the rows of one table:
//
//	pages      a row for each line of the index (package cdxj), read from the archive at the place that it names
//	robots     the same lines, only those of robots.txt, joined by version
//	decisions  a row for each line of the ledger
//	hosts      the ledger, added up by authority
//	errors     the failures of the ledger, added up by authority and class
//	headers    the archive, from its first record to its last
//
// A row of an unreadable record has the reason in column problem. Input without a row is counted by reason (Out.Left).
//
// Rows come in the order of their table's key. Lines of indexes and large numbers of sums go through external sorts by SURT;
// a few workers read the records in batches. Memory does not depend on the number of rows.
//
// A file gets its name only when it is complete and durable; then export.json names it, with the identity of the inputs. An
// export skips tables that export.json names for the same inputs, so a kill costs only the table in progress.
//
// Inputs are fixed at opening: the ledger up to its latest checkpoint, the index at its size then. So captures of a running
// crawl may be ahead of its decisions.
//
// The package never changes a crawl directory, sends no requests, follows no path that an index or a record names, and
// does not verify: an export of a forged archive has the forged data.
package export
