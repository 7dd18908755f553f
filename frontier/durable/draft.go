package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

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
