package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const nonblock = 0

func names(f *os.File, _ fs.FileInfo) (int, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var info syscall.ByHandleFileInformation
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = syscall.GetFileInformationByHandle(syscall.Handle(fd), &info) }); err != nil {
		return 0, err
	}
	return int(info.NumberOfLinks), failed
}

// lock does nothing: Windows does not remove open files.
func lock(*os.File) bool { return true }

// hold opens a file in the folder exclusively: folders cannot be locked here.
func hold(dir string) (f *os.File, alone bool, err error) {
	path := filepath.Join(dir, "held.lock")
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, false, err
	}
	const shared, deleteOnClose, sharingViolation = 0, 0x04000000, syscall.Errno(32)
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, shared, nil, syscall.OPEN_ALWAYS,
		syscall.FILE_ATTRIBUTE_NORMAL|deleteOnClose, 0)
	switch {
	case errors.Is(err, sharingViolation), errors.Is(err, syscall.ERROR_ACCESS_DENIED): // or it is just being removed
		return nil, false, nil
	case err != nil:
		return nil, false, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), true, nil
}
