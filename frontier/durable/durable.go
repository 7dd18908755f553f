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

// Draft is a file that is being written beside its place, for who cannot do that in one function, as File asks for. It
// has its name after Commit, whole and durable; until then, and after Abort, nothing has changed at that place.
type Draft struct {
	*os.File
	path  string
	place func(fresh, path string) error
	names func(dir string) error
	ended bool
}

// Begin begins the file that will stand at path, under the rules of File.
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

// Commit makes the file durable and gives it its name. After an error nothing is left, except where the file has its name
// and the folder could not be synced.
func (d *Draft) Commit() error {
	if d.ended {
		return of(d.path, os.ErrClosed)
	}
	// Windows renames no open file. Elsewhere its lock, which says that somebody is at work, is kept until it has its
	// name.
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

// Abort removes what was written. It does nothing after Commit or another Abort.
func (d *Draft) Abort() {
	if d.ended {
		return
	}
	d.ended = true
	_ = errors.Join(d.Close(), os.Remove(d.Name())) // closed twice, maybe; the next draft of the path removes it
}

// Wrong says which file an error is about: the one that the draft will be.
func (d *Draft) Wrong(err error) error { return of(d.path, err) }

// ErrHeld says that another process holds a folder, or another part of this one.
var ErrHeld = errors.New("another process is at work in it")

// Hold takes a folder for one process alone, until it is closed or the process ends, however that ends. Another that
// wants to have it gets ErrHeld and is not kept waiting. It keeps out those only who Hold, too. A file system without
// locks keeps out nobody.
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
