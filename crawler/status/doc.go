// Package status summarises a crawl from its frontier: totals, notable hosts, the minimum remaining time, and hosts that
// share an address. Of reads a stopped crawl. Live is for a running one, and caches results to limit its cost.
package status
