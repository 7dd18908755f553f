// Package redact removes a URL or host from a crawl directory, and records the removal.
//
// # What goes
//
// Bodies: the block of each response record of the subject ends behind its HTTP head (warc.Rewrite). Request, head and
// decision stay, and so do revisit records, which have no body. Exchanges for robots.txt and proofs of ownership stay
// as they were, for they are what the crawl was bound by.
//
// All: the records of its exchanges and the lines of refusals leave the archive, and its lines the ledger, where stubs
// that state their entry hashes keep the log what it was. robots.txt goes with all of its host only, and with it what it
// redirected to: without it nobody could judge what is left. A host of which no line is left has no name in the map of
// hosts any more. The words of others stay: bodies of other pages, the links noted from them, and the URL by which
// something else was found.
//
// WARC files are written anew record by record, and so are their indexes; what is not the subject's stands there octet
// for octet. No later answer is kept as a repeat of one that went: the new index does not name it.
//
// # Before or after
//
// Prepare finds everything and writes the new files into forget.new; nothing that is there is touched. Then the journal
// (forget.journal) is written, durably, with all that is to be done: from here on there is no way back. Finish does it, as
// one list of steps, each of which can be done again:
//
//  1. The caller extends the opt-out list, and has the frontier keep the delays that only the ledger knows.
//  2. The ledger gets its redaction mark and a checkpoint behind it.
//  3. Each new file takes the place of the old one.
//  4. The ledger's lines and its map of hosts are rewritten without what went.
//  5. Each possible copy goes: torn tails put aside, spools, reports.
//  6. The caller rebuilds what is derived: mirror, report, each packed file.
//  7. The journal goes.
//
// A kill before the journal is there leaves everything as it was, and Open takes away what was prepared. After it, Open
// returns the journal, to be finished. Nothing else may work in the directory before that: package crawldir refuses.
//
// # What the package never does
//
// It asks nobody anything, opens no frontier and takes no lock: its caller holds the directory. It overwrites no
// sector: docs/trust/opt-out.md says what a file system may keep.
package redact
