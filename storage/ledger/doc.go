// Package ledger writes and reads the ledger of a crawl, a Merkle log with a line for each decision.
//
// # Files
//
// A ledger is a directory of segments, from 000000 on, of newline-delimited JSON in UTF-8, in the order of Append. Lines
// change only by redaction. The last segment is NNNNNN.jsonl; a complete one becomes NNNNNN.jsonl.zst (Zstandard, RFC 8878).
// Interrupted packing leaves both, and the plain one counts; NNNNNN.jsonl.zst.new is not a segment yet. While the crawl
// runs, the last segment may end within a line: Read skips that, and Open cuts it off.
//
// Checkpoints (package checkpoint), tiles (package tree) and hosts.jsonl (package hostmap) are in the same directory. Tiles
// and hosts follow from the lines, and are rebuilt if damaged. docs/reference/ledger.md specifies the format.
//
// # Lines
//
// A decision is a storage.Line, by storage's AppendSalted and ParseLine. It ends in the fields that name other sites,
// after a salt: its public form has their digest, and its entry hash is of that form. A mark is a line that begins with
// {"mark":, of type Mark. A redacted line is a Stub with its entry hash. Readers must ignore further fields. Strings
// come from the web: invalid UTF-8 becomes U+FFFD, and unprintable characters are escaped for terminals.
//
// # Writing
//
//	w, err := ledger.Open(ledger.Options{Dir: …, Signer: …, Warcinfo: …, SettingsSHA256: …, OptOutsSHA256: …})
//	w.Begin(ctx)                       // the mark of the run is durable, and there is a checkpoint
//	w.Append(ctx, line); w.Sync(ctx)   // storage.Ledger
//	w.File(ctx, name, octets, sha256)  // a file of archive or index is complete
//	w.OptOuts(ctx, sha256, entries)    // the lists have changed
//	w.Redact(ctx, redaction)           // lines, records or files were redacted; needs no run
//	w.Commit(ctx)                      // waits for a checkpoint of all that was written before the call
//	w.Close()                          // the mark of the stop, and the last checkpoint
//
// Append encodes into a buffer; Sync writes it and makes it durable. A kill loses at most the lines since the last Sync, of
// which MaxUnsynced are of exchanges. The first failed write, sync or checkpoint poisons the Writer: it cannot know the
// state of the disk, so it refuses all calls after. Without Begin the marks of segment and run come with the first line:
// such a run leaves none without a line, unless it has to end one that was killed.
//
// # Checkpoints
//
// One goroutine makes them, and Close waits for it: at the begin of a run, for each complete segment, every ten minutes
// while lines come, when 65,536 hosts have changed, at Commit and at Close. It holds the lock only to take the new hashes and
// hosts and to add the mark of hosts, so no line waits for map, tiles, signature and files. Lines are durable before the
// checkpoint is written, and hosts.jsonl is replaced last. Memory is bounded by a segment and by the hosts that changed
// since the last checkpoint: hosts.jsonl is merged from disk.
//
// Open continues from the latest checkpoint: it checks tiles and hosts, reads the lines after it again, and rebuilds from
// all lines what differs (Repairs). It refuses a checkpoint of more lines than there are, which no kill leaves: continuing
// would sign two histories under one name.
//
// # Reading
//
// Latest returns the latest checkpoint, also while the crawl runs, Read the decisions. Scan yields every line with index,
// entry hash and tree root (Entry.Root), and every problem with name and place. It checks that each stored checkpoint is of
// these lines and this log, and signed by the key of its run; lines against the tiles, which identify a changed one; the
// counts of marks; that a mark names each stub; and the map of hosts of the last mark. It rebuilds an earlier map only if
// that costs less than eight hosts for each line read so far, so that time is proportional to the ledger. Skim is Scan
// without the map. A ledger may come from anybody: lines, decompressed segments, notes and error texts are bounded.
//
// The caller must exclude a second Writer in the same directory.
package ledger
