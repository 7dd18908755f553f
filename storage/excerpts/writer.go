package excerpts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"curtsy/frontier/durable"
)

const (
	suffix   = ".s2"
	fileSize = 64 << 20 // from which on another file is begun
	// maxHeld bounds what waits for the archive to be durable, in bytes. What is more is dropped, and read from the archive.
	maxHeld = 8 << 20
)

// Writer keeps the excerpts of a run. Its methods may be called concurrently; those of a nil Writer keep nothing.
type Writer struct {
	dir    string
	frames sync.Pool // of *frame

	mu    sync.Mutex
	next  *frame   // that is filled
	ready []*frame // packed; they wait for the archive
	held  int      // bytes of those

	out    sync.Mutex // guards what follows
	file   *os.File   // nil before the first frame
	number int
	size   int64
}

// NewWriter writes into a folder, which is made with the first excerpt.
func NewWriter(dir string) *Writer {
	return &Writer{dir: dir, frames: sync.Pool{New: func() any { return new(frame) }}}
}

// Keep keeps the excerpt of a page, whose record the archive has. It keeps a copy.
func (w *Writer) Keep(record, charset string, text []byte) {
	id, ok := ParseID(record)
	if w == nil || !ok || len(text) == 0 || len(text) > maxText || len(charset) > 255 {
		return
	}
	if full := w.add(id, charset, text); full != nil {
		full.pack() // beside the others
		w.hold(full)
	}
}

// add puts an excerpt into the frame that is filled, and returns that if it is full.
func (w *Writer) add(id ID, charset string, text []byte) (full *frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next == nil {
		w.next, _ = w.frames.Get().(*frame)
		w.next.reset()
	}
	w.next.add(id, charset, text)
	if len(w.next.text) >= frameSize {
		full, w.next = w.next, nil
	}
	return full
}

func (w *Writer) hold(f *frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held += len(f.packed); w.held > maxHeld {
		w.held -= len(f.packed)
		w.frames.Put(f)
		return
	}
	w.ready = append(w.ready, f)
}

// Behind makes the archive durable by sync, and then writes what belongs to records that it had before.
func (w *Writer) Behind(ctx context.Context, sync func(context.Context) error) error {
	if w == nil {
		return sync(ctx)
	}
	ready := w.take()
	if err := sync(ctx); err != nil {
		return err // what was taken is dropped: nobody knows what the archive has of it
	}
	return w.write(ready)
}

func (w *Writer) take() (ready []*frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ready, w.ready, w.held = w.ready, nil, 0
	return ready
}

// write appends frames.
func (w *Writer) write(ready []*frame) error {
	w.out.Lock()
	defer w.out.Unlock()
	for _, f := range ready {
		if err := w.append(f.packed); err != nil {
			return fmt.Errorf("excerpts: write: %w", err)
		}
		w.frames.Put(f)
	}
	return nil
}

func (w *Writer) append(packed []byte) error {
	if w.file != nil && w.size+int64(len(packed)) > fileSize {
		if err := w.file.Close(); err != nil {
			return err
		}
		w.file, w.size, w.number = nil, 0, w.number+1
	}
	if w.file == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	n, err := w.file.Write(packed)
	w.size += int64(n)
	return err
}

// begin makes the next file.
func (w *Writer) begin() error {
	if err := durable.MakeFolder(w.dir); err != nil {
		return err
	}
	names, err := files(w.dir)
	if err != nil {
		return err
	}
	if n := len(names); n > 0 {
		w.number = max(w.number, numberOf(names[n-1])+1)
	}
	w.file, err = durable.OpenFile(filepath.Join(w.dir, fmt.Sprintf("%06d%s", w.number, suffix)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	return err
}

// Close writes what is left; the archive is closed, and durable.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	ready := w.take()
	if f := w.next; f != nil {
		f.pack()
		ready, w.next = append(ready, f), nil
	}
	err := w.write(ready)
	return errors.Join(err, w.Abort())
}

// Abort drops what is not written: the archive may not have it.
func (w *Writer) Abort() error {
	if w == nil {
		return nil
	}
	w.out.Lock()
	defer w.out.Unlock()
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	if err != nil {
		return fmt.Errorf("excerpts: %w", err)
	}
	return nil
}

// files are the names of the files in a folder, in their order. A folder that is not there has none.
func files(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if e.Type().IsRegular() && numberOf(e.Name()) >= 0 {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// numberOf is that of a file; -1 for what is none.
func numberOf(file string) int {
	digits, ok := strings.CutSuffix(file, suffix)
	n := 0
	if _, err := fmt.Sscanf(digits, "%d", &n); err != nil || !ok || n < 0 || fmt.Sprintf("%06d", n) != digits {
		return -1
	}
	return n
}
