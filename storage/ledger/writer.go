package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
)

const (
	maxLine    = 8 << 20  // bytes of a line, for the memory of Read: URLs and robots rules are bounded long before
	bufferSize = 64 << 10 // bytes gathered before a write
)

// Options set the place of a ledger and the values that its run mark binds.
type Options struct {
	Dir         string             // of the segments; made if it does not exist
	SegmentSize int64              // bytes from which on a segment is complete. Zero means 64 MiB
	Signer      *checkpoint.Signer // of the checkpoints. Without one they have no signature

	// Rotations are the notes of changes of the operator's key (package checkpoint), oldest first. Open writes those that lead
	// from the signer of the latest checkpoint to Signer.
	Rotations [][]byte

	// Keep, if not nil, gets each signed checkpoint once it is durable, from the goroutine that makes them. After a kill a
	// copy may be an earlier one, which the ledger contains.
	Keep func(note []byte)

	Software string // name/version, for the begin marks; may be empty

	// Warcinfo is the hex SHA-256 of the block of this run's warcinfo records, which must have the begin of the run to be
	// unique. Empty means that nothing is archived.
	Warcinfo string

	SettingsSHA256 string // of the settings in force, in hexadecimal digits; may be empty
	OptOutsSHA256  string // of the opt-out list; may be empty
}

// MaxUnsynced bounds the lines of exchanges that are not durable: Append syncs before there are more. A kill leaves at most
// that many archived exchanges without lines, besides those being written.
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
	err    error        // why the Writer refuses writes; nil while it does not
	closed bool         // by Close

	tree      *tree.Growing // of everything appended
	tail      tail          // the part that no checkpoint covers yet
	hasher    *tree.Hasher
	salts     []byte    // random octets not used yet
	lines     int64     // decisions
	exchanges int64     // of those, the ones of exchanges
	safe      int64     // of those, the durable ones
	here      int64     // decisions in this segment
	begun     bool      // this segment has its begin mark
	running   bool      // this run has its mark
	foreign   bool      // until then, the last run is one of another key
	ended     bool      // every run that began has stopped
	last      time.Time // the latest in the ledger; of this run, the latest of its lines

	commits committer
	packer  packer
}

var _ storage.Ledger = (*Writer)(nil)

var errClosed = fmt.Errorf("ledger: the writer is closed: %w", os.ErrClosed)

// Cut returns the path of the segment that Open cut and the number of bytes cut off, or "" and 0.
func (w *Writer) Cut() (file string, octets int64) { return w.cutFile, w.cut }

// Origin is the name of the log.
func (w *Writer) Origin() string { return w.origin }

// Killed reports, until the Writer writes, whether the ledger's last run has no stop.
func (w *Writer) Killed() bool { return !w.ended }

// Repairs describes the parts that Open had to rebuild from the lines.
func (w *Writer) Repairs() []string { return w.repairs }

// Begin implements storage.Ledger. It waits for a checkpoint, so that one covers the lines that a kill left.
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
	return w.Sync(context.WithoutCancel(ctx)) // the line is written
}

// append adds a line, and reports whether MaxUnsynced lines are not durable.
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
		w.exchanges++
	}
	if len(w.buf) >= bufferSize {
		err = w.flush()
	}
	return w.exchanges-w.safe >= MaxUnsynced, err
}

func (w *Writer) refused() error {
	if w.closed && w.err == nil {
		return errClosed
	}
	return w.err
}

func (w *Writer) entry(from int, host string, mapped bool) {
	h := w.hasher.Entry(w.buf[from : len(w.buf)-1])
	w.tree.Append(h)
	w.tail.add(h, host, mapped)
	if len(w.tail.names) >= maxChanged {
		w.commits.wake()
	}
}

// salt returns fresh random bytes, valid until the next call.
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
	if cap(w.buf) > 4*bufferSize { // one long line does not justify its memory
		w.buf = nil
	}
	return nil
}

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

func (w *Writer) complete() error {
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.reopen(); err != nil { // the lines of a run before may not be durable
		return err
	}
	if err := errors.Join(w.file.Sync(), w.file.Close()); err != nil {
		w.file = nil
		return w.poison("complete", err)
	}
	w.safe = w.exchanges
	w.pack(w.number)
	w.next()
	w.commits.wake()
	return nil
}

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
	number, file, size, synced, withRecord, err := w.number, w.file, w.size, w.synced, w.exchanges, w.err
	w.mu.Unlock()
	if err != nil || file == nil || size == synced {
		return err
	}
	err = file.Sync()

	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.number != number: // completed in between, and so durable; our call may have used a closed file
		return nil
	case w.err != nil:
		return w.err
	case err != nil: // the system may have dropped the bytes it could not write, so a second try proves nothing
		return w.poison("sync", err)
	}
	w.synced, w.safe = max(w.synced, size), max(w.safe, withRecord)
	return nil
}

