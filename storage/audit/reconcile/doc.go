// Package reconcile compares an archive with the ledger of the same crawl. Every exchange and refusal must be in both, with
// equal values. A kill may lose part of either; such losses are named and not accused, within bounds from the marks of runs.
//
// Package ledger checks the lines against the ledger's own checkpoints. This package reports that by codes of the audit,
// which others vouch for the lines (vouch.go), and whether the files match their marks (files.go). Both sides become rows
// under the id of the record, sorted in bounded memory.
package reconcile
