package warc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/spool"
)

// Options configure a Writer.
type Options struct {
	Dir  string // directory of the segments; created if missing
	Name string // prefix of their names: ASCII letters, digits, ".", "_" and "-"
	Info Info   // describes the crawl

	// SegmentSize bounds a segment of more than one exchange, in bytes. Zero means 1 GiB.
	SegmentSize int64
	Level       int       // of gzip, 1 to 9. Zero means 1.
	Index       Index     // or nil
	Originals   Originals // nil: every payload is stored whole

	// Finished, unless nil, gets each complete segment once its final name (without directory) is durable, also one
	// completed by Open: its size in bytes and their SHA-256. The next segment begins when it returns, so its effect must
	// be durable then: a kill loses at most the call for the last complete segment. Its error poisons the Writer.
	Finished func(name string, octets int64, sum [32]byte) error
}

func (o *Options) validate() error {
	if o.Name == "" || strings.Trim(o.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
		return fmt.Errorf("warc: %q cannot begin a file name; use letters, digits, dot, underscore and hyphen", o.Name)
	}
	if o.SegmentSize < 0 {
		return fmt.Errorf("warc: segment size %d is negative", o.SegmentSize)
	}
	if o.Level < 0 || o.Level > 9 {
		return fmt.Errorf("warc: gzip level %d is not between 1 and 9", o.Level)
	}
	for _, f := range o.Info.Fields {
		if !token(f.Name) {
			return fmt.Errorf("warc: %q cannot be a field name in a warcinfo record", f.Name)
		}
	}
	return nil
}

// Writer appends exchanges to an archive. It is a storage.Recorder and safe for concurrent use.
type Writer struct {
	o       Options
	refused batch

	cutFile string
	cut     int64

	compressors sync.Pool // of *compressor
	now         func() time.Time
	newID       func() uuid.UUID
	create      func(path string) (file, error)

	mu  sync.Mutex
	seg *segment // being written, or the next
	err error    // why nothing more is written
}

var _ storage.Recorder = (*Writer)(nil)

var errClosed = fmt.Errorf("warc: the writer is closed: %w", os.ErrClosed)

// Open returns a Writer that continues or begins the archive in o.Dir. It reads segments that a killed process left open,
// cuts them after their last whole exchange and completes them. The first exchange creates the first file. Open fails if
// a file cannot be read or written, and changes no complete segment.
func Open(o Options) (*Writer, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.SegmentSize, o.Level = cmp.Or(o.SegmentSize, 1<<30), cmp.Or(o.Level, 1)
	w := &Writer{o: o, now: time.Now, newID: newUUID, create: create}
	if err := durable.MakeFolder(w.o.Dir); err != nil {
		return nil, fmt.Errorf("warc: open archive: %w", err)
	}
	next, err := w.recover()
	if err != nil {
		return nil, fmt.Errorf("warc: open archive: %w", err)
	}
	w.seg = w.newSegment(next)
	return w, nil
}

// Cut returns the path of the segment that Open cut and the number of bytes cut off, "" and 0 if none. A segment without
// a whole exchange is removed.
func (w *Writer) Cut() (file string, octets int64) { return w.cutFile, w.cut }

// InfoSHA256 returns the hex SHA-256 of the warcinfo block of this Writer's segments.
func (w *Writer) InfoSHA256() string {
	sum := sha256.Sum256(w.o.Info.block(w.o.Name))
	return hex.EncodeToString(sum[:])
}

// Record implements storage.Recorder. It does not keep the bytes of r.
func (w *Writer) Record(ctx context.Context, r storage.Record) (kept storage.Receipt, err error) {
	p, err := w.compressor()
	if err != nil {
		return kept, err
	}
	defer func() {
		if rerr := w.release(p); err == nil {
			err = rerr
		}
	}()
	e := &p.ex
	defer e.forget()
	if err := e.prepare(ctx, p, w, &r); err != nil || e.id() == "" {
		return kept, err
	}
	if err := w.place(ctx, p, func(seg *segment) error { return e.compress(ctx, p, seg.info) }, e); err != nil {
		return kept, err
	}
	return storage.Receipt{ID: e.id(), Blocks: e.blocks(), Heads: e.heads, Repeat: e.answer.kind == "revisit"}, nil
}

// place appends the members that compress writes to p's spool. The members contain the warcinfo id, so a full segment
// makes it compress again for the next. Every repeat means that something else was appended or a segment completed.
func (w *Writer) place(ctx context.Context, p *compressor, compress func(*segment) error, e *exchange) error {
	for {
		seg, err := w.current()
		if err != nil {
			return err
		}
		if err := p.spool.Reset(); err != nil {
			return fmt.Errorf("warc: remove spool: %w", err)
		}
		if err := compress(seg); err != nil {
			return err
		}
		if err := p.spool.Flush(); err != nil { // a failure costs a record here, and the archive under the lock
			return fmt.Errorf("warc: write spool: %w", err)
		}
		if ok, err := w.append(ctx, seg, &p.spool, e); ok || err != nil {
			return err
		}
	}
}

func (w *Writer) current() (*segment, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seg, w.err
}

