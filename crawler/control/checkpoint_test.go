package control

import (
	"path/filepath"
	"strings"
	"testing"

	"curtsy/storage/ledger"
)

// A running crawl tells its latest checkpoint, whose ledger is being written; without one it says so.
func TestTheControlInterfaceServesTheLatestCheckpoint(t *testing.T) {
	dir, _ := served(t)
	r, err := Connect(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := r.Checkpoint(t.Context()); err == nil || !strings.Contains(err.Error(), ledger.ErrNoCheckpoint.Error()) {
		t.Errorf("%+v, %v", n, err)
	}
	w, err := ledger.Open(ledger.Options{Dir: filepath.Join(dir, LedgerName)})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Checkpoint(t.Context()); err != nil || n.Size != 3 || !strings.HasPrefix(n.Origin, "curtsy/") {
		t.Errorf("%+v, %v", n, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Checkpoint(t.Context()); err != nil || n.Size != 5 {
		t.Errorf("%+v, %v", n, err)
	}
}
