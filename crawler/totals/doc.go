// Package totals names the totals that a crawl keeps in its frontier, and keeps among them which generation the crawl
// is in. Whatever counts or shows something of a whole crawl takes the name from here. The names are stable on disk.
//
// The package holds no counter: turns carry their counts, and the frontier adds them up.
package totals
