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

// ErrForeign says that what stands under a name of a crawl directory is not the crawl's own: a link, a pipe, a socket,
// a device, or a file that is to be written to and has another name outside of its folder.
var ErrForeign = errors.New("a crawl directory holds regular files and folders only")

// foreign is the error of a path that has something else.
func foreign(op, path, what string) error {
	return &fs.PathError{Op: op, Path: path, Err: fmt.Errorf("it is %s, but %w: remove it, or replace it with a copy of its target", what, ErrForeign)}
}

// kind names what mode says that a file is, if that is neither a regular file nor a folder.
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

// Open is os.Open for a regular file, and for nothing that leads elsewhere or keeps its reader waiting: whoever was
// given a crawl directory does not know what stands in it. The folder that path names is not looked at; Folder is for
// that.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// Create is os.Create under the same rules. A file of that name that has others besides keeps what it has under those.
func Create(path string) (*os.File, error) {
	return OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// OpenFile is os.OpenFile under the same rules. A file that is opened to be written to, and not made anew, has no name
// outside of its folder: else what is written here would change a file elsewhere.
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

// patience is how often a file is looked for that others make, replace or remove while it is opened.
const patience = 100

var errMoved = errors.New("another file takes its place again and again")

// opening is a file that is opened.
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
			return nil, o.failed(errMoved)
		}
		return f, o.failed(err)
	case err != nil:
		return nil, o.failed(err)
	case before.IsDir():
		return nil, &fs.PathError{Op: "open", Path: o.path, Err: syscall.EISDIR}
	case !before.Mode().IsRegular():
		return nil, foreign("open", o.path, kind(before.Mode()))
	}
	f, err := o.root.OpenFile(o.name, o.flag&^os.O_TRUNC|nonblock, o.perm)
	if err != nil {
		return nil, o.failed(err)
	}
	if err = o.settle(f, before); err != nil {
		_ = f.Close() // the error is what matters
		return nil, err
	}
	return f, nil
}

// settle makes sure that f is what was looked at, that writing to it changes nothing elsewhere, and that it is empty if
// that is wanted.
func (o *opening) settle(f *os.File, before fs.FileInfo) error {
	fi, err := f.Stat()
	if err != nil {
		return o.failed(err)
	}
	if !os.SameFile(before, fi) {
		return o.failed(errMoved)
	}
	if o.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return nil
	}
	elsewhere, err := namedElsewhere(o.root, f, fi)
	switch {
	case err != nil:
		return o.failed(err)
	case elsewhere && o.flag&os.O_TRUNC == 0:
		return foreign("open", o.path, "one file with another outside of its folder (a hard link)")
	case elsewhere:
		return o.failed(cmp.Or(o.root.Remove(o.name), errMoved)) // and it is made, next time
	case o.flag&os.O_TRUNC != 0:
		return o.failed(f.Truncate(0))
	}
	return nil
}

// failed makes an error of a name in a folder one of the path.
func (o *opening) failed(err error) error { return about(o.path, err) }

// namedElsewhere reports whether f has a name outside of the folder root.
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

// about makes an error of a name in a folder one of path.
func about(path string, err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return &fs.PathError{Op: "open", Path: path, Err: p.Err}
	}
	if errors.Is(err, errMoved) {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return err
}

// ReadFile is os.ReadFile under the rules of Open.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return b, errors.Join(err, f.Close())
}

// Folder refuses what is no folder, or a link to one. It returns fs.ErrNotExist of nothing.
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

// MakeFolder makes a folder and those above it, durably, unless it is there.
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

// Inspect refuses a crawl directory in which, or in a folder of which, something other than files and folders stands.
// It looks into the folders named alone: others may be large.
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
		// Files that come and go while a crawl runs are looked at again: some file systems do not say it at once.
		path := filepath.Join(dir, e.Name())
		if fi, err := os.Lstat(path); err == nil && !fi.IsDir() && !fi.Mode().IsRegular() {
			return foreign("open", path, kind(fi.Mode()))
		}
	}
	return err
}

// Digest reads a file, as Open opens it, for its size and its SHA-256.
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
