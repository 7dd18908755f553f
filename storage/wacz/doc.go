// Package wacz packs a crawl into one WACZ 1.1.1 file (https://specs.webrecorder.net/wacz/1.1.1/).
//
//	archive/*.warc.gz            the segments, stored without further compression: records can be read by offset
//	indexes/index.cdxj           the sorted index; or, from 2 MiB on,
//	indexes/index.cdx.gz, .idx   the same as ZipNum: gzip members of 1,024 lines each, and the start of each
//	pages/pages.jsonl            HTML pages with status 200: URL, time, title, size, seed or not
//	pages/extraPages.jsonl       those after the first 10,000, except seeds
//	ledger/*, report/*           files of the caller: the ledger, the report, the audit
//	datapackage.json             the manifest: size and SHA-256 of each of these
//	datapackage-digest.json      the manifest's SHA-256, and signatures of it
//
// Segments are read twice, since not every reader accepts a stored ZIP entry with its size and checksum after it. The first
// pass finds pages and records to leave out, and computes digests; the second copies, and fails if the digests differ.
// Memory depends only on the number of seeds and noarchive pages in the ledger.
//
// A crawl stores no body of a noarchive page unless its operator insists, and then only for the operator (politeness rule
// 19). Pack omits such responses and revisits with their lines in index and page list, but keeps request and metadata. The
// manifest names the segment, the number of records omitted, and the digest of the original segment.
//
// The same input, program and key give the same bytes: dates are the crawl's, the last of archive and ledger, and
// signatures are deterministic (RFC 6979, RFC 8032).
//
// Players verify the anonymous signature of https://specs.webrecorder.net/wacz-auth/: ECDSA over P-384 with SHA-256 of the
// manifest's hash as text, r followed by s. To keep a single secret, its key is derived from the seed of the ledger's
// Ed25519 key (HKDF-SHA-256). A signature by the ledger's key itself ties the file to the heads of that ledger. Both prove
// only that the file is as the key's owner packed it.
package wacz
