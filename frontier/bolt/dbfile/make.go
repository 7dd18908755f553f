package dbfile

import (
	"errors"
	"fmt"
	"os"

	"go.etcd.io/bbolt"

	"curtsy/frontier/durable"
)

// makeNew makes the file at path, whole or not at all: it is written under another name, and gets its own when it is
// durable. A process that dies meanwhile leaves no file that looks like a damaged frontier.
func makeNew(path string, create func(*bbolt.Tx) error) error {
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("frontier/bolt: make %s: %w", path, err)
	}
	db, err := lock(fresh, Options(false))
	if err != nil {
		return err
	}
	db.AllocSize = 64 << 10 // it may be opened with a bound on its size
	err = Update(db, create)
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = durable.Publish(fresh, path)
	}
	if err != nil {
		os.Remove(fresh)
		if errors.Is(err, os.ErrExist) { // another process was faster
			return inUse(path)
		}
		return WriteError("make", path, err)
	}
	return nil
}
