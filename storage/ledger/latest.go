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

	"curtsy/frontier/durable"
	"curtsy/storage/ledger/checkpoint"
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
