// Package ledger writes and reads the ledger of a crawl: one line for every decision on a URL, refusals included,
// chained so that an edit shows.
//
// # Files
//
// A ledger is a directory of segments, from 000000 on, each of newline-delimited JSON in UTF-8. A line is one JSON
// object; lines stand in the order of Append, and none is ever changed. The last segment is NNNNNN.jsonl. A segment
// that is complete becomes NNNNNN.jsonl.zst (Zstandard, RFC 8878); while both are there, packing was broken off, and
// the plain one counts. NNNNNN.jsonl.zst.new is no segment yet. While the crawl runs, the last segment may end within
// a line: such a line is not there yet. Read passes over it, and Open cuts it off.
//
// # Decisions
//
// docs/ledger.md lists the fields of a decision and what they mean; storage.Line is their form in memory, and
// storage's AppendJSON and ParseLine are the schema. Readers must expect further fields. Durations are cut to the
// microsecond, never rounded up: no gap is overstated. Strings come from the web: what is no UTF-8 becomes U+FFFD,
// and what is not printable is escaped, so that a ledger can be shown in a terminal.
//
// # The chain, schema 2
//
// Every line ends in its chain part, ,"chain":"DIGITS" before the closing brace, and behind that, in a signed head,
// ,"sig":"DIGITS". The running hash is 32 zero bytes before the first line, and with each line
//
//	h = SHA-256(h, the bytes of the line without chain part and newline)
//
// A decision states the first 16 digits of h with it: enough to name the line that was edited. A mark, which is a line
// that begins with {"mark":, states all 64, so that the chain can be taken up again behind a break. The marks:
//
//   - begin is the first line of a segment: schema, the segment's number, how many decisions come before it, and the
//     running hash before it, so that a segment can be checked alone and the last one is enough to go on from.
//   - run begins a run of the crawl; cut is how many bytes of a torn line the Open before it cut off, and
//     warcinfo_sha256 binds what the archive says of this run.
//   - head, of why "segment" at the end of a complete segment and of why "end" where a run ended in good order: how
//     many decisions come before it and, with a key, the public key (Ed25519, RFC 8032) and the signature of the words
//     "curtsy ledger head", a newline and the 64 digits of the head's chain.
//
// So a run that was killed is one without a head of why "end", and everything up to a head whose hash was lodged
// elsewhere is what it was then. A signature alone proves that a holder of the key wrote it, at any time: whoever has
// the key can write a ledger anew. And cutting off all that came after an earlier end leaves a shorter ledger that is
// intact: only a head that was lodged tells.
//
// A ledger of schema 1 has neither marks nor chain. It is read; a run goes on with it in a new segment, where its
// chain begins.
//
// # Writing
//
// Begin makes the mark of a run durable before its first exchange. Append encodes into a buffer; Sync writes it and
// makes it durable. A kill loses at most the lines since the last Sync, of which MaxUnsynced are of exchanges. The
// first failure of a write or a sync poisons the Writer: it cannot know what reached the disk, so it refuses everything
// after. Without Begin the marks of segment and run come with the first line behind them: such a run leaves none
// without a line, unless it has to end one that was killed. A goroutine packs complete segments while lines are
// appended, and Close waits for it. Broken off anywhere it leaves one whole reading; the next Open does it again.
//
// # Reading
//
// Read gives the decisions, Scan everything with its place and every problem with its name, Head the last line to
// lodge. A ledger may come from anybody: lines, what a packed segment unfolds to, and what is said of a segment that
// cannot be read are bounded.
//
// # What the package never does
//
// It decides nothing, merges no lines, knows no frontier, and keeps no lock against a second Writer in the same
// directory: that is its user's part.
package ledger
