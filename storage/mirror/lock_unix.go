//go:build linux || darwin

package mirror

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockDir takes a directory for one build. The lock ends with the file, and so with the process, however that ends. A
// file system that has no locks gives none.
func lockDir(root *os.Root) (*os.File, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) //nolint:gosec // a file descriptor
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
