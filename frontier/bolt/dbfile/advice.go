package dbfile

import (
	"errors"
	"fmt"
	"syscall"

	"curtsy/frontier"
)

// WriteError says what failed to be written, and what to do. After a failed write the frontier takes no more calls:
// what the disk holds is what was acknowledged, and may hold the group that failed.
func WriteError(act, path string, err error) error {
	return fmt.Errorf("frontier/bolt: %s %s: %w: %s, then continue: acknowledged work is in the file",
		act, path, err, Advice(err))
}

// Advice says what to do about an error of a write. bbolt turns some errors into texts, for which the last advice is.
func Advice(err error) string {
	switch {
	case errors.Is(err, frontier.ErrDamaged):
		return "check the frontier, and keep a copy of it"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the disk, or what you may have of it, is full: free some space"
	case errors.Is(err, syscall.EFBIG):
		return "a file may not be larger: raise the limit (ulimit -f), or use another file system"
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return "see to it that the file and its directory can be written"
	case errors.Is(err, syscall.EIO):
		return "the disk fails: look at the system's log, and move the crawl to a sound disk"
	}
	return "check that the disk has space and no errors"
}
