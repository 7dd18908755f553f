//go:build darwin || dragonfly || freebsd || linux || netbsd

package hostlock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const missing = ""

// lock locks the byte at an offset of the file, or reports that another process has it.
func lock(file *os.File, at int64) (bool, error) { return set(file, at, unix.F_WRLCK) }

func unlock(file *os.File, at int64) error {
	_, err := set(file, at, unix.F_UNLCK)
	return err
}

func set(file *os.File, at int64, kind int16) (bool, error) {
	for {
		err := unix.FcntlFlock(file.Fd(), setLock, &unix.Flock_t{Type: kind, Start: at, Len: 1})
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, os.NewSyscallError("fcntl", err)
		}
	}
}
