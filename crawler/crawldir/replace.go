package crawldir

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"curtsy/frontier/durable"
	"curtsy/storage/ledger"
)

// replaceSettings writes the settings of a crawl anew. Those before are kept until a run has begun: the ledger's mark of
// the last run binds them, and a kill may come before the next.
func replaceSettings(dir string, config []byte) error {
	was, err := durable.ReadFile(in(dir, ConfigName))
	if err == nil {
		err = durable.WriteFile(in(dir, fmt.Sprintf("%s%.8x", ConfigBefore, sha256.Sum256(was))), was, 0o666)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the settings before: %w", err)
	}
	return durable.WriteFile(in(dir, ConfigName), config, 0o666)
}

// beginning is the ledger of a run. Its mark of the run binds the settings, so those before have had their use.
type beginning struct {
	*ledger.Writer
	dir string
}

// Begin implements storage.Ledger.
func (b beginning) Begin(ctx context.Context) error {
	if err := b.Writer.Begin(ctx); err != nil {
		return err
	}
	paths, err := Entries(b.dir, ConfigBefore, "")
	for _, path := range paths {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