// append adds the members in s, those of e unless nil, to seg. It reports false if seg is, or becomes, complete.
func (w *Writer) append(ctx context.Context, seg *segment, s *spool.Spool, e *exchange) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || w.seg != seg {
		return false, w.err
	}
	if seg.file != nil && seg.size+s.Size() > w.o.SegmentSize {
		if err := w.gathered(context.WithoutCancel(ctx), seg); err != nil {
			return false, w.poison("append to", seg, err)
		}
		if err := w.finish(seg); err != nil {
			return false, w.poison("complete", seg, err)
		}
		w.seg = w.newSegment(seg.number + 1)
		return false, nil
	}
	if seg.file == nil {
		// A cancelled context must not interrupt it half-way.
		if err := w.begin(context.WithoutCancel(ctx), seg); err != nil {
			return false, w.poison("begin", seg, err)
		}
	}
	at := seg.size
	if err := seg.append(s); err != nil {
		return false, w.poison("append to", seg, err)
	}
	if w.o.Index == nil || e == nil || e.answer.kind == "" {
		return true, nil
	}
	entry := e.entry
	entry.File, entry.Offset, entry.Length = seg.name, at+e.from, e.to-e.from
	if err := w.o.Index.Add(entry); err != nil {
		return false, w.poison("index", seg, err)
	}
	return true, nil
}

// gathered adds the pending refusals to a segment about to be complete, if they fit.
func (w *Writer) gathered(ctx context.Context, seg *segment) (err error) {
	w.refused.mu.Lock()
	defer w.refused.mu.Unlock()
	if w.refused.count == 0 {
		return nil
	}
	p, err := w.compressor()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.release(p)) }()
	if err := w.pressLines(ctx, p, seg, w.refused.lines); err != nil || seg.size+p.spool.Size() > w.o.SegmentSize {
		return err
	}
	if err := seg.append(&p.spool); err != nil {
		return err
	}
	w.refused.takeLocked()
	return nil
}

func (w *Writer) poison(did string, s *segment, err error) error {
	w.err = fmt.Errorf("warc: %s %s%s (nothing more is archived; the next open repairs it): %w", did, w.path(s),
		openSuffix, err)
	return w.err
}

// Sync implements storage.Recorder. Other exchanges can be appended meanwhile.
func (w *Writer) Sync(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("warc: sync: %w", err)
	}
	if err := w.writeLines(context.WithoutCancel(ctx), w.refused.take(syncBatch, w.now(), syncAge)); err != nil {
		return err
	}
	w.mu.Lock()
	seg, size, synced, err := w.seg, w.seg.size, w.seg.synced, w.err
	w.mu.Unlock()
	if err != nil || size == synced {
		return err
	}
	err = seg.file.Sync()

	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case seg.done: // completed meanwhile, and so durable; err may be that of a closed file
		return nil
	case w.err != nil:
		return w.err
	case err != nil: // the system may have dropped the data, so a second try proves nothing
		return w.poison("sync", seg, err)
	}
	seg.synced = max(seg.synced, size)
	return nil
}

// Close completes the segment. A poisoned Writer leaves it to the next Open and returns why it stopped.
func (w *Writer) Close() error {
	lines := w.refused.close()
	if _, err := w.current(); err == nil {
		_ = w.writeLines(context.Background(), lines) // a failure is in w.err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.err
	switch {
	case w.seg.file == nil || w.seg.done:
	case err != nil:
		w.seg.file.Close() // err is reported already
	default:
		if ferr := w.finish(w.seg); ferr != nil {
			err = w.poison("complete", w.seg, ferr)
		}
	}
	w.err = errClosed
	return err
}

func (w *Writer) compressor() (*compressor, error) {
	if p, ok := w.compressors.Get().(*compressor); ok {
		return p, nil
	}
	return newCompressor(w.o.Dir, w.o.Name+".*.spool", w.o.Level)
}

func (w *Writer) release(p *compressor) error {
	err := p.spool.Reset()
	if cap(p.meta) > 1<<20 {
		p.meta = nil
	}
	w.compressors.Put(p)
	return err
}

const (
	suffix     = ".warc.gz"
	openSuffix = ".open" // after suffix, while the segment is being written
	cutSuffix  = ".cut"  // after suffix: a damaged tail that was cut off
)

type file interface {
	io.WriteCloser
	Sync() error
}

// segment is one file of the archive. Its first exchange creates the file, so that no segment is empty.
type segment struct {
	number int
	name   string    // the final one, without directory
	info   string    // the id of its warcinfo record
	file   file      // nil until created
	sum    hash.Hash // of the file; nil without Options.Finished
	size   int64
	synced int64 // how much of size is durable
	done   bool  // complete: closed, renamed, durable
}

func (w *Writer) newSegment(number int) *segment {
	s := &segment{number: number, name: filepath.Base(w.path(&segment{number: number})), info: string(w.newURNs(1))}
	if w.o.Finished != nil {
		s.sum = sha256.New()
	}
	return s
}

// append adds the content of a spool. It hashes on the way: reading the complete segment again would cost as much, under
// the lock.
func (s *segment) append(members *spool.Spool) error {
	var to io.Writer = s.file
	if s.sum != nil {
		to = io.MultiWriter(to, s.sum)
	}
	if _, err := members.WriteTo(to); err != nil {
		return err
	}
	s.size += members.Size()
	return nil
}

func (w *Writer) path(s *segment) string {
	return filepath.Join(w.o.Dir, fmt.Sprintf("%s-%05d%s", w.o.Name, s.number, suffix))
}

func (w *Writer) begin(ctx context.Context, s *segment) (err error) {
	p, err := w.compressor()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.release(p)) }()
	path := w.path(s)
	block := w.o.Info.block(w.o.Name)
	h := head{kind: "warcinfo", id: s.info, date: w.now(), filename: filepath.Base(path), media: typeFields,
		block: sha256.Sum256(block), length: int64(len(block))}
	if err := p.member(ctx, &h, bytes.NewReader(block)); err != nil {
		return err
	}
	f, err := w.create(path + openSuffix)
	if err != nil {
		return err
	}
	s.file = f
	if err := durable.Names(w.o.Dir); err != nil {
		return err
	}
	return s.append(&p.spool)
}

