// Package progress shows the progress of a crawl or mirror: a live line on a terminal, plain lines elsewhere. It asks
// the crawl, and decides nothing.
package progress
