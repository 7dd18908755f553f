// Package mirrorcmd is curtsy mirror rebuild, mirror check and serve, and makes the mirror at the end of a crawl. The
// copy itself is made, checked and served by package mirror.
package mirrorcmd
