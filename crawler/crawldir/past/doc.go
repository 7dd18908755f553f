// Package past knows the generation of a crawl before the one that runs: what its archive answers for a URL, and what
// changed since.
//
// It reads archive, index and ledger, and writes one file, that of the changes. A damaged archive makes an update dearer,
// not impossible: what cannot be read is told and passed over.
package past
