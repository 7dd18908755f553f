package tree

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// Keys of the withheld fields of a line, and of their digest in its public form. Within a JSON string the quotes are escaped.
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

func NewHasher() *Hasher { return &Hasher{digest: sha256.New()} }

// Entry returns the entry hash of a line without its newline.
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

// EntryHash returns the entry hash of a line without its newline, full or public.
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

// split splits a line into the part before its withheld fields, and these without the closing brace.
func split(line []byte) (public, withheld []byte, cut bool) {
	i := bytes.Index(line, saltKey)
	if i < 0 || line[len(line)-1] != '}' {
		return line, nil, false
	}
	return line[:i], line[i+1 : len(line)-1], true
}

// Growing is a tree that grows. It keeps only its right edge: one hash for each bit of its size. The zero value is empty.
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

// edgeIndexes appends the storage indexes of the perfect subtrees of the entries [lo, hi); lo must fit them.
func edgeIndexes(lo, hi int64, to []int64) []int64 {
	for lo < hi {
		level := bits.Len64(uint64(hi-lo)) - 1
		to = append(to, tlog.StoredHashIndex(level, lo>>level))
		lo += 1 << level
	}
	return to
}

func (g *Growing) Append(h tlog.Hash) {
	for n := g.size; n&1 == 1; n >>= 1 {
		last := len(g.edge) - 1
		h = tlog.NodeHash(g.edge[last], h)
		g.edge = g.edge[:last]
	}
	g.edge = append(g.edge, h)
	g.size++
}

func (g *Growing) Size() int64 { return g.size }

// Root is the root hash (RFC 6962, 2.1).
func (g *Growing) Root() tlog.Hash { return fold(g.edge) }

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

// Clone returns an independent copy.
func (g *Growing) Clone() *Growing { return &Growing{g.size, slices.Clone(g.edge)} }

const batch = 1024 // hashes read at once

// ErrProof reports a proof that does not lead to the root.
var ErrProof = errors.New("the proof does not lead to the root of the tree")

// Proof proves many entries of a tree: the hashes of the largest subtrees with none of them, from left to right. A right edge
// with none is one hash, though not perfect.
type Proof []tlog.Hash

// ProveMany proves the entries with the given indexes, which ascend, in the tree of a size whose hashes r reads.
func ProveMany(r tlog.HashReader, size int64, indexes []int64) (Proof, error) {
	if err := ascending(indexes, size); err != nil {
		return nil, fmt.Errorf("tree: prove: %w", err)
	}
	var need []int64 // storage indexes, and
	var parts []int  // of how many of them each hash of the proof is made
	walk(0, size, indexes, func(lo, hi int64) {
		n := len(need)
		need = edgeIndexes(lo, hi, need)
		parts = append(parts, len(need)-n)
	})
	hashes := make([]tlog.Hash, 0, len(need))
	for some := range slices.Chunk(need, batch) {
		got, err := r.ReadHashes(some)
		if err != nil {
			return nil, fmt.Errorf("tree: prove: %w", err)
		}
		hashes = append(hashes, got...)
	}
	p := make(Proof, 0, len(parts))
	for _, n := range parts {
		p = append(p, fold(hashes[:n]))
		hashes = hashes[n:]
	}
	return p, nil
}

// walk calls bare for each of the largest subtrees of the entries [lo, hi) that hold none of indexes, from left to right.
func walk(lo, hi int64, indexes []int64, bare func(lo, hi int64)) {
	switch {
	case lo >= hi:
	case len(indexes) == 0:
		bare(lo, hi)
	case hi-lo > 1:
		mid := lo + half(hi-lo)
		i, _ := slices.BinarySearch(indexes, mid)
		walk(lo, mid, indexes[:i], bare)
		walk(mid, hi, indexes[i:], bare)
	}
}

// half is the largest power of two below n, which is at least 2 (RFC 6962, 2.1).
func half(n int64) int64 { return 1 << (bits.Len64(uint64(n-1)) - 1) }

func ascending(indexes []int64, size int64) error {
	before := int64(-1)
	for _, i := range indexes {
		if i <= before || i >= size {
			return fmt.Errorf("index %d behind %d: the indexes of entries ascend, and the tree has %d", i, before, size)
		}
		before = i
	}
	return nil
}

// CheckMany checks that the entries with the given ascending indexes have the given hashes in the tree of that size and root.
// Its time depends on entries and levels, not on the stated size.
func CheckMany(p Proof, size int64, root tlog.Hash, indexes []int64, hashes []tlog.Hash) error {
	if err := ascending(indexes, size); err != nil {
		return fmt.Errorf("tree: check: %w", err)
	}
	if len(indexes) != len(hashes) {
		return fmt.Errorf("tree: check: %d hashes for %d entries", len(hashes), len(indexes))
	}
	if size == 0 {
		if len(p) > 0 || root != fold(nil) {
			return fmt.Errorf("tree: check: %w", ErrProof)
		}
		return nil
	}
	c := checker{proof: p}
	if got := c.root(0, size, indexes, hashes); c.short || len(c.proof) > 0 || got != root {
		return fmt.Errorf("tree: check: %w", ErrProof)
	}
	return nil
}

type checker struct {
	proof Proof // the rest of the proof
	short bool
}

func (c *checker) root(lo, hi int64, indexes []int64, hashes []tlog.Hash) tlog.Hash {
	switch {
	case c.short:
		return tlog.Hash{}
	case len(indexes) == 0:
		if len(c.proof) == 0 {
			c.short = true
			return tlog.Hash{}
		}
		h := c.proof[0]
		c.proof = c.proof[1:]
		return h
	case hi-lo == 1:
		return hashes[0]
	}
	mid := lo + half(hi-lo)
	i, _ := slices.BinarySearch(indexes, mid)
	left := c.root(lo, mid, indexes[:i], hashes[:i])
	return tlog.NodeHash(left, c.root(mid, hi, indexes[i:], hashes[i:]))
}

// Consistency proves that the tree of size to continues that of size from (RFC 6962, 2.1.2). The proof is empty if from is 0
// or to.
func Consistency(r tlog.HashReader, from, to int64) (tlog.TreeProof, error) {
	if from < 0 || from > to {
		return nil, fmt.Errorf("tree: a tree of %d entries does not continue one of %d", to, from)
	}
	if from == 0 || from == to {
		return nil, nil
	}
	p, err := tlog.ProveTree(to, from, r)
	if err != nil {
		return nil, fmt.Errorf("tree: %w", err)
	}
	return p, nil
}
