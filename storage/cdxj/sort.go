package cdxj

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"curtsy/frontier/durable"
	"curtsy/storage/sorted"
)

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
