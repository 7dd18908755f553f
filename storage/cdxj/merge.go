package cdxj

import (
	"bytes"
	"context"
	"io"
	"iter"

	"curtsy/frontier/durable"
	"curtsy/storage/sorted"
)

// runSize is how much memory lines take while they are sorted.
const runSize = 8 << 20

// Sorted returns the lines of index files in one order, without their newlines, each valid until the next. Temporary files
// are in dir; empty means the system's folder for them. An error is the last.
func Sorted(ctx context.Context, dir string, paths ...string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		s := sorted.New(dir, runSize)
		defer s.Close() //nolint:errcheck // a temporary file
		if err := addFiles(s, paths...); err != nil {
			yield(nil, err)
			return
		}
		for line, err := range s.All() {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(bytes.TrimSuffix(line, []byte("\n")), err) || err != nil {
				return
			}
		}
	}
}

// addFiles adds the lines of files, each with its newline.
func addFiles(s *sorted.Sorter, paths ...string) error {
	var b []byte
	for _, path := range paths {
		for line, err := range Lines(path) {
			if err == nil {
				b = append(append(b[:0], line...), '\n')
				err = s.Add(b)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// writeSorted writes the lines of a sorter, each with its newline, in their order.
func writeSorted(ctx context.Context, w io.Writer, s *sorted.Sorter) error {
	n := 0
	for line, err := range s.All() {
		if n++; err == nil && n%1024 == 0 {
			err = ctx.Err()
		}
		if err == nil {
			_, err = w.Write(line)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// sortFile writes the lines of the file from to the file to, sorted. A last line without its newline is what a kill
// tore, and is left out.
func sortFile(ctx context.Context, from, to, dir string) error {
	s := sorted.New(dir, runSize)
	defer s.Close() //nolint:errcheck // a temporary file
	if err := addFiles(s, from); err != nil {
		return err
	}
	return durable.File(to, func(w io.Writer) error { return writeSorted(ctx, w, s) })
}
