package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"

	"curtsy/frontier/durable"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
)

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
	for t, err := range texts(dir, []int{number}) {
		switch {
		case err != nil:
			return err
		case hit(t.Index) && IsMark(t.Line):
			return t.at.failed(fmt.Errorf("entry %d is a mark, and those are not forgotten", t.Index))
		case hit(t.Index):
			found = found || isWhole(t.Line)
		}
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
		for t, err := range texts(dir, []int{number}) {
			line := t.Line
			if hit(t.Index) {
				line = Stub(HashOf(hasher, line))
			}
			if err == nil {
				_, err = w.Write(append(line[:len(line):len(line)], '\n'))
			}
			if err != nil {
				return errors.Join(err, w.Close())
			}
		}
		return w.Close()
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
