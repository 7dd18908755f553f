// Package check finds the broken links of a crawl and their positions, without requests: the ledger has the outcome of each
// URL, and the archive the pages. Of the ledger, the latest generation counts.
//
//  1. Read the ledger. Remember successful URLs by a digest of their key, all others (broken, redirected, disallowed, out of
//     scope) with their outcome, and follow chains of redirects.
//  2. Read each page and style sheet once, by several workers, with the mirror's parser (package markup), which knows the
//     position of each byte. Fragments and anchors meet in an external sort by a digest of page and name.
//
// # Broken links
//
// A URL with a status of 4xx or 5xx, or of a host whose name does not exist, that refuses connections or fails TLS; a redirect
// to such a URL, in a loop, or nowhere; an invalid URL; a fragment without an anchor. Undecidable are 429 and 503, disallowed
// URLs, and URLs that the crawl did not reach: they have their own lists.
//
// # Bounds
//
// Memory grows by tens of bytes with each requested URL, and with the number of problems, but not with mentions or anchors.
// MaxPlaces, pagePlaces, maxRepeated, maxUnasked and maxStates bound the findings; Result.Left counts the rest.
package check