// Close ends the run with a mark, if anything was written, makes everything durable, and waits for a last checkpoint and for
// packing. Without a run, it leaves lines that another key's run did not commit. A poisoned Writer returns the first error.
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
	if w.running || !w.foreign {
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

// finish closes all but the packer.
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

const (
	Interval   = 10 * time.Minute // between checkpoints while lines come
	maxChanged = 1 << 16          // hosts changed since the last checkpoint, to bound memory
)

// committer owns the goroutine that makes checkpoints: map, tiles, signature and files. No line waits for it.
type committer struct {
	kick chan struct{} // buffered by one; nil without a goroutine
	quit chan struct{}
	wg   sync.WaitGroup

	// Used by the goroutine and, without one, by Open and Close:
	tiles *tree.Tiles // of all that is committed
	spare tail        // memory for the next

	// Guarded by the Writer's mu:
	size int64         // of the last checkpoint
	next chan struct{} // closed when that changes, or the Writer breaks
}

// start starts the goroutine, which Close ends and waits for. The caller holds the Writer's mu.
func (c *committer) start(commit func()) {
	c.kick, c.quit = make(chan struct{}, 1), make(chan struct{})
	quit := c.quit
	c.wg.Go(func() {
		timer := time.NewTimer(Interval)
		defer timer.Stop()
		for {
			select {
			case <-quit:
				return
			case <-c.kick:
			case <-timer.C:
			}
			commit()
			timer.Reset(Interval)
		}
	})
}

// wake requests a checkpoint soon. The caller holds the Writer's mu.
func (c *committer) wake() {
	if c.kick == nil {
		return
	}
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// stop ends the goroutine. The caller excludes other calls of start and stop meanwhile.
func (c *committer) stop() {
	if c.quit != nil {
		close(c.quit)
		c.quit = nil
	}
	c.wg.Wait()
}

// Commit requests a checkpoint and waits until one has everything written before the call. Before Begin or the first line
// there is nothing to wait for.
func (w *Writer) Commit(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for size := w.tree.Size(); w.running && w.commits.size < size; {
		if err := w.refused(); err != nil {
			return err
		}
		w.commits.wake()
		next := w.commits.next
		w.mu.Unlock()
		select {
		case <-next:
		case <-ctx.Done():
		}
		w.mu.Lock()
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("ledger: wait for a checkpoint: %w", err)
		}
	}
	return nil
}

// commit makes a checkpoint, if there is anything new. A failure is in w.err.
func (w *Writer) commit() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if size := w.tree.Size(); w.err == nil && size > w.commits.size {
		t := w.tail
		w.tail = w.commits.spare
		w.tail.reset(size)
		w.mu.Unlock()
		err := w.checkpoint(&t, size)
		w.commits.spare = t
		w.mu.Lock()
		if err != nil && w.err == nil {
			_ = w.broken("make a checkpoint in "+w.dir, err)
		}
	}
	close(w.commits.next)
	w.commits.next = make(chan struct{})
}

// checkpoint makes one with the map as of size, of which t is new. The lines are durable before, and the map is replaced
// after it: Open finds one or the other.
func (w *Writer) checkpoint(t *tail, size int64) error {
	m, err := w.mapOf(t, size)
	if err != nil {
		return err
	}
	c, more := w.place(m)
	if err := w.sync(); err != nil {
		return err
	}
	return w.keep(c, t, more)
}

// mapOf writes the map as of size, of which t is new, beside the current one, and returns its mark.
func (w *Writer) mapOf(t *tail, size int64) (Mark, error) {
	m := Mark{Kind: KindHosts, Size: size}
	err := w.sys.write(filepath.Join(w.dir, HostsName+newSuffix), func(to io.Writer) (err error) {
		m.Root, m.Hosts, err = writeHosts(to, t.merged(w.origin, int(size-t.base), Hosts(w.dir)))
		return err
	})
	return m, err
}

