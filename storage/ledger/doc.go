// Package ledger writes and reads the ledger of a crawl, a Merkle log with a line for each decision.
//
// # Files
//
// A ledger is a directory of segments, from 000000 on, each of newline-delimited JSON in UTF-8. A line is one JSON
// object; lines stand in the order of Append, and none is ever changed but to be forgotten. The last segment is
// NNNNNN.jsonl. A segment that is complete becomes NNNNNN.jsonl.zst (Zstandard, RFC 8878); while both are there, packing
// was broken off, and the plain one counts. NNNNNN.jsonl.zst.new is no segment yet. While the crawl runs, the last segment
// may end within a line: such a line is not there yet. Read passes over it, and Open cuts it off.
//
// Beside them stand checkpoints (package checkpoint), tiles (package tree) and hosts.jsonl (package hostmap). The lines
// and the checkpoints are the ledger: tiles and hosts follow from the lines, and are made anew where they are torn.
// docs/reference/ledger.md has the format, so exact that a stranger can write a reader.
//
// # Lines
//
// A decision is a storage.Line; storage's AppendSalted and ParseLine are the schema. It ends in the fields that lead to
// other sites, behind a salt: its public form has their digest, and its entry hash is of that form. A mark is a line that
// begins with {"mark":; type Mark has them all. A line that was forgotten is a Stub, which states its entry hash. Readers
// must expect further fields. Strings come from the web: what is no UTF-8 becomes U+FFFD, and what is not printable is
// escaped, so that a ledger can be shown in a terminal.
//
// # Writing
//
//	w, err := ledger.Open(ledger.Options{Dir: …, Signer: …, Warcinfo: …, SettingsSHA256: …, OptOutsSHA256: …})
//	w.Begin(ctx)                       // the mark of the run is durable, and there is a checkpoint
//	w.Append(ctx, line); w.Sync(ctx)   // storage.Ledger
//	w.File(ctx, name, octets, sha256)  // a file of archive or index is complete
//	w.OptOuts(ctx, sha256, entries)    // the lists have changed
//	w.Redact(ctx, redaction)           // lines, records or files were forgotten; needs no run
//	w.Commit(ctx)                      // waits for a checkpoint of all that was written before the call
//	w.Close()                          // the mark of the stop, and the last checkpoint
//
// Append encodes into a buffer; Sync writes it and makes it durable. A kill loses at most the lines since the last Sync, of
// which MaxUnsynced are of exchanges. The first failure of a write, a sync or a checkpoint poisons the Writer: it cannot
// know what reached the disk, so it refuses everything after. Without Begin the marks of segment and run come with the
// first line behind them: such a run leaves none without a line, unless it has to end one that was killed.
//
// # Checkpoints
//
// One goroutine makes them, and Close waits for it: at the begin of a run, for each complete segment, every ten minutes
// while lines come, when 65,536 hosts have changed, at Commit and at Close. Under the lock it takes the hashes and hosts of
// the lines since the last one, and later puts the mark of hosts; map, tiles, signature and files are made without it, so
// no line waits. Lines are durable before the checkpoint is written, and hosts.jsonl takes its place last. The memory
// that is kept is bounded by what a segment holds and by the hosts that changed since the last checkpoint: of the others
// hosts.jsonl is merged from disk.
//
// Open goes on from the latest checkpoint. It holds tiles and hosts against it, reads the lines behind it again, and makes
// anew from all lines what does not fit (Repairs). A checkpoint of more lines than there are is no kill; Open refuses, for
// going on would sign two histories under one name.
//
// # Reading
//
// Latest gives the latest checkpoint, also of a ledger that is being written. Read gives the decisions. Scan gives every
// line with its index, its entry hash and the root of the tree up to it (Entry.Root), and every problem with its name and
// place. It checks each stored checkpoint: that it is of these lines, of this log, and signed by the key of its run; each
// line against the tiles, which name the one that was changed; the counts of marks; that a mark names each stub; and the
// map of hosts. The map of the last mark is always made anew; that of an earlier one where this costs less than eight
// hosts for each line read so far, so that the time stays in proportion to the ledger. Skim is Scan without the map. A
// ledger may come from anybody: lines, what a packed segment unfolds to, notes, and what is said of a segment that cannot
// be read are bounded.
//
// # What the package never does
//
// It decides nothing, merges no lines, knows no frontier, rewrites no line, trusts no key, and keeps no lock against a
// second Writer in the same directory: that is its user's part.
package ledger
