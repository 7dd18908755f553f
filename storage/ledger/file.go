package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"curtsy/frontier/durable"
)

const (
	suffix       = ".jsonl"
	packedSuffix = ".zst" // behind suffix: a complete segment
	newSuffix    = ".new" // behind both: one that is being made, and nothing yet
)

// system is what a Writer does to a file system. A test stands in for it to break off anywhere.
type system struct {
	create  func(path string) (file, error) // make a file, or go on with it
	rename  func(from, to string) error
	remove  func(path string) error
	syncDir func(dir string) error
	keep    func(path string, b []byte) error                        // write a file whole and durable, or not at all
	write   func(path string, content func(w io.Writer) error) error // make a file anew, which a kill may tear
}

func realSystem() system {
	return system{
		create: create, rename: os.Rename, remove: os.Remove, syncDir: durable.Names,
		keep:  func(path string, b []byte) error { return durable.WriteFile(path, b, 0o644) },
		write: anew,
	}
}

// anew makes a file anew.
func anew(path string, content func(w io.Writer) error) error {
	f, err := durable.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(content(f), f.Close())
}

// file is what a Writer needs of an *os.File.
type file interface {
	io.WriteCloser
	Sync() error
}

func path(dir string, number int) string {
	return filepath.Join(dir, fmt.Sprintf("%06d%s", number, suffix))
}

// segments returns the numbers of the segments in dir, in their order. Other files are left alone.
func segments(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), packedSuffix)
		digits, ok := strings.CutSuffix(name, suffix)
		n, err := strconv.Atoi(digits)
		// Only the spelling we write ourselves: "+1", "1" and "0000001" are other files.
		if ok && err == nil && n >= 0 && path(dir, n) == filepath.Join(dir, name) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// create makes a segment, or goes on with one.
func create(path string) (file, error) {
	f, err := durable.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// mend cuts the segment of path behind its last whole line and returns its size before and after.
func mend(path string) (size, end int64, err error) {
	f, err := durable.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	if end, err = whole(f); err != nil {
		return 0, 0, fmt.Errorf("read %s: %w", path, err)
	}
	if end == info.Size() {
		return end, end, nil
	}
	if err := f.Truncate(end); err != nil {
		return 0, 0, err
	}
	return info.Size(), end, f.Sync()
}

// whole returns the offset behind the last whole line of r. A NUL, which JSON never has, ends what is whole: a loss
// of power can leave a stretch of them where bytes never reached the disk.
func whole(r io.Reader) (end int64, err error) {
	buf := make([]byte, 64<<10)
	for at := int64(0); ; {
		n, err := r.Read(buf)
		b := buf[:n]
		nul := bytes.IndexByte(b, 0)
		if nul >= 0 {
			b = b[:nul]
		}
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			end = at + int64(i) + 1
		}
		at += int64(n)
		switch {
		case nul >= 0 || err == io.EOF:
			return end, nil
		case err != nil:
			return 0, err
		}
	}
}
