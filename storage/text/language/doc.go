// Package language tells which language a text is in, and reads what its author declared. It is pure, and keeps no state.
//
// Up to eight passages, spread evenly over the longer lines, are identified one by one, each by its script and its
// trigrams (Cavnar and Trenkle 1994, with the tables of package whatlanggo). Short lines are mostly menus, and count
// only where there is nothing else. The passages vote by their length and by how sure they are.
//
// Codes are those of ISO 639-3, as Common Crawl's index has them: for a group of close languages that of the group, as
// zho, ara, fas and nor. docs/guides/export.md has the accuracy.
package language
