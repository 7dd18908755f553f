package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"curtsy/frontier/durable"
	"curtsy/storage/ledger/tree"
)

// Open returns a Writer that goes on with the ledger in o.Dir, or begins it. A line that was not written to its end is
// cut off the last segment. The Writer goes on from the latest checkpoint: what stands behind it is read again, and
// tiles or hosts that do not fit it are made anew from all lines, which Repairs says. A first file is created with the
// first line.
func Open(o Options) (*Writer, error) { return openOn(o, realSystem()) }

func openOn(o Options, sys system) (*Writer, error) {
	w, err := newWriter(o, sys)
	if err == nil {
		err = w.open()
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: open: %w", err)
	}
	return w, nil
}

// newWriter checks the options.
func newWriter(o Options, sys system) (*Writer, error) {
	if o.SegmentSize < 0 || o.SegmentSize > maxSegment/2 {
		return nil, fmt.Errorf("segment size %d is not between 0 and %d", o.SegmentSize, maxSegment/2)
	}
	for _, d := range []string{o.Warcinfo, o.SettingsSHA256, o.OptOutsSHA256} {
		if d != "" && !IsDigest(d) {
			return nil, fmt.Errorf("the digest %.80q, which the run is to bind, is not a SHA-256", d)
		}
	}
	w := &Writer{dir: o.Dir, limit: o.SegmentSize, options: o, sys: sys, opened: time.Now(), hasher: tree.NewHasher(),
		tree: new(tree.Growing), ended: true}
	w.commits.next = make(chan struct{})
	if w.limit == 0 {
		w.limit = 64 << 20
	}
	return w, nil
}

func (w *Writer) open() error {
	if err := durable.MakeFolder(w.dir); err != nil {
		return err
	}
	if err := durable.MakeFolder(CheckpointFolderOf(w.dir)); err != nil {
		return err
	}
	numbers, err := segments(w.dir)
	if err != nil {
		return err
	}
	if len(numbers) > 0 {
		w.number = numbers[len(numbers)-1]
		last := path(w.dir, w.number)
		size, end, err := mend(last)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may be packed
			return err
		}
		if end < size {
			w.cutFile, w.cut = last, size-end
		}
		w.size = end // of which nothing is known to be durable
	}
	if err := w.recover(numbers); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range numbers {
		if _, err := os.Stat(path(w.dir, n)); err == nil && n != w.number {
			w.pack(n)
		}
	}
	return nil
}

// next turns to the next segment.
func (w *Writer) next() {
	w.number, w.file, w.size, w.synced, w.here, w.begun = w.number+1, nil, 0, 0, 0, false
}
