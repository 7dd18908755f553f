// Package gather finds in a crawl directory what a bundle for one site is made of (package proof): the host's lines and
// the marks in the ledger, the latest checkpoint with its cosignatures, tiles and map, and in the archive the heads of
// the exchanges and the robots.txt files that the lines name.
//
// It reads, and writes nothing but temporary files, so it works while the crawl runs: the checkpoint says up to which
// line. The lines are read once. Tiles and map are only a shortcut: where they are torn, or those of another checkpoint,
// they are made anew from the lines, in a temporary folder, and Notes says so. Nothing that is read is believed: package
// proof holds all of it against the checkpoint.
//
// Of a line that was forgotten nobody knows the host any more. The map does: it has the number and the digest of the
// host's lines. Of the forgotten lines those are the host's with which the digest comes out right.
//
// The archive's index says where an answer stands; its request is the record before it. An exchange without an answer is
// not in the index, so its request is not shown.
package gather
