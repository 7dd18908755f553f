package cdxj

import (
	"bufio"
	"bytes"
	"container/heap"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"curtsy/frontier/durable"
	"curtsy/storage/sorted"
)

// maxFan is how many files are merged at once: each is open and has a buffer.
const maxFan = 128

// Merge writes the lines of sorted files to w as one sorted sequence. It opens at most 128 files at a time; of more it
// merges groups into temporary files first. It fails on a file that is not sorted.
func Merge(w io.Writer, paths ...string) error {
	b := bufio.NewWriterSize(w, 64<<10)
	if err := merge(b, paths); err != nil {
		return fmt.Errorf("cdxj: merge: %w", err)
	}
	return b.Flush()
}

func merge(w io.Writer, paths []string) (err error) {
	var made []string
	defer func() {
		for _, path := range made {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	for len(paths) > maxFan {
		var next []string
		for len(paths) > 0 {
			group := paths[:min(maxFan, len(paths))]
			paths = paths[len(group):]
			f, err := os.CreateTemp("", "curtsy-merge-*")
			if err != nil {
				return err
			}
			made, next = append(made, f.Name()), append(next, f.Name())
			b := bufio.NewWriterSize(f, 64<<10)
			if err := errors.Join(mergeFew(b, group), b.Flush(), f.Close()); err != nil {
				return err
			}
		}
		paths = next
	}
	return mergeFew(w, paths)
}

// head is a file's next line.
type head struct {
	path  string
	lines *lines
	line  []byte // ends in a newline
	last  []byte
}

// advance reads the next line; ok is false at the end.
func (h *head) advance() (ok bool, err error) {
	h.last = append(h.last[:0], h.line...)
	line, at, whole, err := h.lines.next()
	switch {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%s: %w", h.path, err)
	}
	if h.line = line; !whole {
		h.line = append(bytes.Clone(line), '\n')
	}
	if bytes.Compare(h.line, h.last) < 0 {
		return false, fmt.Errorf("%s is not sorted: the line at byte %d follows a greater one; sort it first (LC_ALL=C sort)", h.path, at)
	}
	return true, nil
}

// heads is a heap of files by their next line.
type heads []*head

func (h heads) Len() int           { return len(h) }
func (h heads) Less(i, j int) bool { return bytes.Compare(h[i].line, h[j].line) < 0 }
func (h heads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)        { *h = append(*h, x.(*head)) }
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func mergeFew(w io.Writer, paths []string) error {
	var all heads
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		h := &head{path: path, lines: newLines(f)}
		if ok, err := h.advance(); err != nil {
			return err
		} else if ok {
			all = append(all, h)
		}
	}
	heap.Init(&all)
	for len(all) > 0 {
		if _, err := w.Write(all[0].line); err != nil {
			return err
		}
		if ok, err := all[0].advance(); err != nil {
			return err
		} else if ok {
			heap.Fix(&all, 0)
		} else {
			heap.Pop(&all)
		}
	}
	return nil
}

// runSize is how much memory lines take while they are sorted.
const runSize = 8 << 20

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

// digester digests and counts what is written.
type digester struct {
	hash.Hash
	octets int64
}

func (d *digester) Write(p []byte) (int, error) {
	d.octets += int64(len(p))
	return d.Hash.Write(p)
}

// sortFile writes the lines of the file from to the file to, sorted. A last line without its newline is what a kill
// tore, and is left out. It returns the size and the SHA-256 of what it wrote.
func sortFile(ctx context.Context, from, to, dir string) (octets int64, sum [sha256.Size]byte, err error) {
	f, err := durable.Open(from)
	if err != nil {
		return 0, sum, err
	}
	defer f.Close()
	s := sorted.New(dir, runSize)
	defer func() { err = errors.Join(err, s.Close()) }()
	for in := newLines(f); ; {
		line, _, whole, err := in.next()
		if errors.Is(err, io.EOF) || err == nil && !whole {
			break
		}
		if err == nil {
			err = s.Add(line)
		}
		if err != nil {
			return 0, sum, fmt.Errorf("%s: %w", from, err)
		}
	}
	h := digester{Hash: sha256.New()}
	err = durable.File(to, func(w io.Writer) error {
		return writeSorted(ctx, io.MultiWriter(w, &h), s)
	})
	h.Sum(sum[:0])
	return h.octets, sum, err
}
