// Package durable creates and replaces files that survive a power failure, without following links out of a directory.
//
// os.File.Sync makes durable what is in a file. That the file is there, or has another name, or is gone, is made so by
// syncing the directory that holds the name (fsync(2), POSIX.1-2024). File does both.
//
// Open, Create, OpenFile, ReadFile and MakeFolder are those of package os for regular files and folders alone: links
// are not followed, pipes and devices not opened, and a file that has a name elsewhere is not written to. Inspect looks
// at a whole directory. All files of a crawl directory are opened through these.
package durable

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// File writes a file of a crawl directory, which others may read, whole and durable; or leaves what was there as it
// was. Anything else at that place is ErrForeign. Errors name the path, not the file that is written first; what a kill
// left of that is removed by the next File of the same path.
func File(path string, write func(io.Writer) error) error {
	return replace(path, 0o666, write, Names)
}

// WriteFile is File of bytes that are at hand, with the permissions of a new file.
func WriteFile(path string, b []byte, perm fs.FileMode) error {
	return replace(path, perm, func(w io.Writer) error { _, err := w.Write(b); return err }, Names)
}

// Output is File for a path that a user names. A link is replaced; something else that is no regular file, such as a
// device or a pipe, is written to as it is.
func Output(path string, write func(io.Writer) error) error {
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() && !fi.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(buffered(f, write), f.Close())
	}
	if fi, err := os.Lstat(path); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		return beside(path, 0o666, write, os.Rename, Names)
	}
	return File(path, write)
}

// New is File with which nothing is replaced, and whose file nobody else may read: a path where something stands is
// fs.ErrExist, and of two that make a file at one time one succeeds.
func New(path string, write func(io.Writer) error) error {
	return beside(path, 0o600, write, link, Names)
}

// Publish gives a file that is durable its name, which nothing may have, or it is fs.ErrExist. It makes that durable:
// of a file whose name is lost, everything is.
func Publish(fresh, path string) error {
	if err := link(fresh, path); err != nil {
		return err
	}
	return Names(filepath.Dir(path))
}

// link gives a file another name, and takes the one that it had: a link, unlike a rename, never replaces a file.
func link(fresh, path string) error {
	err := os.Link(fresh, path)
	switch {
	case err == nil:
		_ = os.Remove(fresh) // a second name that stays does no harm
		return nil
	case errors.Is(err, fs.ErrExist):
		return err
	}
	// A file system without links: the next best.
	if _, none := os.Lstat(path); !errors.Is(none, fs.ErrNotExist) {
		return cmp.Or(none, fs.ErrExist)
	}
	return os.Rename(fresh, path)
}

// replace is File with permissions and a way to make names durable.
func replace(path string, perm fs.FileMode, write func(io.Writer) error, names func(dir string) error) error {
	if fi, err := os.Lstat(path); err == nil && !fi.Mode().IsRegular() && !fi.IsDir() {
		return foreign("write", path, kind(fi.Mode()))
	}
	return beside(path, perm, write, os.Rename, names)
}

// beside writes a file under another name, and has place give it its own.
func beside(
	path string, perm fs.FileMode, write func(io.Writer) error,
	place func(fresh, path string) error, names func(dir string) error,
) error {
	f, err := draft(path, perm)
	if err != nil {
		return of(path, err)
	}
	d := &Draft{File: f, path: path, place: place, names: names}
	defer d.Abort()
	if err := buffered(f, write); err != nil {
		return of(path, err)
	}
	return d.Commit()
}

// draftSuffix ends the names of drafts: a dot, the name, a dot, letters, and it.
const draftSuffix = ".new"

// draft makes the file that will be renamed to path, and takes away those that nobody is at work on.
func draft(path string, perm fs.FileMode) (*os.File, error) {
	dir, prefix := filepath.Dir(path), "."+filepath.Base(path)+"."
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	for _, e := range entries {
		letters, ok := strings.CutPrefix(e.Name(), prefix)
		letters, end := strings.CutSuffix(letters, draftSuffix)
		if ok && end && len(letters) == 8 && strings.Trim(letters, "abcdefghijklmnopqrstuvwxyz234567") == "" && e.Type().IsRegular() {
			abandoned(filepath.Join(dir, e.Name()))
		}
	}
	for {
		name := filepath.Join(dir, prefix+strings.ToLower(rand.Text()[:8])+draftSuffix)
		f, err := OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if err != nil {
			return nil, err
		}
		if lock(f) {
			if _, err := os.Lstat(name); err == nil {
				return f, nil
			}
		}
		_ = f.Close() // another removes it: it was not locked yet
	}
}

// abandoned removes a draft unless somebody is at work on it.
func abandoned(path string) {
	f, err := OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	mine := lock(f)
	if mine && runtime.GOOS != "windows" { // which removes none that is open, by us or by another
		_ = os.Remove(path) // it is in nobody's way
	}
	_ = f.Close()
	if mine && runtime.GOOS == "windows" {
		_ = os.Remove(path)
	}
}

func buffered(f *os.File, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, 64<<10)
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

// Names makes the names in dir durable. Windows has no such call and needs none; a file system that refuses it (some
// over a network do) keeps names in a way of its own.
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
