package mirror

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"curtsy/frontier/durable"
	"curtsy/storage/mirror/layout"
	"curtsy/storage/sorted"
)

// Names in the crawl directory.
const (
	treeDir = "mirror"
	nextDir = "mirror.new" // being written; after the exchange, the previous tree
	oldDir  = "mirror.old" // the previous tree, where two names cannot be exchanged
	tempDir = "mirror.tmp"
)

// disk is the crawl directory. Every change of it is a method, so that tests can stop at each.
type disk struct {
	root     *os.Root
	hold     io.Closer
	path     string
	step     func(what string) error
	exchange func(a, b string) error
	sync     func(dir string) error

	hasTree bool // there is a previous tree

	mu   sync.Mutex
	made map[string]bool // directories of the new tree
}

func openDisk(dir string, o *Options) (*disk, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("mirror: open the directory: %w", err)
	}
	hold, err := durable.Hold(dir)
	if err != nil {
		_ = root.Close() // only opened
		if errors.Is(err, durable.ErrHeld) {
			return nil, fmt.Errorf("mirror: another build works in %s; wait until it has ended: %w", dir, err)
		}
		return nil, fmt.Errorf("mirror: lock %s: %w", dir, err)
	}
	d := &disk{root: root, hold: hold, path: dir, step: o.step, exchange: exchange, sync: syncTree,
		made: map[string]bool{}}
	if d.step == nil {
		d.step = func(string) error { return nil }
	}
	if o.twoRenames {
		d.exchange = func(_, _ string) error { return errors.ErrUnsupported }
	}
	if o.hasty {
		d.sync = func(string) error { return nil }
	}
	return d, nil
}

func (d *disk) remove(name string) error {
	if _, err := d.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := d.step("remove " + name); err != nil {
		return err
	}
	return d.root.RemoveAll(name)
}

func (d *disk) rename(from, to string) error {
	if err := d.step("rename " + from + " " + to); err != nil {
		return err
	}
	return d.root.Rename(from, to)
}

func (d *disk) mkdir(name string) error {
	if err := d.step("mkdir " + name); err != nil {
		return err
	}
	return d.root.Mkdir(name, 0o755)
}

