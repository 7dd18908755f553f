package warc

import (
	"bytes"
	"cmp"
	"crypto/md5"  //nolint:gosec // verifies other crawlers' digests
	"crypto/sha1" //nolint:gosec // as above
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/maphash"
	"io"
	"slices"
	"strings"
)

// Checker checks archives of any crawler: the findings of a Lenient reader, digests, and references between the records of
// all its files. It keeps 16 bytes of fingerprints a record, twice that for a response: about 50 with the map.
type Checker struct {
	seed   maphash.Seed
	ids    map[uint64]uint64 // fingerprints: of a record id, of its payload digest (0 for none)
	wanted map[uint64]want   // references to records not read so far
	many   bool              // there were more than maxWanted

	file  int
	found func(Finding)
	stats Checked
}

// want is a reference to a record not read so far.
type want struct {
	file    int
	offset  int64
	code    string
	payload uint64 // of the revisit that refers to it
}

// maxWanted bounds the open references kept in memory. An archive in order has few at any time.
const maxWanted = 1 << 20

type Checked struct {
	Records int64
	Blocks  int64 // block digests that hold
	Bodies  int64 // payload digests that hold
}

func NewChecker() *Checker {
	return &Checker{seed: maphash.MakeSeed(), ids: map[uint64]uint64{}, wanted: map[uint64]want{}}
}

// File checks the archive r from its beginning and calls found for each finding. It fails only if r does.
func (c *Checker) File(r io.Reader, found func(Finding)) (Checked, error) {
	c.found, c.stats = found, Checked{}
	defer func() { c.file++ }()
	l := NewLenient(r, found)
	for {
		rec, err := l.Next()
		if errors.Is(err, io.EOF) {
			if c.stats.Records == 0 {
				found(Finding{0, NoRecord, "no record in the file"})
			}
			return c.stats, nil
		}
		if err != nil {
			return c.stats, err
		}
		if c.stats.Records++; c.stats.Records == 1 && rec.Type != "warcinfo" {
			c.report(rec, NoWarcinfo, "the file begins with a %.40q record, not with warcinfo", rec.Type)
		}
		c.head(rec)
		c.digests(rec)
	}
}

// Finish calls found for each reference to a record that no file holds, with the number of the referring file, from 0.
func (c *Checker) Finish(found func(file int, f Finding)) {
	var left []want
	for _, w := range c.wanted {
		left = append(left, w)
	}
	slices.SortFunc(left, func(a, b want) int {
		return cmp.Or(a.file-b.file, cmp.Compare(a.offset, b.offset), strings.Compare(a.code, b.code))
	})
	for _, w := range left {
		found(w.file, Finding{w.offset, w.code, map[string]string{
			MissingWarcinfo:   "the warcinfo record that it names is missing",
			MissingConcurrent: "a record of the same request that it names is missing",
			MissingOriginal:   "the original of the revisit is not in the given files",
		}[w.code]})
	}
}

func (c *Checker) report(r *Record, code, format string, args ...any) {
	c.found(Finding{r.Offset, code, fmt.Sprintf(format, args...)})
}

func (c *Checker) print(s string) uint64 { return maphash.String(c.seed, s) | 1 }

func (c *Checker) head(r *Record) {
	if r.Type == "" {
		c.report(r, NoType, "no WARC-Type")
	}
	date, err := r.Date()
	if err != nil {
		c.report(r, BadDate, "no WARC-Date that can be read: %.60q", r.Fields.Get("WARC-Date"))
	}
	switch r.Type {
	case "request", "response", "revisit", "resource", "conversion", "continuation":
		if r.TargetURI() == "" {
			c.report(r, NoTarget, "a %s record without WARC-Target-URI", r.Type)
		}
	}
	var payload uint64
	if d := r.Fields.Get("WARC-Payload-Digest"); d != "" {
		payload = c.print(strings.ToLower(d))
	}
	if id := r.ID(); id == "" {
		c.report(r, NoID, "no WARC-Record-ID")
	} else if _, twice := c.ids[c.print(id)]; twice {
		c.report(r, SameID, "another record has the id %.80q", id)
	} else {
		c.add(r, c.print(id), payload)
	}
	if r.Type == "response" || r.Type == "resource" {
		c.add(r, c.print(r.TargetURI()+"\n"+date.Format(dateForm)), payload)
	}
	for _, v := range r.Fields.Values("WARC-Concurrent-To") {
		c.refer(r, bare(v), MissingConcurrent, 0)
	}
	c.refer(r, bare(r.Fields.Get("WARC-Warcinfo-ID")), MissingWarcinfo, 0)
	if r.Type == "revisit" {
		c.original(r, payload)
	}
}

func (c *Checker) add(r *Record, id, payload uint64) {
	c.ids[id] = payload
	w, ok := c.wanted[id]
	if delete(c.wanted, id); ok && w.payload != 0 && payload != 0 && w.payload != payload {
		c.report(r, OtherPayload, "the revisit at offset %d refers to this and names another payload digest", w.offset)
	}
}

