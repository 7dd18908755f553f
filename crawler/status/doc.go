// Package status says how a crawl stands, as values that are read from its frontier: the totals, the hosts that stand out,
// how long the rest takes at least, and which hosts share an address.
//
// Of reads a crawl that is stopped. Live is asked of one that runs, as often as anybody likes: it keeps its answers for a
// while, so that asking does not cost the crawl. Nothing in this package writes, and nothing in it prints.
package status
