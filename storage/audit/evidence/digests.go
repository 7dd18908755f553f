package evidence

import (
	"crypto/sha256"
	"encoding/hex"

	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

type blockSum struct {
	there bool // the exchange has such a record
	known bool
	sum   [sha256.Size]byte
}

func (r *blockReader) digest() blockSum {
	s := blockSum{there: true}
	if b := &r.block; r.src.err == nil && b.on() && b.digest.Label == labelSHA256 {
		b.digest.Sum(s.sum[:0])
		s.known = true
	}
	return s
}

func (e *Exchange) bindBlocks() {
	if e.LeftOut != "" { // the blocks of the answer are bound as well
		return
	}
	var all [3 * sha256.Size]byte
	b := all[:0]
	for i := range e.sums {
		switch s := &e.sums[i]; {
		case s.there && !s.known:
			return
		case s.there:
			b = append(b, s.sum[:]...)
		}
	}
	sum := sha256.Sum256(b)
	e.Blocks = hex.EncodeToString(sum[:])
}

// labelSHA256 is how a digest field names the digest that this crawler writes (docs/reference/archives.md).
const labelSHA256 = "sha256"

func (rd *Reader) written(rec *warc.Record, at finding.Place) {
	if !rd.ours() {
		return
	}
	uri := rec.TargetURI()
	if b := &rd.block.block; !b.on() || b.digest.Label != labelSHA256 {
		rd.found(finding.Finding{Code: finding.Digest, Authority: AuthorityOf(uri), Place: at, URL: uri,
			Required: "a WARC-Block-Digest in SHA-256 (archive reference)",
			Observed: "WARC-Block-Digest: " + finding.Short(rec.Fields.Get("WARC-Block-Digest"))})
	}
}

// sums computes the digest that a field names. The zero value computes none.
type sums struct {
	field  string
	digest *warc.Digest // nil when there is nothing to compute, or the algorithm is unknown
}

func sumsOf(field string) sums { return sums{field, warc.ParseDigest(field)} }

func (s *sums) on() bool { return s.digest != nil }

// Write implements io.Writer. It never fails.
func (s *sums) Write(p []byte) (int, error) {
	if s.digest != nil {
		return s.digest.Write(p)
	}
	return len(p), nil
}

// digests compares the digests of the record just read with those in its head.
func (rd *Reader) digests(rec *warc.Record, at finding.Place, uri string) {
	r := &rd.block
	if r.src.err != nil {
		return // the record is torn, which another check reports
	}
	rd.written(rec, at)
	bad := func(name string, s *sums) {
		date, _ := rec.Date() // zero for none
		rd.found(finding.Finding{Code: finding.Digest, Authority: AuthorityOf(uri), Place: at, URL: uri, Time: date,
			Required: name + " of the record's bytes (WARC 1.1, 5.8 and 5.9): " + s.field,
			Observed: "the bytes in the file have " + s.digest.Label + " " + hex.EncodeToString(s.digest.Sum(nil))})
	}
	if r.block.on() {
		rd.sum.Digests++
		if !r.block.digest.Holds() {
			bad("WARC-Block-Digest", &r.block)
		}
	}
	if !r.body.on() {
		return
	}
	rd.sum.Digests++
	// Some tools digest the chunks as they crossed the connection: both readings of "entity-body" are accepted.
	if !r.body.digest.Holds() && !(r.raw.on() && r.raw.digest.Holds()) && rec.Fields.Get("WARC-Truncated") == "" {
		bad("WARC-Payload-Digest", &r.body)
	}
}
