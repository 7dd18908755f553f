package crawldir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"curtsy/frontier/durable"
)

// Inspect refuses a directory in which a link, a pipe or the like stands: who handed it to us may have put it there for
// us to follow, or to wait for.
func Inspect(dir string) error {
	err := durable.Inspect(dir, ArchiveName, LedgerName, IndexName, LinksName, SpoolName)
	if errors.Is(err, durable.ErrForeign) {
		return fmt.Errorf("crawl directory: %w", err)
	}
	return nil // whoever reads what cannot be read says so
}

// Require refuses a directory that holds no crawl: ErrNoCrawl, ErrNotDirectory, or that of Inspect.
func Require(dir string) error {
	if err := Inspect(dir); err != nil {
		return err
	}
	_, err := os.Stat(in(dir, FrontierName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if fi, err := os.Stat(dir); err == nil && !fi.IsDir() {
			return NotDirectory(dir) // as Windows has it
		}
		return dirMisuse(dir, ErrNoCrawl, "%s holds no crawl: no %s in it", dir, FrontierName)
	case errors.Is(err, syscall.ENOTDIR):
		return NotDirectory(dir)
	case err != nil:
		return fmt.Errorf("crawl directory: %w", err)
	}
	return nil
}

// RequireWhole refuses a crawl that lacks what was made with it: ErrIncomplete. Made anew in silence, evidence would be
// gone and nobody would know.
func RequireWhole(dir string) error {
	for _, part := range []struct{ name, anew string }{
		{ArchiveName, "make an empty folder of that name to continue without its content"},
		{LedgerName, "make an empty folder of that name to continue without its content"},
		{ConfigName, "make an empty file of that name to continue with the defaults"},
	} {
		path := in(dir, part.name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return &DirError{dir, ErrIncomplete, fmt.Sprintf("%s is missing: put it back, or %s", path, part.anew)}
		} else if err != nil {
			return fmt.Errorf("crawl directory: %w", err)
		}
	}
	return nil
}

// NotDirectory says that a path does not lead to a directory.
func NotDirectory(dir string) error {
	if fi, err := os.Stat(dir); err == nil && !fi.IsDir() {
		return dirMisuse(dir, ErrNotDirectory, "%s is a file, not a crawl directory", dir)
	}
	return dirMisuse(dir, ErrNotDirectory, "%s is not a directory: a part of its path is a file", dir)
}
