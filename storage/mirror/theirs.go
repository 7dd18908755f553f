package mirror

import (
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/storage/mirror/layout"
)

// keepTheirs gives the new tree what somebody else put into the one before: what its map does not name. That stays where
// it is; a new file that needs its name is refused before anything is replaced. A symbolic link that stands in for a name
// of the mirror's own is not kept.
func (d *disk) keepTheirs(in *folders, was *previous) (kept int64, err error) {
	if was.dir == "" || !d.hasTree || len(was.records) == 0 {
		return 0, nil // none, or nobody knows what is whose
	}
	err = fs.WalkDir(d.root.FS(), treeDir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name := strings.TrimPrefix(path, treeDir+"/")
		if slices.Contains(layout.Reserved, name) || was.names(name) {
			return nil
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		done, err := d.keepOne(in, name, fi)
		if done {
			kept++
		}
		return err
	})
	return kept, err
}

// names reports whether a file of the tree before is one that its map names.
func (b *previous) names(file string) bool {
	_, ok := b.records[maphash.String(b.seed, file)]
	return ok
}

func (d *disk) keepOne(in *folders, name string, fi fs.FileInfo) (bool, error) {
	link := fi.Mode()&fs.ModeSymlink != 0
	if d.isTaken(name) {
		if link {
			return false, nil
		}
		return false, fmt.Errorf("%s is not a file of the mirror, and the new mirror needs its name; move it away",
			filepath.Join(d.path, treeDir, filepath.FromSlash(name)))
	}
	switch {
	case link:
		to, err := d.root.Readlink(treeDir + "/" + name)
		if err == nil {
			err = d.parents(name)
		}
		if err == nil {
			err = d.step("link " + name)
		}
		if err == nil {
			err = d.root.Symlink(to, nextDir+"/"+name)
		}
		return true, err
	case !fi.Mode().IsRegular():
		return false, fmt.Errorf("%s is not a file of the mirror and cannot be kept; move it away",
			filepath.Join(d.path, treeDir, filepath.FromSlash(name)))
	}
	if done, err := d.share(name); done || err != nil {
		return done, err
	}
	from, err := d.root.Open(treeDir + "/" + name)
	if err != nil {
		return false, err
	}
	defer from.Close()
	return true, d.create(in, name, fi.ModTime(), func(f *os.File) error {
		_, err := io.Copy(f, from)
		return err
	})
}

// isTaken reports whether the new tree has a file of a name, or one where that would have a folder.
func (d *disk) isTaken(name string) bool {
	if _, err := d.root.Lstat(nextDir + "/" + name); err == nil {
		return true
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if fi, err := d.root.Lstat(nextDir + "/" + dir); err == nil {
			return !fi.IsDir()
		}
	}
	return false
}
