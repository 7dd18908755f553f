package cdxj

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"curtsy/frontier/durable"
)

// DropOriginals takes the answers whose ids are gone from the log of originals in the folder of an index, which nobody
// else writes: no later answer is kept as a repeat of one. A torn end of the log goes, too.
func DropOriginals(index string, gone func(id string) bool) error {
	path := filepath.Join(index, logName)
	some := false
	err := originalsIn(path, func(o original) error {
		some = some || !o.Cut && gone(o.ID)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && some {
		err = durable.File(path, func(w io.Writer) error {
			var line []byte
			return originalsIn(path, func(o original) error {
				if !o.Cut && gone(o.ID) {
					return nil
				}
				line = o.append(line[:0])
				_, err := w.Write(line)
				return err
			})
		})
	}
	if err != nil {
		return fmt.Errorf("cdxj: forget originals: %w", err)
	}
	return nil
}

// originalsIn gives the lines of a log, up to where it is torn, to see; its first error is returned.
func originalsIn(path string, see func(o original) error) error {
	f, err := durable.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var failed error
	_, err = tornLog(f, func(o original, _ int64) {
		if failed == nil {
			failed = see(o)
		}
	})
	return errors.Join(err, failed)
}
