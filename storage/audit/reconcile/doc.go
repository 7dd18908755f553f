// Package reconcile holds an archive against the ledger of the same crawl. The chain and its signatures must hold,
// every exchange and every refusal must stand in both, and both must tell the same of it. A kill of the crawl may
// tear something off one of them: that is named and accuses nobody, and the marks of the runs bound how much it may
// be.
//
// Both sides become rows of one form under the id of the record, which are sorted in bounded memory: their orders
// need not be the same.
package reconcile
