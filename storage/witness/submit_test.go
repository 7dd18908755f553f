package witness

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
)

func lodged(t *testing.T, h *history, by *checkpoint.Signer, sizes ...int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, size := range sizes {
		put(t, ledger.CheckpointPath(dir, int64(size)), note(t, h.checkpoint(size), by).Marshal())
		put(t, filepath.Join(dir, ledger.CheckpointName), note(t, h.checkpoint(size), by).Marshal())
	}
	return dir
}

// nine is a history of nine lines of an operator, whose checkpoints of some sizes are lodged.
func nine(t *testing.T, sizes ...int) (op *checkpoint.Signer, h *history, dir string) {
	t.Helper()
	op = signer(t, 1)
	h = newHistory(t, checkpoint.Origin(op, "0123456789abcdef"), 9, 9, 0)
	return op, h, lodged(t, h, op, sizes...)
}

func put(t *testing.T, path string, b []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, b, 0o600))
}

func read(t *testing.T, path string) *checkpoint.Note {
	t.Helper()
	n, err := ledger.ReadNote(path)
	require.NoError(t, err)
	return n
}

func witnessSigner(t *testing.T, name string) *checkpoint.Signer {
	t.Helper()
	s, err := checkpoint.WitnessSigner(name, bytes.Repeat([]byte{7}, 32))
	require.NoError(t, err)
	return s
}

func cosignature(t *testing.T, by *checkpoint.Signer, n *checkpoint.Note) checkpoint.Signature {
	t.Helper()
	s, err := by.Cosign(n)
	require.NoError(t, err)
	return s
}

func TestSubmit_StoresCosignature(t *testing.T) {
	w := witnessSigner(t, "w.test")
	op, h, dir := nine(t, 5, 9)
	latest := filepath.Join(dir, ledger.CheckpointName)
	for _, tt := range []struct {
		size   int
		latest bool
	}{{5, false}, {9, true}} {
		path := ledger.CheckpointPath(dir, int64(tt.size))
		n := read(t, path)
		sig := cosignature(t, w, n)
		at, err := Keep(t.Context(), dir, n, w.Key(), sig)
		require.NoError(t, err)
		stored := read(t, path)
		if kept, ok := stored.Cosigned(w.Key()); !ok || !kept.Equal(at) || !stored.SignedBy(op.Key()) {
			t.Errorf("%d: stored is\n%s", tt.size, stored.Marshal())
		}
		l := read(t, latest)
		if _, ok := l.Cosigned(w.Key()); ok != tt.latest || l.Size != 9 {
			t.Errorf("%d: the latest is\n%s", tt.size, l.Marshal())
		}
	}
	// The client keeps no invalid cosignature by that witness, none of another checkpoint, and nothing in another's place.
	n, other := read(t, latest), signer(t, 3)
	before := n.Marshal()
	fork := newHistory(t, h.origin, 9, 3, 1)
	for name, tt := range map[string]struct {
		n   *checkpoint.Note
		by  checkpoint.Key
		sig checkpoint.Signature
	}{
		"another key":        {n, other.Key(), cosignature(t, w, n)},
		"another checkpoint": {n, w.Key(), cosignature(t, w, note(t, h.checkpoint(5), op))},
		"another history":    {note(t, fork.checkpoint(9), op), w.Key(), cosignature(t, w, note(t, fork.checkpoint(9), op))},
	} {
		_, err := Keep(t.Context(), dir, tt.n, tt.by, tt.sig)
		assert.Error(t, err, name)
	}
	assert.Equal(t, before, read(t, latest).Marshal(), "it was changed")
}

// It proves more than a later one.
func TestTheEarlierCosignatureStays(t *testing.T) {
	w := witnessSigner(t, "w.test")
	_, _, dir := nine(t, 9)
	n := read(t, ledger.CheckpointPath(dir, 9))
	for range 2 {
		_, err := Keep(t.Context(), dir, n, w.Key(), cosignature(t, w, n))
		require.NoError(t, err)
	}
	assert.Len(t, read(t, ledger.CheckpointPath(dir, 9)).Signatures, 2)
}

func TestCosignaturesOfOneTimeAreAllKept(t *testing.T) {
	_, _, dir := nine(t, 9)
	n := read(t, ledger.CheckpointPath(dir, 9))
	var all sync.WaitGroup
	for i := range 8 {
		w := witnessSigner(t, "w"+string(rune('a'+i)))
		all.Go(func() {
			sig, err := w.Cosign(n)
			if err == nil {
				_, err = Keep(context.WithoutCancel(t.Context()), dir, n, w.Key(), sig)
			}
			assert.NoError(t, err)
		})
	}
	all.Wait()
	for _, path := range []string{ledger.CheckpointPath(dir, 9), filepath.Join(dir, ledger.CheckpointName)} {
		assert.Len(t, read(t, path).Signatures, 9)
	}
}

func TestTheLatestStaysTheLatest(t *testing.T) {
	op, h, dir := nine(t, 5, 9)
	path := filepath.Join(dir, ledger.CheckpointName)
	put(t, path, note(t, h.checkpoint(5), op).Marshal()) // as it was when lodge read it
	n := read(t, path)
	n.Add(cosignature(t, witnessSigner(t, "w.test"), n))
	require.NoError(t, refreshLatest(dir, n))
	assert.EqualValues(t, 9, read(t, path).Size, "the size of the latest")
}
