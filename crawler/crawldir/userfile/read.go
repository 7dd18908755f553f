// Package userfile opens files named on a command line, and refuses to overwrite files that curtsy did not write.
//
// People mistype names, and shells complete them. So no option replaces a file of another kind (Kind.Writable), and none
// reads from an endless device (Open, ReadAll, Readable). Pipes and terminals are valid inputs.
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

// Open is os.Open for finite input: a file, a pipe, a terminal, or the null device.
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

// Readable refuses what Open refuses. It leaves other errors to the caller that opens the file.
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

// ReadAll reads a file of at most most bytes.
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

func empty(fi fs.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(fi, null)
}

func device(path string) error { return fmt.Errorf("%s is a device, not a regular file", path) }

// Kind is a kind of output file.
type Kind struct {
	Name string   // with its article: "an audit page"
	Mark string   // in the first bytes of each such file and of no other; empty if the kind has none
	Own  []string // names in a crawl directory for this kind
}

// Place lists the names in a crawl directory, and recognises it.
type Place struct {
	Names []string // of files and folders at its top
	Is    func(dir string) bool
}

// markWithin is how many bytes of a file may precede the end of its mark.
const markWithin = 1 << 10

// Writable refuses an existing non-empty file of another kind, and a path inside a crawl's own files.
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

// Outside refuses a path in a crawl's own files that k does not own.
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

// holds finds a crawl's own file or folder that is path or contains it. Some file systems ignore case.
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
		is := func(own string) bool { return strings.EqualFold(name, own) }
		if slices.ContainsFunc(p.Names, is) && p.Is(dir) {
			return filepath.Join(dir, name), below, true
		}
		if filepath.Dir(dir) == dir {
			return "", false, false
		}
	}
}
