// Package reconcile compares an archive with the ledger of the same crawl. Every exchange and every refusal must stand
// in both, and both must tell the same of it. A kill of the crawl may tear something off one of them: that is named and
// accuses nobody, and the marks of the runs bound how much it may be.
//
// The ledger is read once. Package ledger holds its lines against its own checkpoints, and this package names by codes
// of the audit what it finds, who else vouches for them (vouch.go), and whether the files of the crawl are those that it
// has marks of (files.go).
//
// Both sides become rows of one form under the id of the record, which are sorted in bounded memory: their orders
// need not be the same.
package reconcile
