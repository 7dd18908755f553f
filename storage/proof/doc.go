// Package proof makes and verifies the bundle of one site, a ZIP file that its owner can check offline.
//
// docs/reference/ledger.md specifies the format; docs/verify.py is another verifier. A bundle has the host's lines in their
// public form, their checkpoint, one proof of all of them in its Merkle tree, the proof of the completeness map that there
// are no others, the robots.txt files that the lines name, the heads of requests and responses, and a page in words. Of
// other hosts it has only counts, unless the host itself names one: in a Location, or in its robots.txt.
//
// Make writes a bundle in one pass, in memory that grows with the number of the host's lines. The same lines and checkpoint
// give the same bytes. Of gathers the Source of a bundle from a crawl directory.
//
// Verify trusts only the keys that its user gives it. It compares lines with the root of the checkpoint, the checkpoint with
// the keys, number and digest of the lines with the map, the map with the last mark of the log, robots.txt and heads with
// the digests in the lines, verdicts with robots.txt as robots/naive reads it, the page with the one that Make writes, and
// the lines with the site's own access log by package audit/accesslog. A mismatch is a Finding; an error is of a file that
// is not a bundle. Members, their sum, lines and nodes are bounded, and a bundle that decompresses too far is refused.
//
// The package changes no crawl directory, makes no requests, and imports neither package robots nor the crawler: a
// verdict by the crawler's own parser proves nothing.
package proof
