// Package check finds the broken links of a crawl and their positions.
//
// It crawls nothing. A crawl directory has all that is needed: the ledger says what became of each URL, and the archive has
// the pages. Of the ledger, the latest generation counts; of a page, the answer that this generation has of it.
//
// # Two passes
//
//  1. The ledger is read. URLs that were answered as they should are remembered by a digest of their key; any other (broken,
//     redirected, forbidden, off the scope) with what became of it. Chains of redirects are followed here.
//  2. Each page and style sheet is read once, by several workers, with the reader that the mirror has (package markup),
//     since that one knows the place of each byte. A mention of a URL that something is amiss with is a Place. Fragments
//     and the anchors of pages go into one external sort by a digest of page and name: a fragment without an anchor
//     beside it comes out alone.
//
// # What is broken
//
// A URL with a status of 4xx or 5xx, of a host that has no name, refuses connections or cannot be spoken to; what redirects
// to such a URL, in a loop, or nowhere; what is no URL at all; a fragment that is no anchor of the page. Not broken,
// since it cannot be told: 429 and 503, what robots.txt forbids, what the crawl did not come to. That is listed by itself.
//
// # Bounds
//
// Memory depends on how many URLs were requested, by some tens of bytes, and on how many of them something is amiss with;
// neither on mentions nor on anchors. A finding has at most MaxPlaces places, a page adds at most pagePlaces, and all
// findings have at most maxRepeated behind the first of each; Count has all. Findings about URLs that nobody asked for are
// at most maxUnasked of a kind. Of URLs that were requested, maxStates redirects and maxStates others that something is
// amiss with are kept. The rest is counted in Result.Left.
package check