func (d *disk) parents(name string) error {
	dir := path.Dir(nextDir + "/" + name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made[dir] {
		return nil
	}
	if err := d.step("mkdir " + dir); err != nil {
		return err
	}
	if err := d.root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	d.made[dir] = true
	return nil
}

// create writes a file of the new tree. It does not overwrite an existing one.
func (d *disk) create(name string, changed time.Time, write func(f *os.File) error) error {
	if err := d.parents(name); err != nil {
		return err
	}
	if err := d.step("create " + name); err != nil {
		return err
	}
	f, err := d.root.OpenFile(nextDir+"/"+name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	err = errors.Join(d.step("write "+name), write(f))
	if err = errors.Join(err, f.Close()); err != nil || changed.IsZero() {
		return err
	}
	return d.root.Chtimes(nextDir+"/"+name, changed, changed)
}

// old returns a regular file of the previous tree, or nil.
func (d *disk) old(name string) os.FileInfo {
	if !d.hasTree {
		return nil
	}
	fi, err := d.root.Lstat(treeDir + "/" + name)
	if err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	return fi
}

func (d *disk) equal(name string, octets []byte) bool {
	was, err := d.root.ReadFile(treeDir + "/" + name)
	return err == nil && bytes.Equal(was, octets)
}

// share links a file of the previous tree into the new one; false if the file system cannot.
func (d *disk) share(name string) (bool, error) {
	if err := d.parents(name); err != nil {
		return false, err
	}
	if err := d.step("link " + name); err != nil {
		return false, err
	}
	return d.root.Link(treeDir+"/"+name, nextDir+"/"+name) == nil, nil
}

// swap replaces the previous tree by the new one, atomically where the system can.
func (d *disk) swap() error {
	if err := d.step("sync"); err != nil {
		return err
	}
	if err := d.sync(d.path); err != nil {
		return fmt.Errorf("make the tree durable: %w", err)
	}
	switch err := d.ours(treeDir); {
	case errors.Is(err, fs.ErrNotExist):
		if err := d.rename(nextDir, treeDir); err != nil {
			return err
		}
		return durable.Names(d.path)
	case err != nil:
		return err // someone created it meanwhile
	}
	if err := d.step("exchange"); err != nil {
		return err
	}
	err := d.exchange(filepath.Join(d.path, nextDir), filepath.Join(d.path, treeDir))
	if errors.Is(err, errors.ErrUnsupported) {
		// For a moment there is no tree. After a crash the next build restores the previous one.
		if err := d.rename(treeDir, oldDir); err != nil {
			return err
		}
		err = d.rename(nextDir, treeDir)
	}
	if err != nil {
		return err
	}
	return durable.Names(d.path)
}

// indexEnd ends the names of indexes in tempDir, after a number.
const indexEnd = ".cdxj"

// recoverTree prepares the directory for a build, after any earlier one.
func (d *disk) recoverTree() error {
	if err := d.checkLeftovers(); err != nil {
		return err
	}
	err := d.ours(treeDir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := d.root.Lstat(oldDir); err == nil {
			// A build died between its two renames. Its output is whole, but perhaps not durable.
			if err := d.rename(oldDir, treeDir); err != nil {
				return err
			}
		}
	} else if err != nil {
		return err
	}
	if _, err := d.root.Lstat(treeDir); err == nil {
		d.hasTree = true
	}
	for _, name := range []string{nextDir, oldDir, tempDir} {
		if err := d.remove(name); err != nil {
			return err
		}
	}
	return nil
}

// checkLeftovers makes sure that an earlier build left nextDir and oldDir: it makes tempDir first and removes
// it last.
func (d *disk) checkLeftovers() error {
	fi, err := d.root.Lstat(tempDir)
	died := err == nil
	if died && !d.temporary(fi) {
		return d.inTheWay(tempDir)
	}
	for _, name := range []string{nextDir, oldDir} {
		if _, err := d.root.Lstat(name); err == nil && !died {
			return d.inTheWay(name)
		}
	}
	if err := d.ours(oldDir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d *disk) inTheWay(name string) error {
	return fmt.Errorf("mirror: %s is in the way, and no build left it there; move it away, under another name",
		filepath.Join(d.path, name))
}

// temporary reports whether tempDir is a directory with only a build's files: indexes of segments and sorted lines.
func (d *disk) temporary(fi fs.FileInfo) bool {
	if !fi.IsDir() {
		return false
	}
	f, err := d.root.Open(tempDir)
	if err != nil {
		return false
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	return err == nil && !slices.ContainsFunc(names, func(name string) bool {
		number, _ := strings.CutSuffix(name, indexEnd)
		_, err := strconv.ParseUint(number, 10, 64)
		return (err != nil || number == name) && !strings.HasPrefix(name, sorted.Prefix)
	})
}

// ours returns an error if tree is not a mirror, which must not be replaced.
func (d *disk) ours(tree string) error {
	fi, err := d.root.Lstat(tree)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return fmt.Errorf("mirror: %s is not a directory; move it away", filepath.Join(d.path, tree))
	}
	fi, err = d.root.Lstat(tree + "/" + MapFile)
	if err == nil && fi.Mode().IsRegular() || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := d.root.Open(tree)
	if err != nil {
		return err
	}
	defer f.Close()
	if names, _ := f.Readdirnames(1); len(names) > 0 {
		return fmt.Errorf("mirror: %s has files but no %s, so it is not a mirror; move it away",
			filepath.Join(d.path, tree), MapFile)
	}
	return nil
}

// keepTheirs adds to the new tree the files of the previous one that its map does not name: users put them there. If a
// new file needs such a name, the build fails before it replaces anything, except for a symbolic link, which is dropped.
func (d *disk) keepTheirs(was *previous) (kept int64, err error) {
	if was.dir == "" || !d.hasTree || len(was.records) == 0 {
		return 0, nil // without a map, the owners are unknown
	}
	err = fs.WalkDir(d.root.FS(), treeDir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name := strings.TrimPrefix(path, treeDir+"/")
		if _, mapped := was.records[maphash.String(was.seed, name)]; mapped || slices.Contains(layout.Reserved, name) {
			return nil
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		done, err := d.keepOne(name, fi)
		if done {
			kept++
		}
		return err
	})
	return kept, err
}

func (d *disk) keepOne(name string, fi fs.FileInfo) (bool, error) {
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
	_, err := d.again(name, fi)
	return true, err
}

// again links a file of the previous tree into the new one; shared is false if it had to be copied.
func (d *disk) again(name string, fi fs.FileInfo) (shared bool, err error) {
	if shared, err = d.share(name); shared || err != nil {
		return shared, err
	}
	from, err := d.root.Open(treeDir + "/" + name)
	if err != nil {
		return false, err
	}
	defer from.Close()
	return false, d.create(name, fi.ModTime(), func(f *os.File) error {
		_, err := io.Copy(f, from)
		return err
	})
}

// isTaken reports whether the new tree has a file of that name, or one where its directory would be.
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
