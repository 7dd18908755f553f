// Package warc writes and reads web archives in WARC 1.1 (ISO 28500:2017), one gzip member per record.
//
// # Files
//
// An archive is a directory of segments. NAME-NNNNN.warc.gz is complete and never changes. NAME-NNNNN.warc.gz.open is
// the segment being written; the Writer renames it when it is full or closed. After a kill the next Open cuts its torn
// end and completes it. Each segment begins with a warcinfo record that every other record in it names.
//
// # Records
//
// An exchange is a request record, a response or revisit record, and a metadata record with the decision and the links
// found. Request and response name each other in WARC-Concurrent-To, metadata names the response (or the request without
// one), and the first record names metadata as well, so that it tells which records belong to the exchange. A block holds
// the bytes as transferred, transfer coding included. An exchange without a request (no address, no connection) leaves no
// record.
//
// A revisit record (6.7) replaces a response whose payload an Originals knows, with the HTTP head as its block, and a 304.
// A 304 has no payload digest, since readers would take that of nothing for the original's. A record that is not
// storage.Record.Repeatable is always stored whole.
//
// Decisions without an exchange (refusals) are batched in metadata records without WARC-Target-URI, of
// application/warc-fields, one field "refusal" for each with its ledger line as value.
//
// Fields follow the standard and its annotated edition
// (https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1-annotated/):
//
//   - WARC-Date is the time of the exchange, the same in both records, in UTC with six decimals.
//   - WARC-Target-URI has no angle brackets, record ids do: <urn:uuid:…>, of random UUIDs.
//   - WARC-Block-Digest and WARC-Payload-Digest are "sha256:" and lower-case base16, as issues 48 and 80 there recommend:
//     SHA-1 can be forged, and base32 of a SHA-256 needs padding, which the grammar forbids.
//   - WARC-Payload-Digest covers the body without its transfer coding (5.9). Old tools that hash the chunked bytes report
//     a mismatch.
//   - WARC-Protocol occurs once for each protocol (issue 42 there).
//
// # Writing
//
// The Writer hashes and compresses a record outside the lock, in memory up to 256 KiB and in a temporary file beyond
// (NAME.*.spool), and appends only finished members, all of an exchange at once. Nothing is durable before Sync. An
// exchange larger than SegmentSize gets a segment for itself. The first failure of an append or a sync poisons the
// Writer: since the state of the disk is unknown, it refuses everything after.
//
// # Recovery
//
// Open keeps an .open segment up to the end of its last whole exchange. It drops a tail that merely ends early. A tail
// with other damage (disk fault, power loss) may hold records, so Open first saves it as NAME-NNNNN.warc.gz.cut. A read
// error cuts nothing.
//
// # Reading
//
// A Reader is strict: it reads segments of this package and stops at anything else. A Lenient reads any crawler's archive
// and reports oddities as Findings. A Checker also verifies digests and references between records. None holds more
// than a record's head in memory.
//
// The package changes no byte of a block, overwrites no complete segment, and takes no lock against a second Writer in the
// same directory: that is its user's part.
package warc
