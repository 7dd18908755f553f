package ledger

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"curtsy/storage"
)

// maxLine is the longest line, in bytes. URLs and robots rules are bounded long before; it bounds what Read holds.
const maxLine = 8 << 20

// bufferSize is how much is gathered before it is written without being asked.
const bufferSize = 64 << 10

// Options say where a ledger is.
type Options struct {
	Dir string // where the segments are; made if it does not exist

	// SegmentSize is the size in bytes from which on a segment is complete. Zero means 64 MiB.
	SegmentSize int64

	// Key signs the heads. Without one they are chained and not signed.
	Key ed25519.PrivateKey

	Software string // name/version, for the begin marks; may be empty

	// Warcinfo is the SHA-256, in hexadecimal digits, of the block of the warcinfo records that this run writes: the run's
	// mark binds it. The record must say when the run began, or one run's is like another's. Empty means that nothing is
	// archived.
	Warcinfo string
}

// MaxUnsynced is how many lines of exchanges there may be that are not durable: Append syncs before there are more. So
// a kill leaves at most that many exchanges in an archive without their lines, and those that were being written down.
const MaxUnsynced = 256

// Writer appends lines to a ledger. It is a storage.Ledger; its methods may be called concurrently.
type Writer struct {
	dir      string
	limit    int64 // SegmentSize
	key      ed25519.PrivateKey
	software string
	warcinfo string
	sys      system
	opened   time.Time // when this run began

	cutFile string
	cut     int64

	mu     sync.Mutex
	buf    []byte       // lines not yet written
	line   storage.Line // that is being appended
	number int          // of the segment being written
	file   file         // that segment; nil until something is written to it
	size   int64        // its size
	synced int64        // how much of size is durable
	err    error        // why nothing more is written; nil while it is

	chain *running // over everything appended
	lines int64    // decisions in it
	told  int64    // of those, the ones of exchanges
	safe  int64    // of those, the durable ones
	here  int64    // decisions in this segment
	begun bool     // this segment has its begin mark
	going bool     // this run has its mark
	ended bool     // the last line is a head that ends a run, or there is none

	packer packer
}

var _ storage.Ledger = (*Writer)(nil)

var errClosed = fmt.Errorf("ledger: the writer is closed: %w", os.ErrClosed)

// Cut returns the path of the segment that Open cut and the number of bytes that were cut off; "" and 0 if it cut
// nothing.
func (w *Writer) Cut() (file string, octets int64) { return w.cutFile, w.cut }

// Begin implements storage.Ledger.
func (w *Writer) Begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ledger: begin: %w", err)
	}
	w.mu.Lock()
	if w.err == nil {
		w.ready()
	}
	w.mu.Unlock()
	return w.Sync(ctx)
}

// Append implements storage.Ledger.
func (w *Writer) Append(ctx context.Context, l storage.Line) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ledger: append: %w", err)
	}
	if full, err := w.append(&l); err != nil || !full {
		return err
	}
	return w.Sync(context.WithoutCancel(ctx)) // the line is there
}

// append adds a line, and reports whether as many as may be are not durable.
func (w *Writer) append(l *storage.Line) (full bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return false, w.err
	}
	if w.here > 0 && w.size+int64(len(w.buf)) >= w.limit {
		if err := w.complete(); err != nil {
			return false, err
		}
	}
	w.ready()
	from := len(w.buf)
	w.line = *l // a line that is read by its fields would escape, once for each
	w.buf = w.line.AppendJSON(w.buf)
	if n := len(w.buf) - from + chainRoom; n > maxLine {
		w.buf = slices.Clone(w.buf[:from])
		return false, fmt.Errorf("ledger: append: the line of %.200q has %d octets, more than %d", l.URL, n, maxLine)
	}
	w.buf = w.chain.seal(w.buf, from, shortHex, nil)
	w.lines, w.here, w.ended = w.lines+1, w.here+1, false
	if l.Record != "" {
		w.told++
	}
	if len(w.buf) >= bufferSize {
		err = w.flush()
	}
	return w.told-w.safe >= MaxUnsynced, err
}

// ready puts the marks that are due before a line.
func (w *Writer) ready() {
	if !w.begun {
		w.begun = true
		w.mark(Mark{Kind: KindBegin, Schema: Schema, Segment: w.number, Lines: w.lines, Before: w.chain.h,
			Software: w.software})
	}
	if !w.going {
		w.going, w.ended = true, false
		w.mark(Mark{Kind: KindRun, Time: w.opened, Cut: w.cut, Warcinfo: w.warcinfo})
	}
}

// mark puts a mark into the buffer.
func (w *Writer) mark(m Mark) {
	from := len(w.buf)
	w.buf = appendMark(w.buf, m)
	var key ed25519.PrivateKey
	if m.Key != nil {
		key = w.key
	}
	w.buf = w.chain.seal(w.buf, from, longHex, key)
}

// head puts a head into the buffer.
func (w *Writer) head(why string) {
	m := Mark{Kind: KindHead, Time: time.Now(), Why: why, Segment: w.number, Lines: w.lines}
	if w.key != nil {
		m.Key = w.key.Public().(ed25519.PublicKey)
	}
	w.mark(m)
}

func (w *Writer) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	if w.file == nil {
		f, err := w.sys.create(path(w.dir, w.number))
		if err != nil {
			return w.poison("open", err)
		}
		w.file = f
		if err := w.sys.syncDir(w.dir); err != nil {
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

// complete ends the segment being written with a head, and turns to the next.
func (w *Writer) complete() error {
	w.head(WhySegment)
	if err := w.flush(); err != nil {
		return err
	}
	if err := errors.Join(w.file.Sync(), w.file.Close()); err != nil {
		w.file = nil
		return w.poison("complete", err)
	}
	w.safe = w.told
	w.pack(w.number)
	w.next()
	return nil
}

// poison stops the Writer for good.
func (w *Writer) poison(did string, err error) error {
	w.err = fmt.Errorf("ledger: %s %s (nothing more is written; the next open repairs it): %w", did,
		path(w.dir, w.number), err)
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
	number, file, size, synced, told, err := w.number, w.file, w.size, w.synced, w.told, w.err
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
	w.synced, w.safe = max(w.synced, size), max(w.safe, told)
	return nil
}

// Close ends the run with a head, if there was anything to write, makes everything durable, and waits for the packing
// of segments. A poisoned Writer returns why it stopped.
func (w *Writer) Close() error {
	w.mu.Lock()
	err := w.finish()
	done := w.packer.done
	w.mu.Unlock()
	if done != nil {
		<-done
	}
	if errors.Is(err, os.ErrClosed) {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		err = w.packer.err
	}
	return err
}

// finish closes all but the packing.
func (w *Writer) finish() error {
	if w.err == nil && !w.ended {
		w.ready()
		w.head(WhyEnd)
		w.ended = true
	}
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
