package mirror

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// lockFile is there as long as somebody builds: a directory cannot be locked here.
const lockFile = "mirror.lock"

// lockDir takes a directory for one build: it holds a file open that nobody else can open meanwhile. The system removes
// it when it is closed, and so with the process, however that ends; a file of that name that was there before stays. A
// symbolic link is not followed. A file system that cannot do this gives no lock.
func lockDir(root *os.Root) (*os.File, error) {
	path := filepath.Join(root.Name(), lockFile)
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, nil //nolint:nilerr // no file can have that name
	}
	h, err := openAlone(name, windows.CREATE_NEW, windows.FILE_FLAG_DELETE_ON_CLOSE)
	if errors.Is(err, windows.ERROR_FILE_EXISTS) {
		h, err = openAlone(name, windows.OPEN_EXISTING, 0)
	}
	switch {
	case errors.Is(err, windows.ERROR_SHARING_VIOLATION), errors.Is(err, windows.ERROR_DELETE_PENDING),
		// or it is just being removed
		errors.Is(err, windows.ERROR_ACCESS_DENIED), errors.Is(err, windows.ERROR_FILE_NOT_FOUND):
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	case err != nil:
		return nil, nil //nolint:nilerr // see above
	}
	return os.NewFile(uintptr(h), path), nil
}

// openAlone opens a file that is then shared with nobody.
func openAlone(name *uint16, how, flags uint32) (windows.Handle, error) {
	const shared = 0
	flags |= windows.FILE_ATTRIBUTE_NORMAL | windows.FILE_FLAG_OPEN_REPARSE_POINT
	return windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, shared, nil, how, flags, 0)
}
