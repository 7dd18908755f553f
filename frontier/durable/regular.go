package durable

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrForeign reports that a name of a crawl directory is not the crawl's own: a link, a pipe, a socket, a device, or a
// file to write to that has another name outside of its folder.
var ErrForeign = errors.New("a crawl directory holds regular files and folders only")

func foreign(op, path, what string) error {
	return &fs.PathError{Op: op, Path: path, Err: fmt.Errorf("it is %s, but %w: remove it, or replace it with a copy of its target", what, ErrForeign)}
}

// kind names the type of a file that is neither a regular file nor a folder.
func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file"
}

// Open is os.Open for a regular file: it follows no link and does not block on a pipe, since a crawl directory may come
// from others. It does not check the folder of path, which Folder does.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// Create is os.Create under the same rules. If the file has other names, those keep its content.
func Create(path string) (*os.File, error) {
	return OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// OpenFile is os.OpenFile under the same rules. An existing file that is opened for writing must have no name outside
// of its folder: writing would change a file elsewhere.
func OpenFile(path string, flag int, perm fs.FileMode) (f *os.File, err error) {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, about(path, err)
	}
	defer root.Close()
	o := opening{root: root, path: path, name: name, flag: flag, perm: perm}
	for range patience {
		if f, err = o.try(); !errors.Is(err, errMoved) {
			break
		}
	}
	return f, err
}

const patience = 100 // attempts to open a file that others create, replace or remove meanwhile

var errMoved = errors.New("another file takes its place again and again")

type opening struct {
	root       *os.Root
	path, name string
	flag       int
	perm       fs.FileMode
}

func (o *opening) try() (*os.File, error) {
	before, err := o.root.Lstat(o.name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.flag&os.O_CREATE != 0:
		f, err := o.root.OpenFile(o.name, o.flag|os.O_EXCL, o.perm)
		if errors.Is(err, fs.ErrExist) && o.flag&os.O_EXCL == 0 {
			return nil, o.fail(errMoved)
		}
		return f, o.fail(err)
	case err != nil:
		return nil, o.fail(err)
	case before.IsDir():
		return nil, &fs.PathError{Op: "open", Path: o.path, Err: syscall.EISDIR}
	case !before.Mode().IsRegular():
		return nil, foreign("open", o.path, kind(before.Mode()))
	}
	f, err := o.root.OpenFile(o.name, o.flag&^os.O_TRUNC|nonblock, o.perm)
	if err != nil {
		return nil, o.fail(err)
	}
	if err = o.settle(f, before); err != nil {
		_ = f.Close() // the first error matters more
		return nil, err
	}
	return f, nil
}

// settle checks that f is the file before, that writing to it changes nothing elsewhere, and truncates it if requested.
func (o *opening) settle(f *os.File, before fs.FileInfo) error {
	fi, err := f.Stat()
	if err != nil {
		return o.fail(err)
	}
	if !os.SameFile(before, fi) {
		return o.fail(errMoved)
	}
	if o.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return nil
	}
	elsewhere, err := namedElsewhere(o.root, f, fi)
	switch {
	case err != nil:
		return o.fail(err)
	case elsewhere && o.flag&os.O_TRUNC == 0:
		return foreign("open", o.path, "one file with another outside of its folder (a hard link)")
	case elsewhere:
		return o.fail(cmp.Or(o.root.Remove(o.name), errMoved)) // the next attempt creates it
	case o.flag&os.O_TRUNC != 0:
		return o.fail(f.Truncate(0))
	}
	return nil
}

func (o *opening) fail(err error) error { return about(o.path, err) }

func namedElsewhere(root *os.Root, f *os.File, fi fs.FileInfo) (bool, error) {
	names, err := names(f, fi)
	if names <= 1 || err != nil {
		return false, err
	}
	dir, err := root.Open(".")
	if err != nil {
		return false, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if other, err := e.Info(); err == nil && os.SameFile(fi, other) {
			names--
		}
	}
	return names > 0, nil
}

// about replaces the name in err by path.
func about(path string, err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return &fs.PathError{Op: "open", Path: path, Err: p.Err}
	}
	if errors.Is(err, errMoved) {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return err
}

func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return b, errors.Join(err, f.Close())
}

// Folder returns an error unless path is a folder, and not a link to one; fs.ErrNotExist when nothing is there.
func Folder(path string) error {
	fi, err := os.Lstat(path)
	switch {
	case err != nil || fi.IsDir():
		return err
	case fi.Mode().IsRegular():
		return foreign("open", path, "a file, where a folder is wanted")
	}
	return foreign("open", path, kind(fi.Mode()))
}

// MakeFolder makes a folder and its parents, durably, unless it exists.
func MakeFolder(path string) error {
	err := Folder(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return Names(filepath.Dir(path))
}

// Inspect returns ErrForeign if a crawl directory, or one of the named folders in it, has anything but files and
// folders. Other folders, which may be large, are not read.
func Inspect(dir string, folders ...string) error {
	if err := inspect(dir); err != nil {
		return err
	}
	for _, name := range folders {
		if err := inspect(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func inspect(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if t := e.Type(); t.IsDir() || t.IsRegular() {
			continue
		}
		// Some file systems report the type of a file that is replaced meanwhile late.
		path := filepath.Join(dir, e.Name())
		if fi, err := os.Lstat(path); err == nil && !fi.IsDir() && !fi.Mode().IsRegular() {
			return foreign("open", path, kind(fi.Mode()))
		}
	}
	return err
}

// Digest returns the size and the SHA-256 of a file, which it opens as Open does.
func Digest(ctx context.Context, path string) (size int64, sum [sha256.Size]byte, err error) {
	f, err := Open(path)
	if err != nil {
		return 0, sum, err
	}
	defer f.Close()
	h := sha256.New()
	for ctx.Err() == nil {
		n, err := io.CopyN(h, f, 1<<20)
		size += n
		if errors.Is(err, io.EOF) {
			h.Sum(sum[:0])
			return size, sum, nil
		}
		if err != nil {
			return 0, sum, err
		}
	}
	return 0, sum, ctx.Err()
}
