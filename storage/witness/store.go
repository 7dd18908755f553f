package witness

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"curtsy/frontier/durable"
	"curtsy/storage/ledger/checkpoint"
)

// The folders of a witness.
const (
	stateFolder = "checkpoints" // for each origin the last note that was cosigned
	forkFolder  = "forks"       // pairs of notes that contradict each other
)

// The bounds of a folder.
const (
	maxStates = 100_000
	maxForks  = 1_000
)

// originHash is the name of an origin in paths (https://c2sp.org/tlog-witness, monitor retrieval).
func originHash(origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return hex.EncodeToString(sum[:])
}

// store is the folder of a witness, held by this process.
type store struct {
	dir  string
	held interface{ Close() error }
}

func openStore(dir string) (*store, error) {
	for _, path := range []string{dir, filepath.Join(dir, stateFolder)} {
		if err := durable.MakeFolder(path); err != nil {
			return nil, fmt.Errorf("witness: %w", err)
		}
	}
	held, err := durable.Hold(dir)
	if errors.Is(err, durable.ErrHeld) {
		return nil, fmt.Errorf("witness: %s belongs to a witness that runs: stop that one, or give this one another folder",
			dir)
	}
	if err != nil {
		return nil, fmt.Errorf("witness: %w", err)
	}
	return &store{dir, held}, nil
}

// load reads all that was kept. One note that cannot be believed fails it: without that note a fork would be signed.
func (s *store) load(own checkpoint.Key) (map[string]*state, error) {
	folder := filepath.Join(s.dir, stateFolder)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("witness: %w", err)
	}
	states := map[string]*state{}
	for _, e := range entries {
		name := e.Name()
		if len(name) != 2*sha256.Size { // a draft that a kill left
			continue
		}
		path := filepath.Join(folder, name)
		b, err := durable.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("witness: %w", err)
		}
		if states[name], err = believe(name, b, own); err != nil {
			return nil, fmt.Errorf("witness: %s %w", path, err)
		}
	}
	return states, nil
}

// believe reads what was kept under a name.
func believe(name string, b []byte, own checkpoint.Key) (*state, error) {
	n, err := checkpoint.Parse(b)
	if err != nil || originHash(n.Origin) != name {
		return nil, errors.New("is damaged: put its copy back if that is of the latest state; else begin a new witness in " +
			"another folder, since this one could sign a fork")
	}
	at, ok := n.Cosigned(own)
	if !ok {
		return nil, fmt.Errorf("is not cosigned by %s, the key of this folder: it was changed, or the key was", own.Name())
	}
	return &state{note: n, at: at}, nil
}

// keep makes n what is kept of its log.
func (s *store) keep(n *checkpoint.Note) error {
	return durable.WriteFile(filepath.Join(s.dir, stateFolder, originHash(n.Origin)), n.Marshal(), 0o644)
}

// keepFork keeps two notes that contradict each other, as evidence, and returns the folder. The first pair of a log and
// size stays.
func (s *store) keepFork(kept, sent *checkpoint.Note) (string, error) {
	all := filepath.Join(s.dir, forkFolder)
	if err := durable.MakeFolder(all); err != nil {
		return "", err
	}
	dir := filepath.Join(all, fmt.Sprintf("%.16s-%012d", originHash(kept.Origin), kept.Size))
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	entries, err := os.ReadDir(all)
	if err == nil && len(entries) >= maxForks {
		err = fmt.Errorf("%s has %d forks already", all, maxForks)
	}
	if err == nil {
		err = durable.MakeFolder(dir)
	}
	for name, n := range map[string]*checkpoint.Note{"kept": kept, "sent": sent} {
		if err == nil {
			err = durable.WriteFile(filepath.Join(dir, name), n.Marshal(), 0o644)
		}
	}
	return dir, err
}

func (s *store) Close() error { return s.held.Close() }
