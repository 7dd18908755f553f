package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"

	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
)

// Placed is a decision and the index of its entry.
type Placed struct {
	Index int64
	Line  storage.Line
}

// Places are the decisions of the ledger in dir with their indexes, without those that were forgotten. An error is the
// last: where a line cannot be read, nobody knows what it says. It checks nothing else.
func Places(dir string) iter.Seq2[Placed, error] {
	return func(yield func(Placed, error) bool) {
		numbers, err := segments(dir)
		if err == nil {
			for _, n := range numbers {
				more := true
				err = eachLine(dir, n, func(index int64, line []byte) error {
					if isMark(line) || bytes.HasPrefix(line, stubStart) {
						return nil
					}
					l, err := storage.ParseLine(line)
					if err == nil && !yield(Placed{index, l}, nil) {
						more, err = false, errEnough
					}
					return err
				})
				if !more {
					return
				}
				if err != nil {
					break
				}
			}
		}
		if err != nil {
			yield(Placed{}, fmt.Errorf("ledger: read: %w", err))
		}
	}
}

var errEnough = errors.New("the reader has had enough")

// eachLine gives the whole lines of a segment to f, each with the index of its entry and without its newline.
func eachLine(dir string, number int, f func(index int64, line []byte) error) error {
	s, err := openSegment(dir, number)
	if err != nil {
		return err
	}
	defer s.close()
	in := bufio.NewReaderSize(s, bufferSize)
	var long []byte
	index := int64(0)
	for row := 1; ; row++ {
		line, err := readLine(in, &long)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			line = bytes.TrimSuffix(line, []byte("\n"))
			if row == 1 {
				var m *Mark
				if m, err = parseMark(line); err == nil && m.Kind != KindBegin {
					err = errors.New("it is not the mark that a segment begins with")
				} else if err == nil {
					index = m.First
				}
			}
		}
		if err == nil {
			err = f(index, line)
		}
		if err != nil {
			return fmt.Errorf("%s line %d: %w", s.path, row, err)
		}
		index++
	}
}

// Forget puts stubs in the place of the decisions with those indexes, in ascending order, in the ledger in dir, which
// nobody else writes. A mark of a redaction names them, and a checkpoint has it (Writer.Redact). Each segment is
// changed whole or not at all; done again, it changes nothing.
func Forget(dir string, entries []int64) error {
	if !slices.IsSorted(entries) {
		return errors.New("ledger: forget: the entries are not in order")
	}
	numbers, err := segments(dir)
	if err != nil {
		return fmt.Errorf("ledger: forget: %w", err)
	}
	for _, n := range numbers {
		if err := forgetIn(dir, n, entries); err != nil {
			return fmt.Errorf("ledger: forget: %w", err)
		}
	}
	return nil
}

// forgetIn is Forget in a segment.
func forgetIn(dir string, number int, entries []int64) error {
	plain := path(dir, number)
	packed := plain + packedSuffix
	hit := func(index int64) bool { _, is := slices.BinarySearch(entries, index); return is }
	found := false
	err := eachLine(dir, number, func(index int64, line []byte) error {
		if !hit(index) {
			return nil
		}
		if isMark(line) {
			return fmt.Errorf("entry %d is a mark, and those are not forgotten", index)
		}
		found = found || !bytes.HasPrefix(line, stubStart)
		return nil
	})
	if err != nil {
		return err
	}
	if found {
		if err := writeStubs(dir, number, hit); err != nil {
			return err
		}
	}
	// A packing that was broken off left the lines as well.
	gone := []string{packed + newSuffix}
	if _, err := os.Lstat(plain); err == nil {
		gone = append(gone, packed)
	}
	for _, name := range gone {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return durable.Names(dir)
}

// writeStubs writes a segment anew.
func writeStubs(dir string, number int, hit func(index int64) bool) error {
	name, packed := path(dir, number), false
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		name, packed = name+packedSuffix, true
	}
	return durable.File(name, func(to io.Writer) error {
		w := io.WriteCloser(unclosed{to})
		if packed {
			z, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(maxWindow/4))
			if err != nil {
				return err
			}
			w = z
		}
		hasher := tree.NewHasher()
		err := eachLine(dir, number, func(index int64, line []byte) error {
			if hit(index) {
				line = Stub(hashOf(hasher, line))
			}
			_, err := w.Write(append(line[:len(line):len(line)], '\n'))
			return err
		})
		return errors.Join(err, w.Close())
	})
}

// unclosed is a writer that others close.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// ForgetHosts takes the names of hosts from the map of hosts of the ledger in dir, which nobody else writes. Their
// keys, counts and digests stay, and so does its root.
func ForgetHosts(dir string, hosts []string) error {
	gone := map[string]bool{"": false}
	for _, h := range hosts {
		gone[h] = true
	}
	file := filepath.Join(dir, HostsName)
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) || len(hosts) == 0 {
		return nil
	}
	err := durable.File(file, func(w io.Writer) error {
		_, _, err := writeHosts(w, func(yield func(hostmap.Entry, error) bool) {
			for e, err := range Hosts(dir) {
				if gone[e.Host] {
					e.Host = ""
				}
				if !yield(e, err) {
					return
				}
			}
		})
		return err
	})
	if err == nil {
		if err = os.Remove(file + newSuffix); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("ledger: forget hosts: %w", err)
	}
	return nil
}

// Marks are the marks of the ledger in dir, in their order. A line that is meant as a mark and is none is passed over,
// for Scan to say; an error is the last.
func Marks(dir string) iter.Seq2[*Mark, error] {
	return func(yield func(*Mark, error) bool) {
		numbers, err := segments(dir)
		for i := 0; err == nil && i < len(numbers); i++ {
			err = eachLine(dir, numbers[i], func(_ int64, line []byte) error {
				if !isMark(line) {
					return nil
				}
				if m, err := parseMark(line); err == nil && !yield(m, nil) {
					return errEnough
				}
				return nil
			})
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, fmt.Errorf("ledger: read: %w", err))
		}
	}
}