func (c *Checker) original(r *Record, payload uint64) {
	if r.Fields.Get("WARC-Profile") == "" {
		c.report(r, NoProfile, "a revisit record without WARC-Profile")
	}
	if id := bare(r.Fields.Get("WARC-Refers-To")); id != "" {
		c.refer(r, id, MissingOriginal, payload)
		return
	}
	uri, date := bare(r.Fields.Get("WARC-Refers-To-Target-URI")), r.Fields.Get("WARC-Refers-To-Date")
	if t, err := parseDate(date); uri != "" && err == nil {
		c.refer(r, uri+"\n"+t.Format(dateForm), MissingOriginal, payload)
	}
}

func (c *Checker) refer(r *Record, id, code string, payload uint64) {
	if id == "" {
		return
	}
	fp := c.print(id)
	if have, found := c.ids[fp]; found {
		if payload != 0 && have != 0 && payload != have {
			c.report(r, OtherPayload, "the original of the revisit has another payload digest")
		}
		return
	}
	if _, ok := c.wanted[fp]; ok {
		return
	}
	if len(c.wanted) < maxWanted {
		c.wanted[fp] = want{c.file, r.Offset, code, payload}
	} else if !c.many {
		c.many = true
		c.report(r, ManyReferences,
			"more than %d open references to records: further ones are not checked", maxWanted)
	}
}

// digests reads the block of r and verifies its digests. The reader has reported a block that ends early.
func (c *Checker) digests(r *Record) {
	block := c.digest(r, "WARC-Block-Digest")
	src := r.Block
	if block != nil {
		src = io.TeeReader(src, block)
	}
	var payload *Digest
	// A revisit's digest is of another record's payload; a truncated or segmented record lacks a part of its payload.
	if r.Type != "revisit" && r.Fields.Get("WARC-Truncated") == "" && r.Fields.Get("WARC-Segment-Number") == "" {
		payload = c.digest(r, "WARC-Payload-Digest")
	}
	good := true
	if payload != nil {
		good = c.payload(r, src, payload)
	}
	if _, err := io.Copy(io.Discard, src); err != nil || !good || block == nil {
		return
	}
	if !block.Holds() {
		c.report(r, BlockDigest, "the block of %.200q does not match WARC-Block-Digest", r.TargetURI())
		return
	}
	c.stats.Blocks++
}

// digest parses a digest field of r; nil if it cannot be verified.
func (c *Checker) digest(r *Record, field string) *Digest {
	v := r.Fields.Get(field)
	if v == "" {
		return nil
	}
	d := ParseDigest(v)
	if d == nil || d.want == nil {
		c.report(r, UnknownDigest, "%s: %.80q is not verified: its form is not known", field, v)
		return nil
	}
	return d
}

// payload verifies the payload digest and reports whether src could be read.
func (c *Checker) payload(r *Record, src io.Reader, declared *Digest) bool {
	coded := ParseDigest(r.Fields.Get("WARC-Payload-Digest")) // of the body with its transfer coding
	if !strings.HasPrefix(strings.ToLower(r.Fields.Get("Content-Type")), "application/http") {
		if _, err := io.Copy(declared, src); err != nil {
			return false
		}
		coded = declared
	} else {
		h, err := ReadHTTP(src)
		if err != nil {
			return false
		}
		h.src.w = coded
		_, _ = io.Copy(declared, h.Payload) // an invalid transfer coding gives another digest
		if _, err := io.Copy(io.Discard, &h.src); err != nil {
			return false
		}
	}
	switch {
	case declared.Holds():
		c.stats.Bodies++
	case coded.Holds():
		c.stats.Bodies++
		c.report(r, CodedDigest, "WARC-Payload-Digest is of the body with its transfer coding")
	default:
		c.report(r, PayloadDigest, "the payload of %.200q does not match WARC-Payload-Digest", r.TargetURI())
	}
	return true
}

// Digest is the value of a digest field (WARC 1.1, 5.8), and a hash to compare with it.
type Digest struct {
	hash.Hash
	Label string // of the algorithm, in lower case and without a hyphen

	want []byte // nil for a value that no digest of the algorithm has
}

// ParseDigest parses a digest field, "algorithm:digest" in base16 or base32. It returns nil for an unknown algorithm.
func ParseDigest(field string) *Digest {
	label, text, _ := strings.Cut(field, ":")
	d := &Digest{Label: strings.Replace(strings.ToLower(label), "sha-", "sha", 1)}
	switch d.Label {
	case "sha256":
		d.Hash = sha256.New()
	case "sha1":
		d.Hash = sha1.New() //nolint:gosec // as above
	case "md5":
		d.Hash = md5.New() //nolint:gosec // as above
	case "sha512":
		d.Hash = sha512.New()
	default:
		return nil
	}
	want, err := hex.DecodeString(text)
	if err != nil || len(want) != d.Size() {
		text = strings.TrimRight(strings.ToUpper(text), "=")
		want, err = base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(text)
	}
	if err == nil && len(want) == d.Size() {
		d.want = want
	}
	return d
}

// Holds reports whether the bytes written to d have the digest of the field.
func (d *Digest) Holds() bool { return bytes.Equal(d.Sum(nil), d.want) }
