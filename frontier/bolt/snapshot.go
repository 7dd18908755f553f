package bolt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/durable"

	"go.etcd.io/bbolt"
)

// Snapshot writes a copy of the frontier's file to path, where there must be none, while the crawl goes on. All that
// was applied before the call is in it, and what it holds is one instant, that of a commit: what the death of the
// process would have left then. So the copy of a running crawl tells of an unclean stop. The copy is made beside path,
// and takes its name when it is durable; after an error nothing of it is left.
//
// It takes one read transaction: pages that are freed meanwhile are used again only after it, so the file of a busy
// crawl grows by what is committed during the copy.
func (f *Frontier) Snapshot(ctx context.Context, path string) error {
	err := f.snapshot(ctx, path)
	if err != nil {
		return fmt.Errorf("frontier/bolt: snapshot of %s to %s: %w", f.path, path, err)
	}
	return nil
}

func (f *Frontier) snapshot(ctx context.Context, path string) error {
	if err := vacant(path); err != nil {
		return err
	}
	if !f.readOnly {
		if err := f.Sync(ctx); err != nil {
			return err
		}
	}
	return durable.New(path, func(w io.Writer) error { return f.copyTo(ctx, w) })
}

// vacant fails when there is something at path: least of all may a copy take the place of the frontier itself.
func vacant(path string) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return fmt.Errorf("%w: name another file, or move that one away", fs.ErrExist)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

// copyTo writes the file as of the last commit. A failure to write is no fault of the frontier and does not poison it.
func (f *Frontier) copyTo(ctx context.Context, w io.Writer) error {
	var tx *bbolt.Tx
	err := f.locked(ctx, func(int64) (err error) {
		tx, err = f.db.Begin(false)
		return err
	})
	if err != nil {
		return err
	}
	return dbfile.Guard(func() error {
		defer tx.Rollback()
		_, err := tx.WriteTo(writerFunc(func(b []byte) (int, error) {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			return w.Write(b)
		}))
		return cmp.Or(ctx.Err(), err) // bbolt does not wrap all errors
	})
}

// writerFunc is a function as a writer.
type writerFunc func(b []byte) (int, error)

func (w writerFunc) Write(b []byte) (int, error) { return w(b) }
