package ledger

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"curtsy/frontier/durable"
)

// Open returns a Writer that goes on with the ledger in o.Dir, or begins it. A line that was not written to its end
// is cut off the last segment, which is read in full for that and for its running hash. A first file is created with
// the first line.
func Open(o Options) (*Writer, error) { return openOn(o, realSystem()) }

func openOn(o Options, sys system) (*Writer, error) {
	if o.SegmentSize < 0 || o.SegmentSize > maxSegment/2 {
		return nil, fmt.Errorf("ledger: segment size %d is not between 0 and %d", o.SegmentSize, maxSegment/2)
	}
	if n := len(o.Key); n != 0 && n != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("ledger: a key of %d octets is none of Ed25519", n)
	}
	if o.Warcinfo != "" && !isDigest(o.Warcinfo) {
		return nil, fmt.Errorf("ledger: the digest %.80q of a warcinfo record is none in SHA-256", o.Warcinfo)
	}
	w := &Writer{dir: o.Dir, limit: o.SegmentSize, key: o.Key, software: o.Software, warcinfo: o.Warcinfo, sys: sys,
		opened: time.Now(), chain: newRunning(), ended: true}
	if w.limit == 0 {
		w.limit = 64 << 20
	}
	if err := w.open(); err != nil {
		return nil, fmt.Errorf("ledger: open: %w", err)
	}
	return w, nil
}

func (w *Writer) open() error {
	if err := durable.MakeFolder(w.dir); err != nil {
		return err
	}
	numbers, err := segments(w.dir)
	if err != nil || len(numbers) == 0 {
		return err
	}
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
	if err := w.goOn(numbers); err != nil {
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

// goOn finds where the chain is.
func (w *Writer) goOn(numbers []int) error {
	c, packed, err := tail(w.dir, numbers)
	if err != nil {
		return err
	}
	w.chain.h, w.lines, w.here, w.ended = c.run.h, c.lines, c.here, c.now == WhyEnd
	switch {
	case c.segment != w.number || c.row == 0: // the last one holds nothing yet
		w.here = 0
	case c.plain:
		w.chain.h, w.lines, w.ended = Hash{}, 0, true
		w.next()
	case packed || c.now == WhySegment:
		w.next()
	default:
		w.begun = true
	}
	return nil
}

// next turns to the next segment.
func (w *Writer) next() {
	w.number, w.file, w.size, w.synced, w.here, w.begun = w.number+1, nil, 0, 0, 0, false
}

// tail reads the last of the segments that holds a line, and says how it ends. Damage that it finds is for
// Scan to say: the chain goes on from what is there.
func tail(dir string, numbers []int) (c *checker, packed bool, err error) {
	for i := len(numbers) - 1; i >= 0; i-- {
		c = newChecker()
		c.from = true
		if packed, err = c.takeAll(dir, numbers[i]); err != nil {
			return nil, false, err
		}
		if c.row > 0 {
			break
		}
	}
	return c, packed, nil
}

// takeAll takes all whole lines of a segment.
func (c *checker) takeAll(dir string, number int) (packed bool, err error) {
	f, err := openSegment(dir, number)
	if err != nil {
		return false, err
	}
	defer f.close()
	r := bufio.NewReaderSize(f, bufferSize)
	var long []byte
	c.begin(number)
	for {
		b, err := readLine(r, &long)
		switch {
		case errors.Is(err, io.EOF):
			return f.packed(), nil
		case err != nil && !errors.Is(err, errLong):
			return f.packed(), fmt.Errorf("read %s: %w", f.path, err)
		}
		c.line(bytes.TrimSuffix(b, []byte("\n")))
	}
}
