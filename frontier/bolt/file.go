package bolt

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"curtsy/frontier"
	"curtsy/frontier/durable"
)

// lockWait is how long Open waits for the lock of the file: bbolt asks every 50 ms, and we let it ask twice.
const lockWait = 100 * time.Millisecond

// openFile opens the database. What is wrong with the file, or with getting hold of it, is said in our words.
func openFile(path string, readOnly bool) (*bbolt.DB, error) {
	switch err := checkSize(path); {
	case err != nil && (readOnly || !errors.Is(err, os.ErrNotExist)):
		return nil, err
	case err != nil:
		if err := makeNew(path); err != nil {
			return nil, err
		}
	case err == nil:
		db, err := openChecked(path)
		if err != nil || readOnly {
			return db, err
		}
		if err := db.Close(); err != nil {
			return nil, openError(path, err)
		}
	}
	return lockFile(path, options(readOnly))
}

// openChecked opens the database for reading and checks its pages, under a lock that keeps writers out.
func openChecked(path string) (*bbolt.DB, error) {
	db, err := lockFile(path, options(true))
	if err != nil {
		return nil, err
	}
	if err := checkPages(path); err != nil {
		db.Close()
		return nil, openError(path, err)
	}
	return db, nil
}

// lockFile has bbolt open the file, which may be in use.
func lockFile(path string, o *bbolt.Options) (db *bbolt.DB, err error) {
	var file *os.File
	o.OpenFile = func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
		file, err = durable.OpenFile(name, flag, mode)
		return file, err
	}
	err = guard(func() error {
		db, err = bbolt.Open(path, 0o600, o)
		if errors.Is(err, syscall.ENOMEM) { // a limit on the address space: map what there is, and again as it grows
			o.InitialMmapSize = 0
			db, err = bbolt.Open(path, 0o600, o)
		}
		return err
	})
	switch {
	case err == nil && replaced(path, file):
		db.Close()
		return nil, fmt.Errorf("frontier/bolt: open %s: %w: it was just written anew; try again", path, frontier.ErrInUse)
	case err == nil:
		db.AllocSize = growth(0)
		return db, nil
	case errors.Is(err, bbolterrors.ErrTimeout):
		return nil, inUse(path)
	case errors.Is(err, bbolterrors.ErrInvalid), errors.Is(err, bbolterrors.ErrChecksum), errors.Is(err, bbolterrors.ErrVersionMismatch):
		err = fmt.Errorf("%w: %w", err, frontier.ErrDamaged)
	}
	return nil, openError(path, err)
}

// replaced reports whether the file has lost its name while we waited for its lock: whoever had it, wrote it anew. What
// is written to it now would be lost.
func replaced(path string, file *os.File) bool {
	ours, err := file.Stat()
	if err != nil {
		return true
	}
	named, err := os.Stat(path)
	return err != nil || !os.SameFile(ours, named)
}

func inUse(path string) error {
	return fmt.Errorf("frontier/bolt: open %s: %w: wait until it ends, or stop it", path, frontier.ErrInUse)
}

// openError says where err happened and, when the file is not usable, what to do.
func openError(path string, err error) error {
	switch {
	case errors.Is(err, frontier.ErrDamaged):
		return fmt.Errorf("frontier/bolt: open %s: %w: nothing was changed; keep the file, and go on from a copy", path, err)
	case errors.Is(err, frontier.ErrNewer):
		return fmt.Errorf("frontier/bolt: open %s: %w: use the version that wrote it, or a later one", path, err)
	case errors.Is(err, frontier.ErrOlder):
		return fmt.Errorf("frontier/bolt: open %s: %w: nothing was changed; begin the crawl anew, "+
			"or import what the version that wrote it exports", path, err)
	}
	return fmt.Errorf("frontier/bolt: open %s: %w", path, err)
}

func options(readOnly bool) *bbolt.Options {
	o := &bbolt.Options{
		Timeout:        lockWait,
		FreelistType:   bbolt.FreelistMapType, // the array type is searched from the start for every allocation
		NoFreelistSync: true,                  // it would be written by every commit; an open finds it again
		ReadOnly:       readOnly,
	}
	if !readOnly {
		o.InitialMmapSize = mapSize()
	}
	return o
}

// mapSize is how much address space is set aside at once: growing a map waits for all readers, and copies what a
// transaction has in hand. Only addresses are taken, no memory. Windows would make the file that large.
func mapSize() int {
	gib := 1 << 30
	if runtime.GOOS == "windows" || strconv.IntSize < 64 {
		return 0
	}
	return 64 * gib
}
