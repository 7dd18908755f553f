//go:build unix && !solaris && !aix

package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// nonblock opens a pipe that took a file's place without waiting for its other end. It changes nothing for a file.
const nonblock = syscall.O_NONBLOCK

// names returns how many names a file has.
func names(_ *os.File, fi fs.FileInfo) (int, error) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink), nil
	}
	return 1, nil
}

// lock marks a file as being worked on, for as long as it is open. It reports false if another has done so.
func lock(f *os.File) bool {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return !errors.Is(err, syscall.EWOULDBLOCK) // where there are no locks, all are at work
}

// hold locks a folder itself, for as long as the file is open.
func hold(dir string) (f *os.File, alone bool, err error) {
	if f, err = os.Open(dir); err != nil {
		return nil, false, err
	}
	return f, lock(f), nil
}
