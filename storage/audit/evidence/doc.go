// Package evidence reads the WARC files of any crawler for the audit.
//
// Files are read once, in the order given; those written at once by another crawler are merged by time. Records are
// joined to exchanges: a request, its response or revisit, and their metadata. They belong together if one names the
// other in WARC-Concurrent-To, or else if they are neighbours with the same URI and date. A record without a
// match in a small window is its own exchange. Head, digests and revisits are checked here, politeness by package audit.
package evidence
