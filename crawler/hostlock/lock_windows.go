package hostlock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const missing = ""

// lock locks a byte of the file, or reports that another handle has it. Windows blocks access to locked bytes, which are outside the
// table.
func lock(file *os.File, at int64) (bool, error) {
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, offset(at))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("LockFileEx", err)
}

func unlock(file *os.File, at int64) error {
	return os.NewSyscallError("UnlockFileEx", windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, offset(at)))
}

func offset(at int64) *windows.Overlapped {
	return &windows.Overlapped{Offset: uint32(at), OffsetHigh: uint32(at >> 32)}
}
