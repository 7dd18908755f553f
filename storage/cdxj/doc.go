// Package cdxj indexes a web archive by URL and by payload.
//
// # Files
//
// In a crawl directory, beside the archive in warc, the folder index has
//
//   - NAME-NNNNN.cdxj for each complete segment NAME-NNNNN.warc.gz: a line for each capture, sorted as bytes;
//   - NAME-NNNNN.cdxj.open for the segment being written: the same lines in the order of the segment.
//
// A line is what warcio's cdx-index writes: a key (see Key), 14 digits of time, and an object with url, mime, status,
// digest, length, offset and filename.
//
// # Invariants
//
//   - A .cdxj file appears whole and durable, and depends on its segment alone: built while crawling and rebuilt from
//     the archive it is the same, byte for byte.
//   - What is in an .open file was appended to the archive before; after a kill the archive may hold more or less. So
//     the lines of a segment that was left open are made anew from the segment (Mended), not mended themselves.
//   - An original is referred to only while its record is in the archive and sound: the record is read each time.
//
// # Memory
//
// A payload takes about 12 bytes of memory (table), whatever its URL: the table gives the place of a
// record, or of a line in an index of an earlier crawl, and the whole digest is compared there. Sorting takes 8 MiB and temporary files.
//
// # What the package never does
//
// It changes nothing in the archive, needs no index to be correct for the archive to be read, and never takes two
// payloads for one because a part of their digests is equal.
package cdxj
