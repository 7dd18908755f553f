package tree

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"math/bits"
	"slices"

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

// Growing is a tree to which entries are added, of which it keeps the right edge alone: one hash for each bit of its
// size. The zero value is the empty tree.
type Growing struct {
	size int64
	edge []tlog.Hash // the roots of its perfect subtrees, the largest first
}

// Resume returns the tree of a size whose hashes r reads.
func Resume(r tlog.HashReader, size int64) (*Growing, error) {
	hashes, err := r.ReadHashes(edgeIndexes(0, size, nil))
	if err != nil {
		return nil, fmt.Errorf("tree: %w", err)
	}
	return &Growing{size, hashes}, nil
}

// edgeIndexes appends the storage indexes of the perfect subtrees of the entries from lo, which fits its subtrees, up to
// hi.
func edgeIndexes(lo, hi int64, to []int64) []int64 {
	for lo < hi {
		level := bits.Len64(uint64(hi-lo)) - 1
		to = append(to, tlog.StoredHashIndex(level, lo>>level))
		lo += 1 << level
	}
	return to
}

// Append adds an entry.
func (g *Growing) Append(h tlog.Hash) {
	for n := g.size; n&1 == 1; n >>= 1 {
		last := len(g.edge) - 1
		h = tlog.NodeHash(g.edge[last], h)
		g.edge = g.edge[:last]
	}
	g.edge = append(g.edge, h)
	g.size++
}

// Size is the number of entries.
func (g *Growing) Size() int64 { return g.size }

// Root is the root hash (RFC 6962, 2.1).
func (g *Growing) Root() tlog.Hash { return fold(g.edge) }

// fold is the root of a tree from its perfect subtrees.
func fold(edge []tlog.Hash) tlog.Hash {
	if len(edge) == 0 {
		return sha256.Sum256(nil)
	}
	h := edge[len(edge)-1]
	for i := len(edge) - 2; i >= 0; i-- {
		h = tlog.NodeHash(edge[i], h)
	}
	return h
}

// Clone returns a copy that grows apart.
func (g *Growing) Clone() *Growing { return &Growing{g.size, slices.Clone(g.edge)} }
