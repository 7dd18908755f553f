// Package durable makes names outlive a power cut. What is in a file is made durable by os.File.Sync; that the file is
// there, or has another name, or is gone, by syncing the directory that holds the name (fsync(2), POSIX.1-2024).
package durable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// File writes a file that others may read, whole and durable; or leaves what was there as it was. Something that is no
// regular file, such as a device, is written to as it is. Errors name the path, not the file that is written first.
func File(path string, write func(io.Writer) error) (err error) {
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() && !fi.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(buffered(f, write), f.Close())
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return of(path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the error is what matters
		}
	}()
	if err := buffered(f, write); err != nil {
		return errors.Join(of(path, err), f.Close())
	}
	if err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return of(path, err)
	}
	return of(path, os.Rename(f.Name(), path))
}

func buffered(f *os.File, write func(io.Writer) error) error {
	w := bufio.NewWriter(f)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// of makes an error about another file one about path.
func of(path string, err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return &fs.PathError{Op: "write", Path: path, Err: p.Err}
	}
	if l := (*os.LinkError)(nil); errors.As(err, &l) {
		return &fs.PathError{Op: "write", Path: path, Err: l.Err}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Names makes the names in dir durable. Windows has no such call and needs none; a file system that refuses it (some over
// a network do) keeps names in a way of its own.
func Names(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
