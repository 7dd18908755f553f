package witness

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage/ledger/checkpoint"
)

func signer(t testing.TB, n byte) *checkpoint.Signer {
	t.Helper()
	s, err := checkpoint.NewSigner(bytes.Repeat([]byte{n}, 32))
	require.NoError(t, err)
	return s
}

type history struct {
	origin string
	hashes []tlog.Hash // as tlog stores them
	roots  []tlog.Hash // of each size
}

// newHistory has n entries: those below fork are the same for each variant.
func newHistory(t testing.TB, origin string, n, fork int, variant uint64) *history {
	t.Helper()
	h := &history{origin: origin, roots: []tlog.Hash{emptyRoot}}
	for i := range n {
		entry := binary.BigEndian.AppendUint64(nil, uint64(i))
		if i >= fork {
			entry = binary.BigEndian.AppendUint64(entry, variant)
		}
		stored, err := tlog.StoredHashes(int64(i), entry, h)
		require.NoError(t, err)
		h.hashes = append(h.hashes, stored...)
		root, err := tlog.TreeHash(int64(i+1), h)
		require.NoError(t, err)
		h.roots = append(h.roots, root)
	}
	return h
}

func (h *history) ReadHashes(indexes []int64) (all []tlog.Hash, err error) {
	for _, i := range indexes {
		all = append(all, h.hashes[i])
	}
	return all, nil
}

func (h *history) prove(t testing.TB, from, to int) tlog.TreeProof {
	t.Helper()
	if from <= 0 || from >= to {
		return nil
	}
	p, err := tlog.ProveTree(int64(to), int64(from), h)
	require.NoError(t, err)
	return p
}

func (h *history) checkpoint(size int) checkpoint.Checkpoint {
	return checkpoint.Checkpoint{Origin: h.origin, Size: int64(size), Root: h.roots[size]}
}

func note(t testing.TB, c checkpoint.Checkpoint, s *checkpoint.Signer) *checkpoint.Note {
	t.Helper()
	b, err := s.Sign(c)
	require.NoError(t, err)
	n, err := checkpoint.Parse(b)
	require.NoError(t, err)
	return n
}
