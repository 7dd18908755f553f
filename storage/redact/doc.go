// Package redact removes a URL or host from a crawl directory, and records the removal.
//
// # Extents
//
// Bodies: the block of each response record of the subject ends after its HTTP head (warc.Rewrite). Request, head, decision
// and revisit records stay. Exchanges for robots.txt and proofs of ownership stay, for they bound the crawl.
//
// All: the records of its exchanges and the lines of refusals leave the archive, and its lines the ledger, where stubs
// keep their entry hashes. robots.txt goes only with all of its host, and with it the targets of its redirects: without
// it an audit could not judge the rest. A host without lines loses its name in the map of hosts. Other pages keep their
// bodies, links and discovery paths.
//
// WARC files and their indexes are rewritten record by record; other records stay byte for byte. Later responses do not
// become revisits of a removed one: the new index lacks it.
//
// # Steps
//
// Prepare writes the new files into forget.new and changes nothing else. Then it writes the journal (forget.journal)
// durably: from here on there is no way back. Finish does these steps, each of which can be repeated:
//
//  1. The caller extends the opt-out list, and has the frontier keep the delays that only the ledger knows.
//  2. The ledger gets its redaction mark and a checkpoint after it.
//  3. Each new file replaces the old one.
//  4. The ledger's lines and its map of hosts are rewritten.
//  5. Possible copies are removed: torn tails put aside, spools, reports.
//  6. The caller rebuilds mirror, report and packed files.
//  7. The journal is removed.
//
// After a kill before the journal, Open removes forget.new. After a later one, Open returns the journal; until Finish,
// package crawldir refuses other work in the directory.
//
// The package makes no requests, opens no frontier and takes no lock: its caller holds the directory. It overwrites no
// sectors: docs/trust/opt-out.md describes the traces that a file system may keep.
package redact
