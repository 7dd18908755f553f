// Package coding decodes content codings (RFC 9110 8.4). Crawler, mirror, audit, WACZ and commands read bodies through
// it, so that what one of them can read, all can, and to the same octets.
//
// # What counts as a coding
//
//   - gzip (x-gzip), deflate, br and zstd are undone, up to four in a row, whether they were offered or not.
//   - Other names of compressors that there are (Of has the list) stay: who reads such a body is told.
//   - Anything else is no coding: "utf-8", "none", "binary", "8bit", "text/html", "aws-chunked". The body is as it was
//     sent, as browsers have it.
//   - So is a body that does not begin as its coding does: gzip and zstd have a sign of their own, and what begins as a
//     page is neither br nor deflate. Many servers and archives name a coding that they did not apply, or undid.
//
// # What a body may be
//
// No octets are an empty body, whatever the coding. gzip may have several members, and octets behind them that begin
// none, as gzip(1) takes it. deflate is the zlib format, or the bare stream that some servers send (RFC 9110 8.4.1.2).
//
// # Bounds
//
// A window of 16 MiB for br, whose large windows are refused, of 8 MiB for zstd (RFC 9659), of 32 KiB for the others;
// 128 MiB between two codings, so that no small body costs hours. How much comes out is the caller's to bound: readers
// give what they have as it comes. Window says how much a body's decoders may keep: who has many bodies at once sums it
// up.
package coding
