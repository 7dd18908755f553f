package witness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"curtsy/frontier/durable"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
)

const (
	// patience is how long Keep waits for another that keeps something beside the same ledger.
	patience = 10 * time.Second
	pause    = 20 * time.Millisecond
)

// Keep adds the cosignature of a witness to the stored checkpoint of the ledger in dir that n is, and to the file of the
// latest checkpoint if that is the same. It returns when that witness cosigned: a cosignature that was there before
// stays, since the earlier one proves more. The crawl may run meanwhile.
func Keep(
	ctx context.Context, dir string, n *checkpoint.Note, by checkpoint.Key, s checkpoint.Signature,
) (time.Time, error) {
	fresh, err := checkpoint.Parse(append(n.Text(), '\n'))
	if err != nil {
		return time.Time{}, err
	}
	fresh.Add(s)
	at, ok := fresh.Cosigned(by)
	if !ok {
		return at, fmt.Errorf("its cosignature is not by %s", by.Name())
	}
	held, err := hold(ctx, dir)
	if err != nil {
		return at, err
	}
	defer held.Close() // a lock
	stored, err := storedNote(dir, n)
	if err != nil {
		return at, err
	}
	if earlier, ok := stored.Cosigned(by); ok {
		at = earlier
	} else if !stored.Add(s) {
		return at, fmt.Errorf("the checkpoint has %d signatures, and takes no more", checkpoint.MaxSignatures)
	}
	if err := durable.WriteFile(ledger.CheckpointPath(dir, n.Size), stored.Marshal(), 0o644); err != nil {
		return at, err
	}
	return at, refreshLatest(dir, stored)
}

// storedNote is the note of n's size, which is of the same tree.
func storedNote(dir string, n *checkpoint.Note) (*checkpoint.Note, error) {
	path := ledger.CheckpointPath(dir, n.Size)
	stored, err := ledger.ReadNote(path)
	if errors.Is(err, fs.ErrNotExist) { // a kill came before it, or it was copied without
		return n, nil
	}
	if err == nil && !bytes.Equal(stored.Text(), n.Text()) {
		err = fmt.Errorf("%s is another checkpoint than the one that was sent", path)
	}
	return stored, err
}

// refreshLatest makes n the latest checkpoint, if another form of it is. A crawl that runs may put a later one there at
// the same time: its own file, which is written before, tells.
func refreshLatest(dir string, n *checkpoint.Note) error {
	path := filepath.Join(dir, ledger.CheckpointName)
	latest, err := ledger.ReadNote(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !bytes.Equal(latest.Text(), n.Text()) || bytes.Equal(latest.Marshal(), n.Marshal()) {
		return nil
	}
	if err := durable.WriteFile(path, n.Marshal(), 0o644); err != nil {
		return err
	}
	if latest, err = ledger.Latest(dir); err != nil || latest.Size <= n.Size {
		return err
	}
	return durable.WriteFile(path, latest.Marshal(), 0o644)
}

// hold waits until nobody else keeps anything beside the ledger in dir.
func hold(ctx context.Context, dir string) (io.Closer, error) {
	folder := filepath.Dir(ledger.CheckpointPath(dir, 0))
	if err := durable.MakeFolder(folder); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		held, err := durable.Hold(folder)
		if !errors.Is(err, durable.ErrHeld) {
			return held, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: another command has kept a checkpoint there for long: try again later", folder)
		case <-time.After(pause):
		}
	}
}
