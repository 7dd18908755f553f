// Package progress shows people how far a crawl, or a mirror, is: one live line on a terminal, plain lines elsewhere, and
// sentences between them. It asks the crawl, and decides nothing.
package progress
