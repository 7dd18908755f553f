package accesslog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"os"

	"github.com/klauspost/compress/zstd"
)

// Stdin is the path that stands for the standard input.
const Stdin = "-"

// maxWindow bounds what the decoder of a .zst file holds, in octets. zstd asks for 8 MiB at its highest usual level.
const maxWindow = 32 << 20

// open opens a log. What is compressed is known by its first octets, whatever its name.
func open(path string, stdin io.Reader) (io.Reader, func() error, error) {
	raw, done := stdin, func() error { return nil }
	if path != Stdin || stdin == nil {
		f, err := os.Open(path)
		if err != nil {
			return nil, nil, err
		}
		raw, done = f, f.Close
		if fi, err := f.Stat(); err == nil && fi.IsDir() {
			return nil, nil, errors.Join(errors.New("it is a folder: name the files in it"), f.Close())
		}
	}
	in := bufio.NewReaderSize(raw, maxLine)
	magic, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return nil, nil, errors.Join(err, done())
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("its gzip header: %w", err), done())
		}
		return z, done, nil
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("zstd: %w", err), done())
		}
		return z, func() error { z.Close(); return done() }, nil
	case bytes.HasPrefix(magic, []byte("BZh")), bytes.HasPrefix(magic, []byte{0xfd, '7', 'z', 'X'}),
		bytes.HasPrefix(magic, []byte("PK\x03\x04")):
		return nil, nil, errors.Join(errors.New("it is compressed, and neither with gzip nor with zstd: unpack it "+
			"first"), done())
	}
	return in, done, nil
}

// unread is a line of a log that could not be read.
type unread struct {
	line int64 // from 1
	sum  uint64
	err  error
}

func (u *unread) Error() string { return fmt.Sprintf("line %d: %v", u.line, u.err) }
func (u *unread) Unwrap() error { return u.err }

// numbered is a line of a log with its number, from 1, and a hash of its bytes.
type numbered struct {
	line
	number int64
	sum    uint64
}

var seed = maphash.MakeSeed()

var errTorn = errors.New("the file ends within its compressed data")

// lines returns the lines of an access log, with their numbers. A line that cannot be read is an *unread, and the
// lines behind it follow; any other error is the last. Empty lines are passed over, and so is what a torn compressed
// file ends with. Memory is bounded by maxLine.
func lines(r io.Reader) iter.Seq2[numbered, error] {
	return func(yield func(numbered, error) bool) {
		in := bufio.NewReaderSize(r, maxLine)
		for n := int64(1); ; n++ {
			b, err := in.ReadSlice('\n')
			long := errors.Is(err, bufio.ErrBufferFull)
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
			if errors.Is(err, io.ErrUnexpectedEOF) {
				yield(numbered{}, &unread{line: n, err: errTorn})
				return
			}
			if err != nil && err != io.EOF {
				yield(numbered{}, fmt.Errorf("line %d: %w", n, err))
				return
			}
			last := err == io.EOF
			if b = bytes.TrimRight(b, "\r\n"); n == 1 {
				b = bytes.TrimPrefix(b, []byte("\ufeff"))
			}
			if !long && len(b) > 0 {
				sum := maphash.Bytes(seed, b)
				l, err := parseLine(b)
				if err != nil {
					err = &unread{n, sum, err}
				}
				if !yield(numbered{l, n, sum}, err) {
					return
				}
			} else if long && !yield(numbered{}, &unread{line: n, err: errLong}) {
				return
			}
			if last {
				return
			}
		}
	}
}

// each reads a log: every line, and every line that cannot be read. If none can, it is no log.
func each(ctx context.Context, path string, stdin io.Reader, take func(numbered) error, bad func(*unread) error) error {
	in, done, err := open(path, stdin)
	if err != nil {
		return err
	}
	defer done() //nolint:errcheck // nothing was written
	read, first := 0, error(nil)
	for l, err := range lines(in) {
		var u *unread
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &u):
			if first == nil {
				first = u
			}
			if err := bad(u); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		read++
		if err := take(l); err != nil {
			return err
		}
	}
	if read == 0 && first != nil {
		return fmt.Errorf("no %s: %w", formats, first)
	}
	return nil
}
