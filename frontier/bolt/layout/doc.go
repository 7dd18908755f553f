// Package layout encodes the content of a frontier file: buckets, keys, values and checksums. It has no state beyond
// one call.
//
// A journal is a bucket with the keys 1, 2, 3, … and values of about 2,000 bytes, each followed by a CRC-32C. The
// checksum also covers the names of the journal and of the key: so a value proves its place even in a file that has
// lost branches and meta pages; see Recognise.
//
//	meta      format number, secret of the fingerprints, number of openings, mark of a clean stop, Totals; the stamp and
//	          the time of the last writing, see Stamp and Clock
//	seen      journal: fingerprints of all URLs ever accepted or refused, 250 to a value
//	records   journal: texts of accepted URLs; a value is a Record of up to 128 of them
//	done      journal: endings of URLs, 8 bytes each: outcome, reason and reference; the last one of a URL counts, and
//	          an ending of zero opens it again
//	folded    journal: the endings of whole records, folded out of done from time to time: see Endings
//	cells     journal: states of hosts and of deferred tasks; the last one of an address counts: see StateRecord
//	seeds     journal: the seeds and the extensions of scope
//	flight    references of the tasks that may be in flight at the last commit: see InFlight
//	blobs     SHA-256 and number of the piece → piece of a body
//
// A reference is (record, place): 52 bits; see Ref. A record whose block compact has dropped keeps the references of
// all others valid.
//
// The format number is 2; a file of another format is refused. An encoding is never changed under that number.
package layout