// keep writes the files of a checkpoint whose lines are durable: tiles of t and of more, the signed note, and the map.
func (w *Writer) keep(c checkpoint.Checkpoint, t *tail, more []tlog.Hash) error {
	if err := w.commits.tiles.Append(t.hashes[w.commits.tiles.Size()-t.base:]...); err != nil {
		return err
	}
	if err := w.commits.tiles.Append(more...); err != nil {
		return err
	}
	if err := w.commits.tiles.Flush(); err != nil {
		return err
	}
	note, err := w.options.Signer.Sign(c)
	if err != nil {
		return err
	}
	for _, path := range []string{CheckpointPath(w.dir, c.Size), filepath.Join(w.dir, CheckpointName)} {
		if err := w.sys.keep(path, note); err != nil {
			return err
		}
	}
	current := filepath.Join(w.dir, HostsName)
	if err := w.sys.rename(current+newSuffix, current); err != nil {
		return err
	}
	w.mu.Lock()
	w.commits.size = c.Size
	w.mu.Unlock()
	if w.options.Signer != nil && w.options.Keep != nil {
		w.options.Keep(note)
	}
	return nil
}

// place adds the mark of a map, and returns the checkpoint that ends in it and the hashes of the entries after the map.
func (w *Writer) place(m Mark) (c checkpoint.Checkpoint, more []tlog.Hash) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beginSegment()
	m.Time = time.Now()
	w.mark(m)
	return checkpoint.Checkpoint{Origin: w.origin, Size: w.tree.Size(), Root: w.tree.Root()}, slices.Clone(w.tail.hashes)
}

const unmapped = ^uint32(0) // the host of an entry without one

// tail is the part that no checkpoint has yet: the hashes of the last entries, and their hosts.
type tail struct {
	base   int64 // index of the first
	hashes []tlog.Hash
	hosts  []uint32 // index in names, of each
	names  []string
	ids    map[string]uint32
}

func (t *tail) add(h tlog.Hash, host string, mapped bool) {
	id := unmapped
	if mapped {
		var known bool
		if id, known = t.ids[host]; !known {
			if t.ids == nil {
				t.ids = map[string]uint32{}
			}
			id = uint32(len(t.names))
			t.ids[host] = id
			t.names = append(t.names, host)
		}
	}
	t.hashes, t.hosts = append(t.hashes, h), append(t.hosts, id)
}

// reset empties t, which continues at base, and keeps its memory.
func (t *tail) reset(base int64) {
	clear(t.ids)
	*t = tail{base: base, hashes: t.hashes[:0], hosts: t.hosts[:0], names: t.names[:0], ids: t.ids}
}

func (t *tail) drop(n int) {
	rest := tail{base: t.base + int64(n), ids: map[string]uint32{}}
	for i := n; i < len(t.hashes); i++ {
		if id := t.hosts[i]; id == unmapped {
			rest.add(t.hashes[i], "", false)
		} else {
			rest.add(t.hashes[i], t.names[id], true)
		}
	}
	*t = rest
}

type change struct {
	key  hostmap.Hash
	host string
	at   []int32 // its entries, as indexes in a tail
}

// changes are the changes by the first n entries, in the order of keys.
func (t *tail) changes(origin string, n int) []change {
	places := make([][]int32, len(t.names))
	for i, id := range t.hosts[:n] {
		if id != unmapped {
			places[id] = append(places[id], int32(i))
		}
	}
	all := make([]change, 0, len(t.names))
	for id, at := range places {
		if len(at) > 0 {
			all = append(all, change{hostmap.Key(origin, t.names[id]), t.names[id], at})
		}
	}
	slices.SortFunc(all, func(a, b change) int {
		return hostmap.Compare(hostmap.Entry{Key: a.key}, hostmap.Entry{Key: b.key})
	})
	return all
}

// merged yields the map of base with the changes by the first n entries.
func (t *tail) merged(origin string, n int, base iter.Seq2[hostmap.Entry, error]) iter.Seq2[hostmap.Entry, error] {
	return func(yield func(hostmap.Entry, error) bool) {
		left := t.changes(origin, n)
		take := func(e hostmap.Entry) bool {
			c := left[0]
			left = left[1:]
			e.Key, e.Host = c.key, c.host
			for _, i := range c.at {
				e.Add(t.base+int64(i), t.hashes[i])
			}
			return yield(e, nil)
		}
		for e, err := range base {
			if err != nil {
				yield(e, err)
				return
			}
			order := 1
			for len(left) > 0 {
				if order = hostmap.Compare(hostmap.Entry{Key: left[0].key}, e); order >= 0 {
					break
				}
				if !take(hostmap.Entry{}) {
					return
				}
			}
			if len(left) > 0 && order == 0 {
				if !take(e) {
					return
				}
			} else if !yield(e, nil) {
				return
			}
		}
		for len(left) > 0 {
			if !take(hostmap.Entry{}) {
				return
			}
		}
	}
}
