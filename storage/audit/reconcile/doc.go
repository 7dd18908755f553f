// Package reconcile holds an archive against the ledger of the same crawl. The chain and its signatures must hold,
// every exchange and every refusal must stand in both, and both must tell the same of it. What a kill of the crawl
// may have torn off one of them is named and accuses nobody; how much that may be, the marks of its runs say.
//
// Both sides become rows of one form under the id of the record, which are sorted in bounded memory: their orders
// need not be the same.
package reconcile
