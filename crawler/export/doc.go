// Package export writes the tables of package tables from crawl directories.
//
// # Where rows come from
//
// Inputs are one or more crawl directories. A Source makes the rows of one table:
//
//	pages      a row for each line of the index (package cdxj), read from the archive at the place that it names
//	robots     the same lines, those of robots.txt alone, joined by version
//	decisions  a row for each line of the ledger
//	hosts      the ledger, added up by authority
//	errors     the failures of the ledger, added up by authority and class
//	headers    the archive, from its first record to its last
//
// So the rows of pages are as many as the lines of the index, whatever has become of the archive: a row whose record
// cannot be read says why in its column problem. What has no row at all is counted by its reason (Out.Left). Nothing is
// left out in silence.
//
// # Order and memory
//
// Rows are made in the order of their table's key. The lines of all indexes go through one external sort by SURT, and so
// do the sums of hosts that no longer fit into memory. Records are read by a few workers at once, a batch each, and
// their rows handed on in order. No memory depends on the number of rows; a page takes what package extract allows it.
//
// # Files
//
// Write makes a file for each table. A file has its name only when it is complete and durable, and then export.json
// names it, with the identity of the inputs. What export.json names for the same inputs is not made again: so a kill
// costs the table that was being made, and nothing else.
//
// # A crawl that runs
//
// Inputs are fixed when they are opened: the ledger up to its latest checkpoint, the index as long as its files are
// then. A crawl may go on meanwhile. Its captures may then be ahead of its decisions, by what the checkpoint does not
// have yet.
//
// # What the package never does
//
// It changes nothing in a crawl directory, asks no site, follows no path that an index or a record names, and judges
// nothing: an export of a forged archive has what is written there.
package export
