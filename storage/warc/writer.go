package warc

import (
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

// Options say where an archive is and how it is written.
type Options struct {
	Dir  string // where the segments are; made if it does not exist
	Name string // begins their names: ASCII letters, digits, ".", "_" and "-"
	Info Info   // describes the crawl

	// SegmentSize is the size in octets that a segment of more than one exchange does not exceed. Zero means 1 GiB.
	SegmentSize int64
	// Level is the gzip level, 1 to 9. Zero means 1.
	Level int

	Index     Index     // nil: nobody is told
	Originals Originals // nil: every payload is kept whole

	// Finished is told of each segment that is complete, once its final name, without its folder, is durable: how many
	// octets it has and their SHA-256. That is also said of those that Open completes after a kill. It is called before the
	// next segment begins, so what it does must be durable when it returns: then a kill leaves at most the last complete
	// segment untold. An error of it poisons the Writer like a failed append. Nil means that nobody is told.
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
	return o.Info.validate()
}

// Writer appends exchanges to an archive. It is a storage.Recorder; its methods may be called concurrently.
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
	seg *segment // the one that is written, or comes next
	err error    // why nothing more is written; nil while it is
}

var _ storage.Recorder = (*Writer)(nil)

var errClosed = fmt.Errorf("warc: the writer is closed: %w", os.ErrClosed)

// Open returns a Writer that goes on with the archive in o.Dir, or begins it. Segments left open by a killed process
// are cut behind their last whole exchange and completed: they are read in full for that. The first file is created
// with the first exchange. Open fails if a file cannot be read or written, and changes nothing that is complete.
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

// Cut returns the path of the segment that Open cut and the number of octets that were cut off; "" and 0 if it cut
// nothing. A segment without a whole exchange is cut altogether and is gone.
func (w *Writer) Cut() (file string, octets int64) { return w.cutFile, w.cut }

// InfoSHA256 returns the SHA-256, in hexadecimal digits, of the block of the warcinfo records of this Writer: all its
// segments begin with the same.
func (w *Writer) InfoSHA256() string {
	sum := sha256.Sum256(w.o.Info.block(w.o.Name))
	return hex.EncodeToString(sum[:])
}

// Record implements storage.Recorder. The octets of r are read before it returns and not kept.
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

// place appends what compress puts into p's spool for a segment. The warcinfo id is within the members, so when the
// segment is full at the append they are pressed anew for the next. Every repeat means that something else was
// appended or a segment completed.
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
		if err := p.spool.Flush(); err != nil { // here it costs a record, and under the lock the archive
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

// append adds the members in s, those of e if it is not nil, to seg. It reports false if seg is, or thereby becomes,
// complete.
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
		// Not to be broken off half-way by a cancelled context.
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

// gathered adds the refusals gathered so far to a segment that is about to be complete, if they fit; otherwise they
// are for the next.
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

// Sync implements storage.Recorder. It lets other exchanges be appended meanwhile.
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
	case seg.done: // completed meanwhile, and so durable; our call may have met a closed file
		return nil
	case w.err != nil:
		return w.err
	case err != nil: // the system may have dropped what it could not write, so a second try proves nothing
		return w.poison("sync", seg, err)
	}
	seg.synced = max(seg.synced, size)
	return nil
}

// Close completes the segment. A poisoned Writer leaves it open, for the next Open, and returns why it stopped.
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
		w.seg.file.Close() // err says why nothing more is to be had of it
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
	openSuffix = ".open" // behind suffix, while the segment is being written
	cutSuffix  = ".cut"  // behind suffix: a damaged tail that was cut off
)

// file is what a segment needs of an *os.File.
type file interface {
	io.WriteCloser
	Sync() error
}

// segment is one file of the archive. Its file is created with its first exchange, so that no segment is empty.
type segment struct {
	number int
	name   string    // its final one, without its folder
	info   string    // the id of its warcinfo record
	file   file      // nil until created
	sum    hash.Hash // of what was appended; nil when nobody will be told
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

// append adds what a spool holds. The digest is taken on the way: to read a complete segment again would cost the same
// and, under the lock, all at once.
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
	h := head{id: s.info, date: w.now(), filename: filepath.Base(path)}
	if err := p.info(ctx, h, w.o.Info.block(w.o.Name)); err != nil {
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

// finish makes s durable and gives it its final name.
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

// tellComplete tells of a segment that was given its final name, after that is durable.
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

// rename gives the segment that is to stand at path its final name.
func rename(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("both %s and %s exist; move one of them away", path, filepath.Base(path)+openSuffix)
	}
	return os.Rename(path+openSuffix, path)
}

func create(path string) (file, error) {
	return durable.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// segmentNumber reads the name of a segment of archive. Its state is "", openSuffix or cutSuffix.
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
	// Only the spelling we write ourselves: "+1", "1" and "000001" are other files.
	if err != nil || number < 0 || digits != fmt.Sprintf("%05d", number) {
		return 0, "", false
	}
	return number, state, true
}

// isSpool reports whether base is a spool's file of archive.
func isSpool(archive, base string) bool {
	rest, ok := strings.CutPrefix(base, archive+".")
	if !ok {
		return false
	}
	digits, ok := strings.CutSuffix(rest, ".spool")
	_, err := strconv.ParseUint(digits, 10, 64)
	return ok && err == nil
}

// OpenListed opens a file of an archive, by way of open, under the name that it had when somebody looked. A crawl that runs may
// have completed a segment since: the one that was being written then stands under its final name now.
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

// Index is told where records stand while they are written. Its methods are called one at a time, and an error of one
// poisons the Writer like a failed append.
type Index interface {
	// Add is called for each response and revisit record once it is appended, in the order of the file.
	Add(e Entry) error
	// Complete is called once a segment has its final name; file is that name without its folder.
	Complete(file string) error
	// Mended is called by Open for a segment that a killed process left behind, before Complete: of its entries those at
	// offset end and beyond are gone, and others may be missing. removed says that nothing of the segment is left. path is
	// where the segment stands at that time, already cut and not yet under its final name, which is file. A kill may make
	// that be told twice.
	Mended(path, file string, end int64, removed bool) error
}

// Entry says where a response or revisit record stands.
type Entry struct {
	File           string // the segment's final name, without its folder
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

// Originals knows the archived answers that a new one may repeat.
type Originals interface {
	// Original returns the answer whose payload has that digest, in this archive or an earlier one. It may be called
	// concurrently.
	Original(payload [32]byte) (o storage.Original, known bool, err error)
}
