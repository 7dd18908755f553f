// Package excerpts keeps, while a crawl runs, the part of each page in which its links stand, so that the table of links
// can be made later without a look at the bodies in the archive. What an excerpt says, package extract knows.
//
// # Derived, and never ahead of the archive
//
// Excerpts are derived from the archive and are no evidence: no mark of the ledger names their files, and whoever reads
// them falls back to the archive for a record that has none, or whose excerpt is damaged. So nothing here needs to be
// durable, and a Writer may drop what it holds. It does keep one rule: nothing is written before the archive has made its
// record durable (Writer.Behind). No excerpt outlives a record that a kill or a power cut took.
//
// # Files
//
// FOLDER/NNNNNN.s2, from 000000 on. A Writer appends to none that is there; it begins another one with the first excerpt
// of a run, and when one is full. A file is a row of frames, each of some tens of KiB:
//
//	10 bytes  the stream identifier of S2, as a chunk of the framing format of Snappy
//	4 bytes   0xa1, which readers of S2 skip, and how long the head is
//	head      "curtsy links 1" and a line feed; how long the block of the body is, and unpacked; how many excerpts there
//	          are, and of each the 16 bytes of its record's UUID and where it ends, unpacked; the CRC-32C of the head so
//	          far. Numbers have 4 bytes. All of them are little-endian.
//	4 bytes   0x00, and how long the rest is
//	4 bytes   the masked CRC-32C of what is unpacked
//	block     the excerpts, one behind the other, as a block of S2
//
// An excerpt is the length of the charset's name in a byte, that name, and the text. Any reader of S2 prints all of them.
// S2 takes a third of the time of Zstandard at its fastest, and half as much room again: time is what a crawl has not.
//
// # Reading
//
// A Set knows where each excerpt stands: it reads the heads alone, and sorts ids in a temporary file, so that its memory
// does not depend on how many there are. A damaged head hides the rest of its file; a damaged body, its frame.
package excerpts
