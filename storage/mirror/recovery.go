package mirror

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"curtsy/storage/sorted"
)

// indexEnd ends the names of indexes in tempDir, which are called by a number.
const indexEnd = ".cdxj"

// recoverTree brings the directory to where a build begins, whatever an earlier one left there.
func (d *disk) recoverTree() error {
	if err := d.checkLeftovers(); err != nil {
		return err
	}
	err := d.ours(treeDir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := d.root.Lstat(oldDir); err == nil {
			// A build died between its two renames. Its output is whole, but only durable as far as the system got.
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

// checkLeftovers makes sure that an earlier build left the files under the names that a build uses: it made tempDir
// first, and would have removed it last. Somebody else's files stay.
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

// temporary reports whether what stands under the name of the temporary directory holds nothing but what a build puts
// there: indexes of segments, and sorted lines.
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

// ours reports that a tree's place is taken by something that is not a mirror: it is not replaced.
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
