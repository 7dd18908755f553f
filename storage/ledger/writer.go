package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"curtsy/storage"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
)

// maxLine is the longest line, in bytes. URLs and robots rules are bounded long before; it bounds what Read holds.
const maxLine = 8 << 20

// bufferSize is how much is gathered before it is written without being asked.
const bufferSize = 64 << 10

// Options say where a ledger is, and what its run mark binds.
type Options struct {
	Dir string // where the segments are; made if it does not exist

	// SegmentSize is the size in bytes from which on a segment is complete. Zero means 64 MiB.
	SegmentSize int64

	// Signer signs the checkpoints. Without one they have no signature.
	Signer *checkpoint.Signer

	// Rotations are the notes of changes of the operator's key that led to that of Signer (package checkpoint), the oldest
	// first. Those are written into the ledger that lead there from the key that signed its latest checkpoint.
	Rotations [][]byte

	// Keep, if not nil, is given each signed checkpoint once it is durable here, by the goroutine that makes them. A copy
	// elsewhere that a kill prevents is an earlier one, which the ledger contains.
	Keep func(note []byte)

	Software string // name/version, for the begin marks; may be empty

	// Warcinfo is the SHA-256, in hexadecimal digits, of the block of the warcinfo records that this run writes. The record
	// must say when the run began, or one run's is like another's. Empty means that nothing is archived.
	Warcinfo string

	SettingsSHA256 string // of the settings in force, in hexadecimal digits; may be empty
	OptOutsSHA256  string // of the opt-out list; may be empty
}

// MaxUnsynced is how many lines of exchanges there may be that are not durable: Append syncs before there are more. So
// a kill leaves at most that many exchanges in an archive without their lines, and those that were being written down.
const MaxUnsynced = 256

// Writer appends lines to a ledger. It is a storage.Ledger; its methods may be called concurrently.
type Writer struct {
	dir     string
	limit   int64 // SegmentSize
	options Options
	rotate  [][]byte // of Options.Rotations, those that are due
	sys     system
	opened  time.Time // when this run began
	origin  string    // of the log

	cutFile string
	cut     int64
	repairs []string

	mu     sync.Mutex
	buf    []byte       // lines not yet written
	line   storage.Line // that is being appended
	number int          // of the segment being written
	file   file         // that segment; nil until something is written to it
	size   int64        // its size
	synced int64        // how much of size is durable
	err    error        // why nothing more is written; nil while it is
	closed bool         // by Close

	tree    *tree.Growing // of everything appended
	tail    tail          // what of it no checkpoint has yet
	hasher  *tree.Hasher
	salts   []byte    // random octets not used yet
	lines   int64     // decisions
	told    int64     // of those, the ones of exchanges
	safe    int64     // of those, the durable ones
	here    int64     // decisions in this segment
	begun   bool      // this segment has its begin mark
	going   bool      // this run has its mark
	foreign bool      // until then, the last run is one of another key
	ended   bool      // there is no run that began and did not stop
	last    time.Time // that the ledger told; of this run, the latest of its lines

	commits committer
	packer  packer
}

var _ storage.Ledger = (*Writer)(nil)

var errClosed = fmt.Errorf("ledger: the writer is closed: %w", os.ErrClosed)

// Cut returns the path of the segment that Open cut and the number of bytes that were cut off; "" and 0 if it cut
// nothing.
func (w *Writer) Cut() (file string, octets int64) { return w.cutFile, w.cut }

// Origin is the name of the log.
func (w *Writer) Origin() string { return w.origin }

// Killed reports, until the Writer writes, whether the last run that is in the ledger has no stop.
func (w *Writer) Killed() bool { return !w.ended }

// Repairs says, in words, what Open had to make anew from the lines.
func (w *Writer) Repairs() []string { return w.repairs }

