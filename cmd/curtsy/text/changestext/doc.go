// Package changestext is what people read of how two generations of a crawl differ: as text for a terminal, and as a page
// that needs nothing else. It is pure.
package changestext
