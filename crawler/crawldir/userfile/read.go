// Package userfile opens files named on a command line, and refuses to overwrite files that curtsy did not write.
//
// A name is typed in haste, and completed by a shell. So no option replaces a file that it has not made (Kind.Writable),
// and none reads from a device that never ends (Open, ReadAll, Readable). Pipes and terminals are read: they are how
// people hand over what stands in no file.
//
// The files of a crawl directory are not its business: frontier/durable opens those.
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

	"golang.org/x/term"

	"curtsy/storage/plainly"
)

// Open is os.Open for what ends: a file, a pipe, a terminal, or the device that is empty.
func Open(path string) (*os.File, error) {
	fi, err := os.Stat(path)
	if err == nil && fi.Mode()&fs.ModeDevice != 0 && fi.Mode()&fs.ModeCharDevice == 0 {
		return nil, device(path) // not even opened: a drive may have to start for it
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	fi, err = f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, f.Close())
	}
	if fi.Mode()&fs.ModeDevice != 0 && !empty(fi) && !term.IsTerminal(int(f.Fd())) {
		_ = f.Close() // only read
		return nil, device(path)
	}
	return f, nil
}

// Readable refuses what Open refuses and says nothing of what cannot be looked at: whoever opens it does.
func Readable(path string) error {
	fi, err := os.Stat(path)
	if err != nil || fi.Mode()&fs.ModeDevice == 0 {
		return nil // a pipe, among others, which would be used up
	}
	f, err := Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// ReadAll reads a file of at most so many bytes.
func ReadAll(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s is larger than %s", path, plainly.ExactSize(most))
	}
	return b, err
}

// empty reports whether a device is the one that has nothing in it.
func empty(fi fs.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(fi, null)
}

func device(path string) error { return fmt.Errorf("%s is a device, not a regular file", path) }

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
