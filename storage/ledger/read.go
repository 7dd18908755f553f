package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"curtsy/storage"
)

// Read returns the decisions of the ledger in dir, in their order, in memory that does not depend on their number;
// without those that were forgotten. It checks nothing: Scan does, and turns down a line whose salt was taken away as
// well. A line that cannot be read is an error that names its place, and the lines behind it follow; an error of the
// file system is the last. A line that is still being written, at the end of the last segment, is passed over.
func Read(dir string) iter.Seq2[storage.Line, error] {
	return func(yield func(storage.Line, error) bool) {
		numbers, err := segments(dir)
		if err != nil {
			yield(storage.Line{}, fmt.Errorf("ledger: read: %w", err))
			return
		}
		for i, n := range numbers {
			if !readSegment(dir, n, i == len(numbers)-1, yield) {
				return
			}
		}
	}
}

// readSegment yields the decisions of one segment and reports whether to go on to the next.
func readSegment(dir string, number int, last bool, yield func(storage.Line, error) bool) bool {
	f, err := openSegment(dir, number)
	if err != nil {
		yield(storage.Line{}, fmt.Errorf("ledger: read: %w", err))
		return false
	}
	defer f.close()
	r := bufio.NewReaderSize(f, bufferSize)
	var long []byte
	for n := 1; ; n++ {
		b, err := readLine(r, &long)
		switch {
		case errors.Is(err, io.EOF) && (last || len(b) == 0):
			return true
		case errors.Is(err, io.EOF):
			return yield(storage.Line{}, fmt.Errorf("ledger: read %s line %d: %w", f.path, n, io.ErrUnexpectedEOF))
		case err != nil && !errors.Is(err, errLong):
			return yield(storage.Line{}, fmt.Errorf("ledger: read %s line %d: %w", f.path, n, err)) && f.packed()
		case isMark(b) || bytes.HasPrefix(b, stubStart):
			continue
		}
		var l storage.Line
		if err == nil {
			l, err = storage.ParseLine(b)
		}
		if err != nil {
			l, err = storage.Line{}, fmt.Errorf("ledger: read %s line %d: %w", f.path, n, err)
		}
		if !yield(l, err) {
			return false
		}
	}
}

var errLong = fmt.Errorf("longer than %d bytes", maxLine)

// readLine returns the next line, valid until the next call. A line that comes with io.EOF has no end. A line that is
// longer than maxLine is passed over and is errLong.
func readLine(r *bufio.Reader, long *[]byte) ([]byte, error) {
	b, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return b, err
	}
	*long = append((*long)[:0], b...)
	size := len(b)
	for errors.Is(err, bufio.ErrBufferFull) {
		b, err = r.ReadSlice('\n')
		if size += len(b); size <= maxLine {
			*long = append(*long, b...)
		}
	}
	if err == nil && size > maxLine {
		return nil, errLong
	}
	return *long, err
}
