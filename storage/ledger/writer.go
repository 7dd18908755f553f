package ledger

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"

	"curtsy/storage"
)

// maxLine is the longest line, in octets. URLs and robots rules are bounded long before; it bounds what Read holds.
const maxLine = 8 << 20

// bufferSize is how much is gathered before it is written without being asked.
const bufferSize = 64 << 10

// Options say where a ledger is.
type Options struct {
	Dir string // where the segments are; made if it does not exist

	// SegmentSize is the size in octets from which on a segment is complete. Zero means 64 MiB.
	SegmentSize int64
}

// Writer appends lines to a ledger. It is a storage.Ledger; its methods may be called concurrently.
type Writer struct {
	dir    string
	limit  int64 // SegmentSize
	create func(path string) (file, error)

	cutFile string
	cut     int64

	mu     sync.Mutex
	buf    []byte // lines not yet written
	number int    // of the segment being written
	file   file   // that segment; nil until something is written to it
	size   int64  // its size
	synced int64  // how much of size is durable
	err    error  // why nothing more is written; nil while it is
}

var _ storage.Ledger = (*Writer)(nil)

var errClosed = fmt.Errorf("ledger: the writer is closed: %w", os.ErrClosed)

// Open returns a Writer that goes on with the ledger in o.Dir, or begins it. A line that was not written to its end
// is cut off the last segment, which is read in full for that. A first file is created with the first line.
func Open(o Options) (*Writer, error) {
	if o.SegmentSize < 0 {
		return nil, fmt.Errorf("ledger: segment size %d is negative", o.SegmentSize)
	}
	w := &Writer{dir: o.Dir, limit: o.SegmentSize, create: create}
	if w.limit == 0 {
		w.limit = 64 << 20
	}
	if err := w.open(); err != nil {
		return nil, fmt.Errorf("ledger: open: %w", err)
	}
	return w, nil
}

func (w *Writer) open() error {
	if err := makeDir(w.dir); err != nil {
		return err
	}
	numbers, err := segments(w.dir)
	if err != nil || len(numbers) == 0 {
		return err
	}
	w.number = numbers[len(numbers)-1]
	last := path(w.dir, w.number)
	size, end, err := mend(last)
	if err != nil {
		return err
	}
	if end < size {
		w.cutFile, w.cut = last, size-end
	}
	w.size = end // of which nothing is known to be durable
	return nil
}

// Cut returns the path of the segment that Open cut and the number of octets that were cut off; "" and 0 if it cut
// nothing.
func (w *Writer) Cut() (file string, octets int64) { return w.cutFile, w.cut }

// Append implements storage.Ledger.
func (w *Writer) Append(ctx context.Context, l storage.Line) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ledger: append: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	from := len(w.buf)
	w.buf = appendLine(w.buf, &l)
	if n := len(w.buf) - from; n > maxLine {
		w.buf = slices.Clone(w.buf[:from])
		return fmt.Errorf("ledger: append: the line of %.200q has %d octets, more than %d", l.URL, n, maxLine)
	}
	if len(w.buf) < bufferSize {
		return nil
	}
	return w.flush()
}

// flush writes the buffer, and begins a segment where one is due.
func (w *Writer) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	if w.size >= w.limit {
		if err := w.next(); err != nil {
			return w.poison("complete", err)
		}
	}
	if w.file == nil {
		f, err := w.create(path(w.dir, w.number))
		if err != nil {
			return w.poison("open", err)
		}
		w.file = f
		if err := syncDir(w.dir); err != nil {
			return w.poison("create", err)
		}
	}
	if _, err := w.file.Write(w.buf); err != nil {
		return w.poison("append to", err)
	}
	w.size += int64(len(w.buf))
	w.buf = w.buf[:0]
	if cap(w.buf) > 4*bufferSize { // one long line is no reason to keep its memory
		w.buf = nil
	}
	return nil
}

// next completes the segment being written.
func (w *Writer) next() error {
	if w.file != nil {
		if err := w.file.Sync(); err != nil {
			return err
		}
		if err := w.file.Close(); err != nil {
			return err
		}
	}
	w.number, w.file, w.size, w.synced = w.number+1, nil, 0, 0
	return nil
}

// poison stops the Writer for good.
func (w *Writer) poison(did string, err error) error {
	w.err = fmt.Errorf("ledger: %s %s (nothing more is written; the next open repairs it): %w", did, path(w.dir, w.number), err)
	return w.err
}

// Sync implements storage.Ledger. It lets other lines be appended meanwhile.
func (w *Writer) Sync(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ledger: sync: %w", err)
	}
	w.mu.Lock()
	if w.err == nil {
		_ = w.flush() // a failure is in w.err
	}
	number, file, size, synced, err := w.number, w.file, w.size, w.synced, w.err
	w.mu.Unlock()
	if err != nil || file == nil || size == synced {
		return err
	}
	err = file.Sync()

	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.number != number: // completed meanwhile, and so durable; our call may have met a closed file
		return nil
	case w.err != nil:
		return w.err
	case err != nil: // the system may have dropped what it could not write, so a second try proves nothing
		return w.poison("sync", err)
	}
	w.synced = max(w.synced, size)
	return nil
}

// Close writes what is buffered and makes it durable. A poisoned Writer returns why it stopped.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		_ = w.flush() // a failure is in w.err
	}
	err := w.err
	if w.file != nil {
		if err == nil {
			if serr := w.file.Sync(); serr != nil {
				err = w.poison("sync", serr)
			}
		}
		if cerr := w.file.Close(); err == nil && cerr != nil {
			err = w.poison("close", cerr)
		}
		w.file = nil
	}
	w.err = errClosed
	return err
}
