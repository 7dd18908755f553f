// Package layout encodes the content of a frontier file: buckets, keys, values and checksums. It has no state but what
// one call needs: the engine keeps the frontier in RAM and says when to write.
//
// A journal is a bucket with the keys 1, 2, 3, … and values of about 2,000 bytes, each with a CRC-32C behind it. The
// checksum is begun with the names of the journal and of the key: so a value tells where it belongs, and is found in a
// file of which neither branches nor meta pages are left; see Recognise.
//
//	meta      format number, secret of the fingerprints, number of openings, mark of a clean stop, Totals; the stamp and
//	          the time of the last writing, see Stamp and Clock
//	seen      journal: fingerprints of all URLs ever accepted or refused, 250 to a value
//	records   journal: texts of accepted URLs; a value is a Record of up to 128 of them
//	done      journal: endings of URLs, 8 bytes each: outcome and reason, and the reference of the URL; the last one of
//	          a URL counts, and an ending of zero opens it again
//	folded    journal: the endings of whole records, folded out of done from time to time: see Endings
//	cells     journal: states of hosts and of deferred tasks, as a whole each time; the last one counts: see StateRecord
//	seeds     journal: the seeds and the extensions of scope
//	flight    the references of the tasks that the leases of the last commit may be at: see InFlight
//	blobs     SHA-256 and number of the piece → piece of a body
//
// A reference is (record, place): 52 bits; see Ref. A record of which compact has dropped the block keeps the
// references of all others what they are, and nobody who looks for texts may expect one there.
//
// The format number is 2; a file of another format is refused. An encoding is never changed under that number.
package layout
