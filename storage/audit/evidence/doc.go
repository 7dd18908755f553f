// Package evidence reads the WARC files of any crawler for the audit.
//
// Files are read once, in the order given, record by record. Records are joined to exchanges: a request, its response
// or revisit, and the metadata about both. They belong together when one names the other in WARC-Concurrent-To, or
// else when they are neighbours with the same URI and date. A record that finds no other part within a small window
// goes on alone. A Reader gives them as Events, with warcinfo records and refusals between them, in the order of the
// file; those of several files that were written at once, in the order of time.
//
// Each record is checked here for itself, while it is read: its head, its digests, whether a revisit repeats what it
// names. Whether the crawl was polite is for the judges of package audit.
package evidence
