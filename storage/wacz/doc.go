// Package wacz packs a crawl into one WACZ 1.1.1 file (https://specs.webrecorder.net/wacz/1.1.1/).
//
// # What is in it
//
//	archive/*.warc.gz            the segments as they are, stored without a second compression, so that one record can be
//	                             read by its offset
//	indexes/index.cdxj           the index, one sorted file; or, from 2 MiB on,
//	indexes/index.cdx.gz, .idx   the same as ZipNum: gzip members of 1,024 lines each, and where each begins
//	pages/pages.jsonl            HTML pages that were answered with 200: URL, time, title, size, seed or not
//	pages/extraPages.jsonl       those beyond the first 10,000; seeds are in the first file always
//	ledger/*, report/*           what the caller gives: the ledger of decisions, the report, the audit
//	datapackage.json             the manifest: size and SHA-256 of each of these
//	datapackage-digest.json      the manifest's SHA-256, and signatures of it
//
// # Two passes
//
// A ZIP entry has its size and checksum in front of it unless they are put behind, and not every reader takes a stored
// entry of that kind. So segments are read twice. The first pass reads their records: it finds pages and what must stay
// out, and computes digests. The second copies bytes, and fails if they are not those of the first. Memory does not
// depend on the archive's size, but for the ids of seeds, and of pages that ask not to be archived, that the ledger
// names. Lists and indexes are gathered in temporary files.
//
// # Pages that ask not to be archived
//
// A crawl keeps no body of a page that says noarchive, unless its operator insists; then the bodies are for the
// operator alone (politeness rule 19). Pack leaves such records out: the exchange's request and metadata stay, the
// response or revisit goes, with its line of the index and of the list of pages. The manifest says which segment that
// happened to, how many records it lost, and the digest of the segment as it was. The noarchive is said by the metadata
// record of the exchange, or the ledger's line that names the record.
//
// # The same crawl gives the same file
//
// All dates are the crawl's, the last one of archive and ledger; signatures are deterministic (RFC 6979, RFC 8032). So
// the same input, packed by the same program with the same key, gives the same bytes.
//
// # Signatures
//
// Players verify the anonymous signature of https://specs.webrecorder.net/wacz-auth/: ECDSA over P-384 with SHA-256, of
// the manifest's hash as text, r and s one behind the other. The ledger's key is an Ed25519 key; the P-384 key is
// derived from its seed (HKDF-SHA-256), so that there is one secret to keep. Beside it stands a signature by the
// ledger's key itself, which ties the file to the heads of that ledger. Either proves that the file is as the owner of
// the key packed it, and no more.
//
// # What the package never does
//
// It changes no record, follows no link out of the folders it is given, and overwrites no file.
package wacz
