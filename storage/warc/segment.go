package warc

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/spool"
)

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

// path is where a complete segment stands.
func (w *Writer) path(s *segment) string {
	return filepath.Join(w.o.Dir, fmt.Sprintf("%s-%05d%s", w.o.Name, s.number, suffix))
}

// begin creates the file of s and writes its warcinfo record.
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
