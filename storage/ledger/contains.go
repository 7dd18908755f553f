package ledger

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
)

// ErrNotContained says that a ledger does not have the entries that a checkpoint of it stands for.
var ErrNotContained = errors.New("the ledger does not contain a checkpoint that was signed for it")

// Origin returns the origin of the ledger in dir, as its latest checkpoint has it, or else its first line; empty where
// there is neither.
func Origin(dir string) (string, error) {
	if n, err := latest(dir); err == nil {
		return n.Origin, nil
	}
	numbers, err := segments(dir)
	if isMissing(err) || err == nil && len(numbers) == 0 {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("ledger: origin: %w", err)
	}
	for t, err := range texts(dir, numbers[:1]) {
		var m *Mark
		if err == nil {
			m, err = ParseMark(t.Line)
		}
		if err != nil {
			return "", fmt.Errorf("ledger: origin: %w", err)
		}
		return m.Origin, nil
	}
	return "", nil
}

// Contains returns ErrNotContained, with what is wrong, if the first c.Size entries of the ledger in dir do not lead to
// the root of c. Where the tiles lead from the latest checkpoint to that root, the lines are not read: whoever goes on
// with the ledger goes on with those tiles. It changes nothing.
func Contains(dir string, c checkpoint.Checkpoint) error {
	if n, err := latest(dir); err == nil && n.Size >= c.Size {
		root, err := tlog.TreeHash(c.Size, tree.Reader(dir, n.Size, n.Root))
		if err == nil && root == c.Root {
			return nil
		}
	}
	numbers, err := segments(dir)
	if err != nil && !isMissing(err) {
		return fmt.Errorf("ledger: compare with a checkpoint: %w", err)
	}
	var lines tree.Growing
	hasher := tree.NewHasher()
	for t, err := range texts(dir, numbers) {
		if lines.Size() == c.Size {
			break
		}
		if err != nil {
			return fmt.Errorf("ledger: compare with a checkpoint: %w", err)
		}
		lines.Append(HashOf(hasher, t.Line))
	}
	switch {
	case lines.Size() < c.Size:
		return fmt.Errorf("%w: it has %d entries, and the checkpoint is of %d", ErrNotContained, lines.Size(), c.Size)
	case lines.Root() != c.Root:
		return fmt.Errorf("%w: its first %d entries do not match the checkpoint", ErrNotContained, c.Size)
	}
	return nil
}
