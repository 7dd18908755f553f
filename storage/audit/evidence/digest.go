package evidence

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/hex"
	"hash"
	"strings"

	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// sums computes the digest that a field names. Its hashes are used again.
type sums struct {
	label, value string
	h            hash.Hash // nil when there is nothing to compute, or the algorithm is unknown
	kept         map[string]hash.Hash
	n            int64
}

// want makes s compute what a digest field says: "algorithm:value" (WARC 1.1, 5.8).
func (s *sums) want(field string) {
	label, value, _ := strings.Cut(field, ":")
	s.label, s.value, s.h, s.n = strings.ToLower(label), value, nil, 0
	if s.label == "" {
		return
	}
	s.label = strings.Replace(s.label, "sha-", "sha", 1)
	if h, ok := s.kept[s.label]; ok {
		h.Reset()
		s.h = h
		return
	}
	if s.kept == nil {
		s.kept = map[string]hash.Hash{}
	}
	switch s.label {
	case "sha1":
		s.h = sha1.New()
	case "sha256":
		s.h = sha256.New()
	case "sha512":
		s.h = sha512.New()
	case "md5":
		s.h = md5.New()
	default:
		return
	}
	s.kept[s.label] = s.h
}

// like makes s compute what of computes, from the start.
func (s *sums) like(of *sums) { s.want(of.label + ":" + of.value) }

func (s *sums) on() bool { return s.h != nil }

func (s *sums) write(p []byte) {
	s.n += int64(len(p))
	if s.h != nil {
		s.h.Write(p) // never fails
	}
}

// Write makes s an io.Writer.
func (s *sums) Write(p []byte) (int, error) {
	s.write(p)
	return len(p), nil
}

// holds reports whether the bytes written have the digest that was wanted, in base16 or base32.
func (s *sums) holds() bool {
	var room [64]byte
	got := s.h.Sum(room[:0])
	if len(s.value) == hex.EncodedLen(len(got)) {
		if b, err := hex.DecodeString(s.value); err == nil {
			return bytes.Equal(b, got)
		}
	}
	b, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(strings.TrimRight(s.value,
		"=")))
	return err == nil && bytes.Equal(b, got)
}

// digests compares the digests of the record that was just read with what its head says.
func (rd *Reader) digests(rec *warc.Record, at finding.Place, uri string) {
	r := &rd.block
	if r.src.err != nil {
		return // the record is torn, which is said elsewhere
	}
	rd.written(rec, at)
	bad := func(name string, s *sums) {
		f := finding.Finding{Code: finding.Digest, Place: at, URL: uri,
			Required: name + " of the record's bytes (WARC 1.1, 5.8 and 5.9): " + s.label + ":" + s.value,
			Observed: "the bytes in the file have " + s.label + " " + hex.EncodeToString(s.h.Sum(nil))}
		f.Authority = AuthorityOf(uri)
		if d, err := rec.Date(); err == nil {
			f.Time = d
		}
		rd.found(f)
	}
	if r.block.on() {
		rd.sum.Digests++
		if !r.block.holds() {
			bad("WARC-Block-Digest", &r.block)
		}
	}
	if !r.body.on() {
		return
	}
	rd.sum.Digests++
	// Some tools digest the chunks as they crossed the connection: both readings of "entity-body" are accepted.
	if !r.body.holds() && !(r.raw.on() && r.raw.holds()) && rec.Fields.Get("WARC-Truncated") == "" {
		bad("WARC-Payload-Digest", &r.body)
	}
}
