// Package neardup finds pages that say the same or nearly the same, among any number of them, in bounded memory. It makes
// the table of duplicates and the similarity hash of the table of pages. docs/guides/export.md has it for users, with what it
// finds and misses.
//
// # One definition of what a page says
//
// A Reader hands the text of a page to trap.Digester, as the crawl does for trap:copy, and takes the words from there: the
// page's own URL and session ids are taken out of both alike. Pages with one Digest are copies, here and there; so are
// the bounds the same: a page of fewer than eight words is compared with nothing.
//
// # A sketch
//
// Each Width words in a row are a shingle (Broder, On the resemblance and containment of documents, 1997), and a page is
// the set of its shingles. A word of a script without spaces, as Chinese is, has one character. A Sketch keeps of a page:
//
//   - the least 256 hashes of its shingles. Those of two pages tell the share of shingles that both have (Jaccard's
//     coefficient): exactly for pages of up to 256 words, and else with a standard error of 0.025 at 0.8.
//   - MinHashes in 25 bands of 5 (Broder et al. 1998; one permutation: Li, Owen and Zhang 2012, Shrivastava 2017). Two
//     pages that are alike by 0.8 share a whole band but in 1 case of 20,000; no others are compared.
//   - the Simhash (Charikar 2002; Manku, Jain and Das Sarma 2007), for the table of pages. Clusters are not made by it:
//     it tells half as well, see TestTheChoice.
//
// # A Finder
//
// Sketches go to a file, bands to an external sort (package sorted). Pages that share a band come out side by side; each is
// held against those before it that are in other sets, the last 32 of them, and joined with those it is like by Similar at
// least. So a cluster is a chain: each of its pages is like some other one, not necessarily the representative, and the
// table says how like that one it is. The result depends on what was added, and not on the memory that was given, nor, but
// for bands of more than 32 distinct sets of pages, on the order.
//
// A page that is archived as a reference to the payload of another one (AddCopy) stands for that one where pages are
// compared, also when that one no longer counts, because its URL says something else by now.
//
// Memory is what New is told, 24 bytes for each page and 40 for each such copy.
//
// # What the package never does
//
// It reads no archive and writes no table: package export does.
package neardup
