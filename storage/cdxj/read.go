package cdxj

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// lines reads a file line by line, in bounded memory.
type lines struct {
	in  *bufio.Reader
	buf []byte
	at  int64 // of the line after the one returned last
}

func newLines(r io.Reader) *lines { return newLinesSize(r, 64<<10) }

func newLinesSize(r io.Reader, size int) *lines { return &lines{in: bufio.NewReaderSize(r, size)} }

// next returns the next line with its newline, and where it begins; the bytes hold until the next call. whole is false
// for a last line without its newline. At the end it returns io.EOF.
func (l *lines) next() (line []byte, at int64, whole bool, err error) {
	l.buf, at = l.buf[:0], l.at
	for {
		part, err := l.in.ReadSlice('\n')
		l.at += int64(len(part))
		if err == nil && len(l.buf) == 0 {
			return part, at, true, nil
		}
		l.buf = append(l.buf, part...)
		switch {
		case len(l.buf) > maxLine:
			return nil, at, false, fmt.Errorf("the line at byte %d is longer than %d bytes", at, maxLine)
		case err == nil:
			return l.buf, at, true, nil
		case errors.Is(err, io.EOF) && len(l.buf) > 0:
			return l.buf, at, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, at, false, err
		}
	}
}
