package cdxj

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/frontier/canon"
)

// Files returns the paths of an index directory's files: those of complete segments, sorted, and the journal of the
// open one, if there is one.
func Files(indexDir string) ([]string, error) {
	entries, err := os.ReadDir(indexDir)
	if err != nil {
		return nil, fmt.Errorf("cdxj: list the index: %w", err)
	}
	var paths []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) || strings.HasSuffix(e.Name(), suffix+openSuffix) {
			paths = append(paths, filepath.Join(indexDir, e.Name()))
		}
	}
	return paths, nil
}

// Lookup returns the captures of a URL, the oldest first. Files are searched by halving and must be sorted, but those
// whose names end in ".open", which are read whole. A file that is gone is passed over: a journal is replaced by the
// sorted file when its segment is complete. The lines are those of the URL's key, so those of its spellings that differ
// in case, in "www." or the scheme, or in the order of the query's arguments are among them; Line.URL tells.
func Lookup(paths []string, url string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		var found []Line
		for _, key := range keys(url) {
			for _, path := range paths {
				lines, err := lookupFile(path, key)
				if errors.Is(err, os.ErrNotExist) {
					continue
				}
				if err != nil && !yield(Line{}, fmt.Errorf("cdxj: look %q up in %s: %w", key, path, err)) {
					return
				}
				found = append(found, lines...)
			}
		}
		slices.SortFunc(found, func(a, b Line) int {
			return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Filename, b.Filename), cmp.Compare(a.Offset, b.Offset))
		})
		for i, l := range found {
			if i > 0 && l == found[i-1] {
				continue // a journal and its sorted file, while one replaces the other
			}
			if !yield(l, nil) {
				return
			}
		}
	}
}

// keys returns the keys that captures of a URL may have: that of the URL as a crawler asks for it and, where another
// tool may have archived it as it was written, that as well. They differ in the case of what has to be escaped.
func keys(url string) []string {
	all := []string{Key(url)}
	if u, err := canon.Parse(url); err == nil && Key(u.String()) != all[0] {
		all = append(all, Key(u.String()))
	}
	return all
}

// maxFound is how many captures of one key are taken from one file.
const maxFound = 1 << 20

func lookupFile(path, key string) (found []Line, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sorted := !strings.HasSuffix(path, openSuffix)
	from := int64(0)
	if sorted {
		if from, err = firstOf(f, []byte(key)); err != nil {
			return nil, err
		}
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, err
	}
	for in := newLines(f); ; {
		line, at, whole, err := in.next()
		if errors.Is(err, io.EOF) || err == nil && !whole && !sorted {
			return found, nil
		}
		if err != nil {
			return found, err
		}
		switch c := bytes.Compare(keyOf(line), []byte(key)); {
		case c > 0 && sorted:
			return found, nil
		case c != 0:
			continue
		case len(found) == maxFound:
			return found, fmt.Errorf("more than %d captures", maxFound)
		}
		l, err := ParseLine(line)
		if err != nil {
			return found, fmt.Errorf("the line at byte %d: %w", from+at, err)
		}
		found = append(found, l)
	}
}

// firstOf returns where the first line of a sorted file begins whose key is not less than key.
func firstOf(f *os.File, key []byte) (at int64, err error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	// The question is monotone in the offset: does the first line that begins at or behind it reach key?
	low, high := int64(0), size
	for low < high {
		middle := low + (high-low)/2
		_, line, err := lineFrom(f, middle, size)
		switch {
		case errors.Is(err, io.EOF) || err == nil && bytes.Compare(keyOf(line), key) >= 0:
			high = middle
		case err != nil:
			return 0, err
		default:
			low = middle + 1
		}
	}
	at, _, err = lineFrom(f, low, size)
	if errors.Is(err, io.EOF) {
		return size, nil
	}
	return at, err
}

// stride is how much is read at once while a file is halved.
const stride = 4 << 10

// lineFrom returns the first line that begins at offset or behind it; io.EOF if there is none.
func lineFrom(f io.ReaderAt, offset, size int64) (at int64, line []byte, err error) {
	if offset == 0 {
		line, _, _, err = newLinesSize(io.NewSectionReader(f, 0, size), stride).next()
		return 0, line, err
	}
	// the newline before may be the byte before
	in := newLinesSize(io.NewSectionReader(f, offset-1, size-offset+1), stride)
	if _, _, _, err = in.next(); err != nil {
		return 0, nil, err
	}
	line, at, _, err = in.next()
	return offset - 1 + at, line, err
}
