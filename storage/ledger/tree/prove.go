package tree

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// batch is how many hashes are read at once.
const batch = 1024

// ErrProof says that a proof does not prove what it is said to.
var ErrProof = errors.New("the proof does not lead to the root of the tree")

// Proof proves many entries of a tree at once: the hashes of the largest subtrees that hold none of them, from left to
// right. Where the right edge holds none, it is one hash, though the subtree is not perfect.
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

// ascending checks indexes of entries of a tree.
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

// CheckMany checks that the entries with the given indexes, which ascend, have the given hashes in the tree of that size
// and root. It takes time for each entry and each level, not for the size that somebody states.
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
	proof Proof // what of it is left
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

// Consistency proves that the tree of size to continues the one of size from (RFC 6962, 2.1.2). The proof is empty where
// from is 0 or both are one.
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
