// Package changes compares two generations of a crawl: new, changed, moved and gone pages, with text differences.
//
// The ledger says what became of each URL, in two passes over sorted lines: what the crawl had of it at the end of the
// one generation, and at the end of the other. Only where another payload came are bodies read, both from the archive: a
// revisit stands for the answer that it refers to. Texts are those of package storage/text, by blocks, and are compared
// line by line. A page whose text is the same has other markup only; one whose main text is the same changed around it,
// in menus, dates and notices.
//
// Invariants: nothing is asked of anybody, and nothing in the crawl directory is written. Each URL of the two generations
// counts once. What is not listed, not read or not shown is counted, with a reason.
//
// Memory is bounded, however long the ledger is: outcomes are sorted on disk, at most MaxListed URLs are listed by their
// names, and all diffs together have at most MaxDiffs bytes.
package changes
