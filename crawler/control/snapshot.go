package control

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"curtsy/frontier"
)

// SnapshotPrefix begins the names of the snapshots that a running crawl writes into its directory. Whoever asked for one
// removes it; what a kill left is removed by the next run.
const SnapshotPrefix = "frontier-snapshot-"

// snapshotSuffix ends them.
const snapshotSuffix = ".db"

// snapshotAt says where a snapshot is to be: a name in the crawl directory. Whoever asks chooses it, and so knows that
// nothing of that name was there before, whatever the answer is.
type snapshotAt struct {
	Name string `json:"name"`
}

// NewSnapshot chooses the name of a snapshot.
// NewSnapshot is a name for a snapshot. Those that a kill leaves are removed by it.
func NewSnapshot() string { return SnapshotPrefix + strings.ToLower(rand.Text()) + snapshotSuffix }

// isSnapshot reports whether name is one that newSnapshot chooses.
func isSnapshot(name string) bool {
	middle, ok := strings.CutPrefix(name, SnapshotPrefix)
	middle, end := strings.CutSuffix(middle, snapshotSuffix)
	return ok && end && len(middle) == len(rand.Text()) && strings.Trim(middle, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// snapshot writes the frontier as it is now into a file of its own, which must not be there.
func (s *server) snapshot(ctx context.Context, name string) error {
	if !isSnapshot(name) {
		return badOrder{fmt.Errorf("crawler: %q is not a snapshot name", name)}
	}
	path := filepath.Join(s.dir, name)
	if _, err := os.Lstat(path); err == nil { // what is there is nobody's to remove
		return badOrder{fmt.Errorf("crawler: snapshot: %s is there already", name)}
	}
	err := s.frontier.Snapshot(ctx, path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return err
	case errors.Is(err, frontier.ErrNoSnapshot):
		return errors.New("crawler: the frontier of this crawl makes no snapshots")
	}
	if err == nil {
		err = os.Chmod(path, 0o600) // it holds the crawl's secret
	}
	if err = cmp.Or(err, ctx.Err()); err != nil { // nobody is there who would remove it
		os.Remove(path)
		return fmt.Errorf("crawler: snapshot: %w", err)
	}
	return nil
}
