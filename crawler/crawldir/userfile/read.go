package userfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/term"

	"curtsy/storage/plainly"
)

// Open is os.Open for what ends: a file, a pipe, a terminal, or the device that is empty.
func Open(path string) (*os.File, error) {
	fi, err := os.Stat(path)
	if err == nil && fi.Mode()&fs.ModeDevice != 0 && fi.Mode()&fs.ModeCharDevice == 0 {
		return nil, device(path) // not even opened: a drive may have to start for it
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	fi, err = f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, f.Close())
	}
	if fi.Mode()&fs.ModeDevice != 0 && !empty(fi) && !term.IsTerminal(int(f.Fd())) {
		_ = f.Close() // only read
		return nil, device(path)
	}
	return f, nil
}

// Readable refuses what Open refuses and says nothing of what cannot be looked at: whoever opens it does.
func Readable(path string) error {
	fi, err := os.Stat(path)
	if err != nil || fi.Mode()&fs.ModeDevice == 0 {
		return nil // a pipe, among others, which would be used up
	}
	f, err := Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// ReadAll reads a file of at most so many bytes.
func ReadAll(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s is larger than %s", path, plainly.ExactSize(most))
	}
	return b, err
}

// empty reports whether a device is the one that has nothing in it.
func empty(fi fs.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(fi, null)
}

func device(path string) error { return fmt.Errorf("%s is a device, not a regular file", path) }
