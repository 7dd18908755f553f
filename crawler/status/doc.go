// Package status summarises a crawl from its frontier: totals, notable hosts, the minimum remaining time, and hosts that
// share an address.
//
// Of reads a crawl that is stopped. Live is asked of one that runs, as often as anybody likes: it keeps its answers for a
// while, so that asking does not cost the crawl. Nothing in this package writes, and nothing in it prints.
package status
