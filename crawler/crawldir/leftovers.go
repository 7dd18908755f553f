package crawldir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"curtsy/crawler/control"
)

// RemoveLeftOvers removes what kills left of snapshots, and of frontiers that were being made. Whoever calls it holds the
// frontier, so that nobody is at work on one.
func RemoveLeftOvers(dir string) error {
	var errs []error
	for _, prefix := range []string{control.SnapshotPrefix, RebuiltName + ".new", FrontierName + ".new"} {
		old, err := Entries(dir, prefix, "")
		errs = append(errs, err)
		for _, path := range old {
			if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() {
				errs = append(errs, os.Remove(path))
			}
		}
	}
	return errors.Join(errs...)
}

// emptySpool makes the folder for bodies under way, without what a kill left in it.
func emptySpool(dir string) error {
	spool := in(dir, SpoolName)
	if err := os.RemoveAll(spool); err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	if err := os.Mkdir(spool, 0o777); err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	return nil
}

// Entries returns the paths of the files in dir whose names begin and hold so. A dir that is not there has none. It is
// for names that users choose: filepath.Glob would take those with brackets in them, as IPv6 hosts have, for patterns.
func Entries(dir, prefix, part string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.Contains(e.Name(), part) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, err
}