// Begin implements storage.Ledger. It waits for a checkpoint, so that what a kill left is committed to before anything
// follows; ctx breaks the wait off.
func (w *Writer) Begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ledger: begin: %w", err)
	}
	w.mu.Lock()
	if w.err == nil && !w.closed {
		w.ready()
	}
	w.mu.Unlock()
	if err := w.Sync(ctx); err != nil {
		return err
	}
	return w.Commit(ctx)
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
	if err := w.refused(); err != nil {
		return false, err
	}
	if w.here > 0 && w.size+int64(len(w.buf)) >= w.limit {
		if err := w.complete(); err != nil {
			return false, err
		}
	}
	w.ready()
	from := len(w.buf)
	w.line = *l // a line that is read by its fields would escape, once for each
	w.buf = append(w.line.AppendSalted(w.buf, w.salt()), '\n')
	if n := len(w.buf) - from; n > maxLine {
		w.buf = slices.Clone(w.buf[:from])
		return false, fmt.Errorf("ledger: append: the line of %.200q has %d bytes, more than %d", l.URL, n, maxLine)
	}
	w.entry(from, hostOf(l.URL), true)
	if l.Time.After(w.last) {
		w.last = l.Time
	}
	w.lines, w.here = w.lines+1, w.here+1
	if l.Record != "" {
		w.told++
	}
	if len(w.buf) >= bufferSize {
		err = w.flush()
	}
	return w.told-w.safe >= MaxUnsynced, err
}

// refused is why nothing is taken; nil while it is.
func (w *Writer) refused() error {
	if w.closed && w.err == nil {
		return errClosed
	}
	return w.err
}

// entry takes the line at w.buf[from:] into the tree.
func (w *Writer) entry(from int, host string, mapped bool) {
	h := w.hasher.Entry(w.buf[from : len(w.buf)-1])
	w.tree.Append(h)
	w.tail.add(h, host, mapped)
	if len(w.tail.names) >= maxChanged {
		w.commits.wake()
	}
}

// salt returns random octets that nobody has seen, valid until the next call.
func (w *Writer) salt() *storage.Salt {
	const size = len(storage.Salt{})
	if len(w.salts) < size {
		w.salts = w.salts[:0:cap(w.salts)]
		if cap(w.salts) < 256*size {
			w.salts = make([]byte, 0, 256*size)
		}
		w.salts = w.salts[:256*size]
		rand.Read(w.salts)
	}
	s := (*storage.Salt)(w.salts[len(w.salts)-size:])
	w.salts = w.salts[:len(w.salts)-size]
	return s
}

func (w *Writer) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	if w.file == nil {
		if err := w.reopen(); err != nil {
			return err
		}
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

// reopen opens the segment being written, if it is not open.
func (w *Writer) reopen() error {
	if w.file != nil {
		return nil
	}
	f, err := w.sys.create(path(w.dir, w.number))
	if err != nil {
		return w.poison("open", err)
	}
	w.file = f
	return nil
}

// complete ends the segment being written, and turns to the next.
func (w *Writer) complete() error {
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.reopen(); err != nil { // what a run before wrote may not be durable
		return err
	}
	if err := errors.Join(w.file.Sync(), w.file.Close()); err != nil {
		w.file = nil
		return w.poison("complete", err)
	}
	w.safe = w.told
	w.pack(w.number)
	w.next()
	w.commits.wake()
	return nil
}

// poison stops the Writer for good.
func (w *Writer) poison(did string, err error) error {
	return w.broken(did+" "+path(w.dir, w.number), err)
}

func (w *Writer) broken(did string, err error) error {
	w.err = fmt.Errorf("ledger: %s (nothing more is written; the next open repairs it): %w", did, err)
	return w.err
}

// Sync implements storage.Ledger. It lets other lines be appended meanwhile.
func (w *Writer) Sync(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ledger: sync: %w", err)
	}
	w.mu.Lock()
	err := w.refused()
	w.mu.Unlock()
	if err != nil {
		return err
	}
	return w.sync()
}

func (w *Writer) sync() error {
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

// Close ends the run with a mark, if there was anything to write, makes everything durable, commits to it in a last
// checkpoint, and waits for checkpoints and for the packing of segments. Lines behind the last checkpoint of a run that had
// another key are left to the next run. A poisoned Writer returns why it stopped.
func (w *Writer) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errClosed
	}
	if w.err == nil && !w.ended {
		w.ready()
		at := time.Now()
		if w.last.After(at) { // the clock was set back, and the dates of lines do not follow it
			at = w.last
		}
		w.mark(Mark{Kind: KindStop, Time: at, Lines: w.lines})
		w.ended = true
	}
	w.closed = true
	w.mu.Unlock()
	w.commits.stop()
	if w.going || !w.foreign {
		w.commit()
	}

	w.mu.Lock()
	err := w.finish()
	done := w.packer.done
	w.mu.Unlock()
	if done != nil {
		<-done
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
