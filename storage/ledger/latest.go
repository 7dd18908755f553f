package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/frontier/durable"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
)

// The places of checkpoints in the folder of a ledger.
const (
	CheckpointName   = "checkpoint"  // the latest
	CheckpointFolder = "checkpoints" // every one, by its size
)

// ErrNoCheckpoint says that a ledger has none yet: it is empty, or was killed before its first.
var ErrNoCheckpoint = errors.New("the ledger has no checkpoint yet")

// Latest is the latest checkpoint of the ledger in dir, with the signatures that stand under it, none of which is
// checked. It may be called while the crawl runs.
func Latest(dir string) (*checkpoint.Note, error) {
	n, err := latest(dir)
	if err != nil {
		return nil, fmt.Errorf("ledger: checkpoint: %w", err)
	}
	return n, nil
}

// latest is the larger one of the latest checkpoint and the last of all, in case that one of them is damaged.
func latest(dir string) (*checkpoint.Note, error) {
	n, err := ReadNote(filepath.Join(dir, CheckpointName))
	sizes, serr := Checkpoints(dir)
	if serr != nil {
		return nil, serr
	}
	for _, size := range slices.Backward(sizes) {
		if n != nil && n.Size >= size {
			break
		}
		if last, err := ReadNote(CheckpointPath(dir, size)); err == nil && last.Size == size {
			return last, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoCheckpoint
	}
	return n, err
}

// CheckpointPath is the file of the checkpoint of a size.
func CheckpointPath(dir string, size int64) string {
	return filepath.Join(dir, CheckpointFolder, fmt.Sprintf("%012d", size))
}

// Checkpoints are the sizes of the checkpoints of the ledger in dir, ascending. Other files are left alone.
func Checkpoints(dir string) (sizes []int64, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, CheckpointFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		size, err := strconv.ParseInt(e.Name(), 10, 64)
		if err == nil && size >= 0 && filepath.Base(CheckpointPath(dir, size)) == e.Name() {
			sizes = append(sizes, size)
		}
	}
	slices.Sort(sizes)
	return sizes, nil
}

// ReadNote reads the checkpoint in a file: at most checkpoint.MaxNote bytes, signed or not.
func ReadNote(path string) (*checkpoint.Note, error) {
	f, err := durable.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, checkpoint.MaxNote+1))
	if err != nil {
		return nil, err
	}
	n, err := checkpoint.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

// CheckpointFolderOf is the folder of the checkpoints of the ledger in dir.
func CheckpointFolderOf(dir string) string { return filepath.Join(dir, CheckpointFolder) }

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