func (w *Writer) finish(s *segment) error {
	if err := s.file.Sync(); err != nil {
		return err
	}
	if err := s.file.Close(); err != nil { // before the rename: Windows renames no open file
		return err
	}
	if err := rename(w.path(s)); err != nil {
		return err
	}
	s.synced, s.done = s.size, true
	var sum digest
	if s.sum != nil {
		s.sum.Sum(sum[:0])
	}
	return w.tellComplete(s.name, s.size, sum)
}

// tellComplete makes the final name durable and reports the segment.
func (w *Writer) tellComplete(name string, octets int64, sum digest) error {
	if err := durable.Names(w.o.Dir); err != nil {
		return err
	}
	if w.o.Finished != nil {
		if err := w.o.Finished(name, octets, sum); err != nil {
			return err
		}
	}
	if w.o.Index == nil {
		return nil
	}
	return w.o.Index.Complete(name)
}

func rename(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("both %s and %s exist; move one of them away", path, filepath.Base(path)+openSuffix)
	}
	return os.Rename(path+openSuffix, path)
}

func create(path string) (file, error) {
	return durable.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// segmentNumber parses the name of a segment of archive. Its state is "", openSuffix or cutSuffix.
func segmentNumber(archive, base string) (number int, state string, ok bool) {
	rest, ok := strings.CutPrefix(base, archive+"-")
	if !ok {
		return 0, "", false
	}
	digits, state, ok := strings.Cut(rest, suffix)
	if !ok || state != "" && state != openSuffix && state != cutSuffix {
		return 0, "", false
	}
	number, err := strconv.Atoi(digits)
	// Only the Writer's own spelling: "+1", "1" and "000001" are other files.
	if err != nil || number < 0 || digits != fmt.Sprintf("%05d", number) {
		return 0, "", false
	}
	return number, state, true
}

func isSpool(archive, base string) bool {
	rest, ok := strings.CutPrefix(base, archive+".")
	if !ok {
		return false
	}
	digits, ok := strings.CutSuffix(rest, ".spool")
	_, err := strconv.ParseUint(digits, 10, 64)
	return ok && err == nil
}

// OpenListed opens a listed file of an archive with open. A running crawl may have completed the segment since: an .open
// file is then opened under its final name.
func OpenListed(path string, open func(path string) (*os.File, error)) (*os.File, error) {
	f, err := open(path)
	final, was := strings.CutSuffix(path, openSuffix)
	if was && errors.Is(err, fs.ErrNotExist) {
		if done, err := open(final); err == nil {
			return done, nil
		}
	}
	return f, err
}

// Index learns the places of records as they are written. Its methods are called one at a time; an error poisons the
// Writer.
type Index interface {
	// Add is called for each response and revisit record after its append, in the order of the file.
	Add(e Entry) error
	// Complete is called once a segment has its final name, file, without directory.
	Complete(file string) error
	// Mended is called by Open before Complete, perhaps twice, for a segment that a killed process left: its entries from
	// offset end on are gone, and others may be missing. removed is set if the whole segment is. path is its current
	// place, already cut and not yet under its final name, file.
	Mended(path, file string, end int64, removed bool) error
}

// Entry is the place of a response or revisit record.
type Entry struct {
	File           string // the segment's final name, without directory
	Offset, Length int64  // of the record's gzip member
	Kind           string // "response" or "revisit"
	ID             string
	URL            string // WARC-Target-URI
	Date           time.Time
	Status         int      // of the HTTP head; 0 without one
	Type           string   // media type, without parameters and in lower case; "" without one
	Payload        [32]byte // SHA-256 of the payload, valid when HasPayload
	HasPayload     bool
	Repeatable     bool // as in storage.Record, for a response: later ones may refer to it
}

// Originals finds archived responses that a new one may repeat.
type Originals interface {
	// Original returns the response with that payload digest, of this archive or an earlier one. It may be called
	// concurrently.
	Original(payload [32]byte) (o storage.Original, known bool, err error)
}
