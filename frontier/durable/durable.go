// Package durable creates and replaces files that survive a power failure, without following links out of a directory.
//
// os.File.Sync makes the contents of a file durable. That the file exists, is renamed or removed becomes durable by
// syncing its directory (fsync(2), POSIX.1-2024). File does both.
//
// Open, Create, OpenFile, ReadFile and MakeFolder are those of package os for regular files and folders only: links are
// not followed, pipes and devices not opened, and a file with a name elsewhere is not written to. Inspect checks a
// whole directory. All files of a crawl directory are opened through these.
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

// File writes a file of a crawl directory, readable by others, whole and durable; or leaves the old one unchanged.
// Anything but a regular file at path is ErrForeign. Errors name path, not the draft; the next File of the same path
// removes the draft of a killed one.
func File(path string, write func(io.Writer) error) error {
	return replace(path, 0o666, write, Names)
}

// WriteFile is File for bytes, with the permissions of a new file.
func WriteFile(path string, b []byte, perm fs.FileMode) error {
	return replace(path, perm, func(w io.Writer) error { _, err := w.Write(b); return err }, Names)
}

// Output is File for a path that a user names. A link is replaced; a device, a pipe or the like is written to directly.
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

// New is File for a private file that must not exist: else it returns fs.ErrExist, and of two concurrent calls one
// succeeds.
func New(path string, write func(io.Writer) error) error {
	return beside(path, 0o600, write, link, Names)
}

// Publish gives a durable file the name path, which must not exist (fs.ErrExist), and makes that durable.
func Publish(fresh, path string) error {
	if err := link(fresh, path); err != nil {
		return err
	}
	return Names(filepath.Dir(path))
}

// link renames a file by a link and a removal: a link, unlike a rename, never replaces a file.
func link(fresh, path string) error {
	err := os.Link(fresh, path)
	switch {
	case err == nil:
		_ = os.Remove(fresh) // a second name does no harm
		return nil
	case errors.Is(err, fs.ErrExist):
		return err
	}
	// A file system without links.
	if _, none := os.Lstat(path); !errors.Is(none, fs.ErrNotExist) {
		return cmp.Or(none, fs.ErrExist)
	}
	return os.Rename(fresh, path)
}

// replace is File with permissions and a function that makes names durable.
func replace(path string, perm fs.FileMode, write func(io.Writer) error, names func(dir string) error) error {
	if fi, err := os.Lstat(path); err == nil && !fi.Mode().IsRegular() && !fi.IsDir() {
		return foreign("write", path, kind(fi.Mode()))
	}
	return beside(path, perm, write, os.Rename, names)
}

// beside writes a draft, and has place rename it.
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

const draftSuffix = ".new" // a draft is called .NAME.LETTERS.new

// draft makes the draft of path, and removes abandoned ones.
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
			removeAbandoned(filepath.Join(dir, e.Name()))
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
		_ = f.Close() // another draft removes it: it was not locked yet
	}
}

// removeAbandoned removes a draft unless it is in use.
func removeAbandoned(path string) {
	f, err := OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	mine := lock(f)
	if mine && runtime.GOOS != "windows" { // which does not remove open files
		_ = os.Remove(path) // a draft that stays does no harm
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

// Names makes the names in dir durable. Windows has no such call and needs none; file systems that refuse it (some
// network ones do) keep names in their own way.
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

// Draft is a file that is being written beside its place, where File does not fit. Commit makes it durable and renames
// it; until then, and after Abort, nothing has changed at that place.
type Draft struct {
	*os.File
	path  string
	place func(fresh, path string) error
	names func(dir string) error
	ended bool
}

// Begin begins the draft of path, under the rules of File.
func Begin(path string) (*Draft, error) {
	if fi, err := os.Lstat(path); err == nil && !fi.Mode().IsRegular() && !fi.IsDir() {
		return nil, foreign("write", path, kind(fi.Mode()))
	}
	f, err := draft(path, 0o666)
	if err != nil {
		return nil, of(path, err)
	}
	return &Draft{File: f, path: path, place: os.Rename, names: Names}, nil
}

// Commit makes the file durable and gives it its name. After an error nothing is left, unless only the sync of the
// folder failed.
func (d *Draft) Commit() error {
	if d.ended {
		return of(d.path, os.ErrClosed)
	}
	// Windows does not rename open files. Elsewhere the file keeps its lock until it has its name.
	err := d.Sync()
	if err == nil && runtime.GOOS == "windows" {
		err = d.Close()
	}
	if err == nil {
		err = d.place(d.Name(), d.path)
	}
	if err != nil {
		d.Abort()
		return of(d.path, err)
	}
	d.ended = true
	if runtime.GOOS != "windows" {
		err = d.Close()
	}
	return of(d.path, errors.Join(err, d.names(filepath.Dir(d.path))))
}

// Abort removes the draft. It does nothing after Commit or another Abort.
func (d *Draft) Abort() {
	if d.ended {
		return
	}
	d.ended = true
	_ = errors.Join(d.Close(), os.Remove(d.Name())) // may be closed already; the next draft of the path removes it
}

// Wrong makes an error about the draft one about its path.
func (d *Draft) Wrong(err error) error { return of(d.path, err) }

// ErrHeld reports that another process, or another part of this one, holds a folder.
var ErrHeld = errors.New("another process is at work in it")

// Hold locks a folder for one caller until it is closed or the process ends. Another Hold returns ErrHeld at once. The
// lock is advisory, and absent on a file system without locks.
func Hold(dir string) (io.Closer, error) {
	f, alone, err := hold(dir)
	switch {
	case err != nil:
		return nil, err
	case !alone:
		err = ErrHeld
		if f != nil {
			err = errors.Join(err, f.Close())
		}
		return nil, &os.PathError{Op: "hold", Path: dir, Err: err}
	case f == nil:
		return io.NopCloser(nil), nil
	}
	return f, nil
}
