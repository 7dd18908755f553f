// Package proof makes and verifies the bundle of one site, a ZIP file that its owner can check offline.
//
// # The bundle
//
// docs/reference/ledger.md is the format, written for those who write a verifier of their own; docs/verify.py is one. A bundle
// holds the host's lines in their public form, the checkpoint that commits to them, one proof of all of them in its
// Merkle tree, the proof of the completeness map that there are no others, the robots.txt files that the lines name, the
// heads of requests and answers, and a page that says it in words. Nothing of another host is in it but counts, unless
// the host itself said it: a Location, a line of its robots.txt.
//
// Make writes a bundle in one pass over the lines, in memory that grows with the number of the host's lines and not with
// their length. The same lines and the same checkpoint give the same bytes. Collect finds in a crawl directory what Make
// needs.
//
// # What a verifier believes
//
// Nothing but the keys that its user gives it. Verify holds every part to another one that was held before: the lines to
// the root of the checkpoint, the checkpoint to the keys, the number and the digest of the lines to the map, the map to
// the last mark of the log, the robots.txt and the heads to the digests in the lines, the verdicts to robots.txt as package
// robots/naive reads it, the page to what Make writes of such lines. With the site's own access log it also holds the
// lines to what the server saw, by package audit/accesslog.
//
// What does not hold is a Finding, and the result says so; an error is of a file that is no bundle at all. The bytes of a
// bundle come from anybody: each member, the sum of all, the number of lines and that of the nodes are bounded, and a
// member that unfolds to far more than lines do is refused before it is read.
//
// # What the package never does
//
// It changes nothing in a crawl directory, speaks to nobody, and imports neither package robots nor the crawler: a judge
// who reads with the reader of the accused proves nothing.
package proof
