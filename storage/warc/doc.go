// Package warc writes and reads web archives in WARC 1.1 (ISO 28500:2017), one gzip member per record.
//
// # Files
//
// An archive is a directory of segments. NAME-NNNNN.warc.gz is complete and never changes again: it can be copied,
// indexed or hashed while the crawl goes on. NAME-NNNNN.warc.gz.open is the one segment being written; it is renamed
// when it is full and when the Writer is closed. A process that was killed leaves it behind, and the next Open cuts
// what was torn, completes it, and begins the next segment. So an .open file is either being written or waiting for
// that; to read one all the same, copy it or pipe it (gzip -dc < FILE): all but its tail is whole.
//
// Each segment begins with a warcinfo record of its own, which every other record in it names, so that a segment
// can be understood alone.
//
// # Records
//
// An exchange is a request record, directly behind it a response or revisit record, and behind that a metadata record
// with the decision that the exchange belongs to and the links found. Request and answer name each other in
// WARC-Concurrent-To, metadata names the answer (or the request, if none came), and the first record names metadata as
// well, in a second WARC-Concurrent-To: so it is known from the first record on what belongs to the exchange. A block
// is the octets as they crossed the connection, transfer coding included. An exchange of which not even a request was
// sent (no address, no connection) leaves no record.
//
// A revisit record (6.7) stands for an answer whose payload an Originals knows: its block is the HTTP head. It also
// stands for a 304, whose block is what crossed the connection and which has no payload digest: that of nothing would
// be taken for that of the original. A record that is not storage.Record.Repeatable is always kept whole.
//
// Decisions without an exchange (refusals) are gathered and become metadata records without WARC-Target-URI, of
// application/warc-fields, with a field refusal for each: its value is a line as in the ledger.
//
// Fields are written as the standard and the notes in its annotated edition say
// (https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1-annotated/):
//
//   - WARC-Date is the time of the exchange, the same in both records, in UTC and always with six decimals.
//   - WARC-Target-URI carries no angle brackets, record ids do: <urn:uuid:…>, of random UUIDs.
//   - WARC-Block-Digest and WARC-Payload-Digest are "sha256:" and lower-case base16. SHA-1 in base32 is the older
//     custom, but SHA-1 can be forged and this archive is evidence. That label and that encoding are what the
//     annotated edition recommends (issues 48 and 80 there): base32 of a SHA-256 needs padding, which the grammar
//     forbids. warcio, warcio.js, jwarc and gowarc read them.
//   - WARC-Payload-Digest is that of the body without its transfer coding (5.9: the entity-body), as given by the
//     caller. Old tools that hash the chunked octets instead report a mismatch, though both are in the archive.
//   - WARC-Protocol stands once for each protocol, which is what its users settled on (issue 42 there).
//
// # Writing
//
// A record is hashed and compressed outside the lock, in memory up to 256 KiB and in a temporary file beside the
// segments (NAME.*.spool) beyond, so memory is bounded whatever the block's size. Only finished members are
// appended, both of an exchange at once. Nothing is durable before Sync. A segment is complete when another
// exchange would take it over SegmentSize; an exchange larger than that has a segment to itself. Refusals gathered so
// far go with it if they fit, and with the next if not.
//
// Each byte is hashed once for its record, and those of request and answer's head once more, for what binds them
// (storage.Line.Heads). The payload, which begins somewhere within a block, was hashed by the caller, and SHA-256 cannot
// begin in the middle of another. Where Options.Finished is told, what is compressed is hashed as well.
//
// An Index is told of each answer under the lock of the append, so in the order of the file. Options.Finished is told
// of each complete segment, with the SHA-256 of its octets, which was taken while they were appended.
//
// The first failure of an append or a sync poisons the Writer: it cannot know what reached the disk, so it refuses
// everything after, and leaves the segment to the next Open.
//
// # Cutting
//
// Open reads an .open segment member by member and keeps it up to the end of its last whole exchange: what its first
// record names and is not there was torn, and the rest goes with it. Archives of older versions, without metadata
// records, are mended by the same rule. A tail that merely ends early, as a kill leaves it, is dropped. A tail that
// is damaged in another way (a fault of the disk, a loss of power) may hold records behind the damage; it is kept as
// NAME-NNNNN.warc.gz.cut before it is cut off. An error of reading cuts nothing.
//
// # Reading
//
// A Reader is strict: it reads what this package writes and stops at anything else, since recovery must not guess. A
// Lenient reads any crawler's archive, names what is unusual as Findings and goes on behind what it cannot read. A
// Checker verifies on top of it digests and references between records. None holds a record, or more than its head, in
// memory.
//
// # What the package never does
//
// When writing it reads of HTTP only status and media type, and those for the Index alone. It changes no octet of a
// block, overwrites no complete segment, and keeps no lock against a second Writer in the same directory: that is its
// user's part.
package warc
