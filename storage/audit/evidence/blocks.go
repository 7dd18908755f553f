package evidence

import (
	"crypto/sha256"
	"encoding/hex"

	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// ProfileIdentical is the WARC-Profile of a revisit that holds the head alone: the payload is elsewhere (WARC 1.1,
// 6.7.2).
const ProfileIdentical = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"

// blockSum is the SHA-256 of a record's block.
type blockSum struct {
	there bool // the exchange has such a record
	known bool
	sum   [sha256.Size]byte
}

// digest returns that of the record that was just read.
func (r *blockReader) digest() blockSum {
	s := blockSum{there: true}
	if b := &r.block; r.src.err == nil && b.on() && b.label == labelSHA256 {
		b.h.Sum(s.sum[:0])
		s.known = true
	}
	return s
}

// Blocks binds the blocks of an exchange's records, as storage.Line.Blocks does; "" when one of them is not known.
func (h *Joined) Blocks() string {
	var all [3 * sha256.Size]byte
	b := all[:0]
	for i := range h.sums {
		switch s := &h.sums[i]; {
		case s.there && !s.known:
			return ""
		case s.there:
			b = append(b, s.sum[:]...)
		}
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// labelSHA256 is how a digest field names the digest that this crawler writes (docs/reference/archives.md).
const labelSHA256 = "sha256"

// written checks the fields that each record of ours has.
func (rd *Reader) written(rec *warc.Record, at finding.Place) {
	if !rd.ours() {
		return
	}
	uri := rec.TargetURI()
	if label := rd.block.block.label; label != labelSHA256 {
		rd.found(finding.Finding{Code: finding.Digest, Authority: AuthorityOf(uri), Place: at, URL: uri,
			Required: "a WARC-Block-Digest in SHA-256 (docs/reference/archives.md)",
			Observed: "WARC-Block-Digest: " + finding.Short(rec.Fields.Get("WARC-Block-Digest"))})
	}
}
