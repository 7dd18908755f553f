package userfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Kind is what an option writes.
type Kind struct {
	Name string   // what it is, as in "an audit page"
	Mark string   // what stands in the beginning of each of them and of nothing else; empty if they have no such thing
	Own  []string // the names of a crawl directory that are its own
}

// Place says which names a crawl directory has, and how one is told from another folder.
type Place struct {
	Names []string // of files and folders at its top
	Is    func(dir string) bool
}

// markWithin is how many bytes of a file may stand before the end of its mark.
const markWithin = 1 << 10

// Writable refuses a path where something stands that k has not made, and one inside of what is a crawl's own.
// A path that is not there may be written to, and an empty file, a pipe, a terminal, or the like.
func (k Kind) Writable(path string, p Place) error {
	if err := k.Outside(path, p); err != nil {
		return err
	}
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s is a link that leads nowhere: name another file, or remove it first", path)
		}
		return nil
	case err != nil:
		return err
	case fi.IsDir():
		return fmt.Errorf("%s is a folder: name a file", path)
	case fi.Mode()&fs.ModeDevice != 0 && fi.Mode()&fs.ModeCharDevice == 0:
		return fmt.Errorf("%s is a drive: name a file", path)
	case !fi.Mode().IsRegular() || fi.Size() == 0:
		return nil
	case k.Mark == "":
		return fmt.Errorf("%s exists: name a new file, or remove it first", path)
	}
	ours, err := k.made(path)
	if err == nil && !ours {
		err = fmt.Errorf("%s exists and is not %s of curtsy's making: name a new file, or remove it first", path, k.Name)
	}
	return err
}

// Outside refuses a path inside of what is a crawl's own and not k's.
func (k Kind) Outside(path string, p Place) error {
	own, below, ok := p.holds(path)
	if !ok || !below && slices.Contains(k.Own, filepath.Base(own)) {
		return nil
	}
	return fmt.Errorf("%s is the crawl's own: name a place outside of it", own)
}

// made reports whether a file is of the kind.
func (k Kind) made(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close() // only read
	head, err := io.ReadAll(io.LimitReader(f, markWithin))
	return bytes.Contains(head, []byte(k.Mark)), err
}

// holds finds what is a crawl's own and is at path, or has path below it.
func (p Place) holds(path string) (own string, below, ok bool) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return "", false, false
	}
	dir, name := filepath.Split(whole)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for dir = filepath.Clean(dir); ; dir, name, below = filepath.Dir(dir), filepath.Base(dir), true {
		if p.owns(name) && p.Is(dir) {
			return filepath.Join(dir, name), below, true
		}
		if filepath.Dir(dir) == dir {
			return "", false, false
		}
	}
}

// owns reports whether a name is one of a crawl directory. Some systems do not tell small letters from capitals.
func (p Place) owns(name string) bool {
	return slices.ContainsFunc(p.Names, func(own string) bool { return strings.EqualFold(name, own) })
}
