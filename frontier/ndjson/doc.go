// Package ndjson writes and reads a whole frontier as lines of JSON. The form depends on no engine: it is how a crawl
// moves to another one, and how other programs look at a crawl.
//
// # Lines
//
// Each line is an object with one member, whose name says what the line is:
//
//	head     once, the first: format number, the secret of the fingerprints, openings so far
//	seed     a seed, or what a seed redirected to
//	blob     a kept body (a robots.txt), in base64
//	host     an authority with what is known of it
//	url      a URL with its state, after its host
//	refused  fingerprints of candidates that were refused, at most 1,000 in a line
//	tally    refused candidates by host, at most 1,000 hosts in a line; they belong to totals
//	totals   once, after all of these: sums that do not follow from hosts and URLs
//	end      once, the last: how many lines there are of each kind, and the SHA-256 of all bytes before this line
//
// docs/guides/steer.md has the members of each. A member that is left out is zero. Text that is no UTF-8 (a tag, a reason)
// is an object with its bytes in base64, so that nothing is altered. Durations are written as Go writes them.
//
// # Damage
//
// A Reader believes nothing: a line that is not what it should be is a LineError with its number, an export without its
// end is ErrCut, and one of which the digest differs is ErrChanged. Those who want what is left all the same set
// Reader.Damaged: then each of these is told and passed over. A line is never believed in part.
//
// The file holds the crawl's secret, and what sites and the operator would rather keep to themselves: whoever writes
// one keeps it from others.
package ndjson
