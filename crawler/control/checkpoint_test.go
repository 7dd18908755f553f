package control

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/storage/ledger"
)

// A running crawl tells its latest checkpoint, whose ledger is being written; without one it says so.
func TestTheControlInterfaceServesTheLatestCheckpoint(t *testing.T) {
	dir, _ := served(t)
	r, err := Connect(t.Context(), dir)
	require.NoError(t, err)
	if n, err := r.Checkpoint(t.Context()); err == nil || !strings.Contains(err.Error(), ledger.ErrNoCheckpoint.Error()) {
		t.Errorf("%+v, %v", n, err)
	}
	w, err := ledger.Open(ledger.Options{Dir: filepath.Join(dir, LedgerName)})
	require.NoError(t, err)
	require.NoError(t, w.Begin(t.Context()))
	if n, err := r.Checkpoint(t.Context()); err != nil || n.Size != 3 || !strings.HasPrefix(n.Origin, "curtsy/") {
		t.Errorf("%+v, %v", n, err)
	}
	require.NoError(t, w.Close())
	if n, err := r.Checkpoint(t.Context()); err != nil || n.Size != 5 {
		t.Errorf("%+v, %v", n, err)
	}
}
