// Package cdxj indexes a web archive by URL and by payload.
//
// # Files
//
// The directory index of a crawl has NAME-NNNNN.cdxj for each complete segment NAME-NNNNN.warc.gz, a line for each
// capture, sorted as bytes, and NAME-NNNNN.cdxj.open with the lines of the open segment in its order. Lines are those of
// warcio's cdx-index: a key (see Key), 14 digits of time, and an object with url, mime, status, digest, length, offset and
// filename.
//
// # Invariants
//
//   - A .cdxj file appears whole and durable and depends only on its segment: a rebuild gives the same bytes.
//   - The archive has each record before the .open file has its line. After a kill the archive may hold more or less, so
//     Mended rewrites that file from the segment.
//   - A revisit refers only to an original whose record is in the archive and sound: the record is read each time, and
//     the whole digest compared.
//
// # Memory
//
// A payload takes about 12 bytes (table). Sorting takes 8 MiB and temporary files.
package cdxj
