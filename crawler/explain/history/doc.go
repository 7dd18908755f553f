// Package history reads what a crawl directory has of one URL, up to an instant: its decisions in the ledger, and the
// robots.txt of its host, replayed exchange by exchange from the archive as the gate learned it. Memory is bounded,
// however long the ledger is.
package history
