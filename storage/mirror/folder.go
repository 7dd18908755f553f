package mirror

import (
	"errors"
	"os"
	"path"
)

// folder keeps a directory open: URLs that follow each other mostly have their files in one, and a name of several
// parts is looked up part by part. The zero value is ready.
type folder struct {
	name string
	root *os.Root
}

// of returns the directory of a file, and what the file is called there.
func (f *folder) of(root *os.Root, name string) (dir *os.Root, base string, err error) {
	at, base := path.Split(name)
	if f.has(at) {
		return f.root, base, nil
	}
	if err := f.close(); err != nil {
		return nil, "", err
	}
	if f.root, err = root.OpenRoot(at); err != nil {
		f.root = nil
		return nil, "", err
	}
	f.name = at
	return f.root, base, nil
}

// has reports whether it is that directory, whose name ends in a slash.
func (f *folder) has(dir string) bool { return f.root != nil && f.name == dir }

func (f *folder) close() error {
	if f.root == nil {
		return nil
	}
	err := f.root.Close()
	f.root = nil
	return err
}

// folders are what a worker has open: of the tree that it writes, and of the one before.
type folders struct {
	next, was folder
	buf       []byte // for comparing files
}

func (f *folders) close() error { return errors.Join(f.next.close(), f.was.close()) }
