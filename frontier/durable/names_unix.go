//go:build unix && !solaris && !aix

package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// nonblock opens a pipe that replaced the file without waiting for its other end. It changes nothing for a file.
const nonblock = syscall.O_NONBLOCK

func names(_ *os.File, fi fs.FileInfo) (int, error) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink), nil
	}
	return 1, nil
}

// lock locks a file while it is open. It returns false if it is locked already.
func lock(f *os.File) bool {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return !errors.Is(err, syscall.EWOULDBLOCK) // without locks, all succeed
}

// hold locks the folder itself while the file is open.
func hold(dir string) (f *os.File, alone bool, err error) {
	if f, err = os.Open(dir); err != nil {
		return nil, false, err
	}
	return f, lock(f), nil
}
