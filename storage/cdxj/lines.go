package cdxj

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"curtsy/frontier/durable"
)

// Lines returns the lines of a file, without their newlines, in its order; each is valid until the next. The last one
// of a journal is passed over where it has no end: it is still being written. An error is the last, and io/fs's
// ErrNotExist for a journal that was replaced by the sorted file meanwhile.
func Lines(path string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := durable.Open(path)
		if err != nil {
			yield(nil, fmt.Errorf("cdxj: %w", err))
			return
		}
		defer f.Close()
		for in := newLines(f); ; {
			line, _, whole, err := in.next()
			switch {
			case errors.Is(err, io.EOF), err == nil && !whole && strings.HasSuffix(path, openSuffix):
				return
			case err != nil:
				yield(nil, fmt.Errorf("cdxj: read %s: %w", path, err))
				return
			}
			if !yield(bytes.TrimRight(line, "\r\n"), nil) {
				return
			}
		}
	}
}
