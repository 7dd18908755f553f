package tree

import (
	"crypto/sha256"
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

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
