// Package ndjson writes and reads a whole frontier as lines of JSON. The form is independent of the engine: for a crawl
// that moves to another engine, and for other programs.
//
// # Lines
//
// Each line is an object with one member, whose name is the kind of the line:
//
//	head     once, the first: format number, the secret of the fingerprints, openings so far
//	seed     a seed, or the target of a seed's redirect
//	blob     a kept body (a robots.txt), in base64
//	host     an authority with its state
//	url      a URL with its state, after its host
//	refused  fingerprints of candidates that were refused, at most 1,000 in a line
//	tally    refused candidates by host, at most 1,000 hosts in a line; they belong to totals
//	totals   once, after all of these: sums that do not follow from hosts and URLs
//	end      once, the last: how many lines there are of each kind, and the SHA-256 of all bytes before this line
//
// docs/guides/steer.md has the members of each. A member that is left out is zero. Text that is not UTF-8 (a tag, a
// reason) is an object with its bytes in base64, so that nothing is altered. Durations are written as Go writes them.
//
// # Damage
//
// A Reader trusts nothing: a bad line is a LineError with its number, an export without its end is ErrCut, and one with
// another digest is ErrChanged. With Reader.Damaged each of these is reported and skipped. A line is never taken in
// part.
//
// The file has the crawl's secret, and confidential data of sites and the operator: keep it private.
package ndjson
