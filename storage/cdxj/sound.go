package cdxj

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"curtsy/frontier/durable"
)

// ErrEmpty says that an index has no line: that of a segment without an answer has none, and one that lost them all.
var ErrEmpty = errors.New("the index is empty")

// Sound reads a complete index and says what is wrong in it: lines that are torn, no CDXJ, or out of order. That lines
// are missing between others it cannot tell. Nothing but the file at path is read.
func Sound(path string) error {
	f, err := durable.Open(path)
	if err != nil {
		return fmt.Errorf("cdxj: %w", err)
	}
	defer f.Close()
	in := newLines(f)
	var before []byte
	for n := 1; ; n++ {
		line, _, whole, err := in.next()
		switch {
		case errors.Is(err, io.EOF) && n == 1:
			return fmt.Errorf("cdxj: %s: %w", path, ErrEmpty)
		case errors.Is(err, io.EOF):
			return nil
		case err == nil && !whole:
			err = errors.New("it is torn")
		case err == nil && bytes.Compare(before, line) > 0:
			err = errors.New("it follows a greater one")
		case err == nil:
			_, err = ParseLine(line)
		}
		if err != nil {
			return fmt.Errorf("cdxj: %s is damaged: line %d: %w", path, n, err)
		}
		before = append(before[:0], line...)
	}
}
