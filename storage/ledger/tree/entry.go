package tree

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"

	"golang.org/x/mod/sumdb/tlog"
)

// The key before the withheld fields of a line, and that of their digest in its public form. Within a string of JSON the
// quotes would be escaped.
var (
	saltKey     = []byte(`,"salt":"`)
	withheldKey = []byte(`,"withheld":"`)
	lineEnd     = []byte(`"}`)
	leafPrefix  = []byte{0} // RFC 6962, 2.1
)

// Hasher hashes entries without allocating. It is not for concurrent use.
type Hasher struct {
	digest hash.Hash
	sum    tlog.Hash
	hex    [2 * sha256.Size]byte
}

// NewHasher returns a Hasher.
func NewHasher() *Hasher { return &Hasher{digest: sha256.New()} }

// Entry is the entry hash of a line without its newline.
func (h *Hasher) Entry(line []byte) tlog.Hash {
	public, withheld, cut := split(line)
	if cut {
		h.digest.Reset()
		h.digest.Write(withheld)
		h.digest.Sum(h.sum[:0])
		hex.Encode(h.hex[:], h.sum[:])
	}
	h.digest.Reset()
	h.digest.Write(leafPrefix)
	h.digest.Write(public)
	if cut {
		h.digest.Write(withheldKey)
		h.digest.Write(h.hex[:])
		h.digest.Write(lineEnd)
	}
	h.digest.Sum(h.sum[:0])
	return h.sum
}

// EntryHash is the entry hash of a line without its newline, in full or in its public form.
func EntryHash(line []byte) tlog.Hash { return NewHasher().Entry(line) }

// Public appends the public form of a line without its newline to b.
func Public(b, line []byte) []byte {
	public, withheld, cut := split(line)
	b = append(b, public...)
	if !cut {
		return b
	}
	sum := sha256.Sum256(withheld)
	b = hex.AppendEncode(append(b, withheldKey...), sum[:])
	return append(b, lineEnd...)
}

// split takes a line apart: what stands before its withheld fields, and these without the closing brace. A line without
// them is all public.
func split(line []byte) (public, withheld []byte, cut bool) {
	i := bytes.Index(line, saltKey)
	if i < 0 || line[len(line)-1] != '}' {
		return line, nil, false
	}
	return line[:i], line[i+1 : len(line)-1], true
}
