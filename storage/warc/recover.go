package warc

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"curtsy/frontier/durable"
	"curtsy/storage"
)

// recover completes open segments, removes spools, and returns the number of the next segment. It can be interrupted at
// any point and repeated.
func (w *Writer) recover() (next int, err error) {
	entries, err := os.ReadDir(w.o.Dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if isSpool(w.o.Name, e.Name()) {
			if err := os.Remove(filepath.Join(w.o.Dir, e.Name())); err != nil {
				return 0, err
			}
			continue
		}
		number, state, ok := segmentNumber(w.o.Name, e.Name())
		if !ok {
			continue
		}
		next = max(next, number+1)
		if state == openSuffix {
			if err := w.repair(w.path(&segment{number: number})); err != nil {
				return 0, err
			}
		}
	}
	return next, durable.Names(w.o.Dir)
}

// repair cuts the open segment of path after its last whole exchange and completes it, or removes it if it has none.
func (w *Writer) repair(path string) error {
	f, err := durable.OpenFile(path+openSuffix, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	end, cause, err := whole(f)
	if err != nil {
		return fmt.Errorf("read %s%s: %w", path, openSuffix, err)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if end < size {
		w.cutFile, w.cut = path, w.cut+size-end
		if cause != nil && !errors.Is(cause, io.ErrUnexpectedEOF) {
			if err := durable.File(path+cutSuffix, func(to io.Writer) error {
				_, err := io.Copy(to, io.NewSectionReader(f, end, size-end))
				return err
			}); err != nil {
				return fmt.Errorf("keep the damaged tail of %s%s: %w", path, openSuffix, err)
			}
		}
		if err := f.Truncate(end); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	var sum digest
	if w.o.Finished != nil && end > 0 {
		if _, sum, err = durable.Digest(context.Background(), path+openSuffix); err != nil {
			return fmt.Errorf("read %s%s: %w", path, openSuffix, err)
		}
	}
	if err := f.Close(); err != nil { // before the rename: Windows renames no open file
		return err
	}
	if w.o.Index != nil { // before the rename: a kill in between repeats both
		if err := w.o.Index.Mended(path+openSuffix, filepath.Base(path), end, end == 0); err != nil {
			return err
		}
	}
	if end == 0 {
		return os.Remove(path + openSuffix)
	}
	if err := rename(path); err != nil {
		return err
	}
	return w.tellComplete(filepath.Base(path), end, sum)
}

// whole returns the offset after the last whole exchange of a segment, 0 without one, and the error in the next record, or
// nil. The last result is a read error.
func whole(f io.Reader) (end int64, cause, err error) {
	rd := NewReader(f)
	var u unit
	for {
		rec, err := rd.Next()
		var at int64
		if err == nil {
			at, err = rd.End()
		}
		switch {
		case rd.l.src.err != nil:
			return 0, nil, rd.l.src.err
		case errors.Is(err, io.EOF):
			return end, nil, nil
		case err != nil:
			return end, err, nil
		}
		// A warcinfo record is not part of an exchange, and not worth keeping without one.
		if rec.Type != "warcinfo" && u.ends(rec) {
			end = at
		}
	}
}

// unit has the records of an exchange read so far. The first names the answer and the metadata record, which follow.
type unit struct{ met, awaited []string }

func (u *unit) ends(r *Record) bool {
	if r.Type == "request" || len(u.met) == maxUnit {
		u.met, u.awaited = u.met[:0], u.awaited[:0] // another exchange begins: the one before is torn
	}
	id := r.ID()
	u.met = append(u.met, id)
	u.awaited = slices.DeleteFunc(u.awaited, func(s string) bool { return s == id })
	for _, v := range r.Fields.Values("WARC-Concurrent-To") {
		if other := bare(v); !slices.Contains(u.met, other) && len(u.awaited) < maxUnit {
			u.awaited = append(u.awaited, other)
		}
	}
	if len(u.awaited) > 0 {
		return false
	}
	u.met = u.met[:0]
	return true
}

// maxUnit is more than the records of an exchange.
const maxUnit = 8

// Edit is the change of a record by Rewrite.
type Edit struct {
	Fate  Fate
	Block []byte // of a Replace
}

type Fate uint8

const (
	Keep Fate = iota // byte for byte, with its gzip member
	Drop
	Reduce  // to its HTTP head, marked as truncated
	Replace // its block
)

// Rewrite writes the complete segment at path to w, each record as edit decides, which may read the block of those that
// it does not reduce. It copies kept records byte for byte. Reduced and replaced ones keep their fields except
// Content-Length and WARC-Block-Digest. A reduced one gets WARC-Truncated: unspecified (WARC 1.1, 5.13, has no word for
// this) and loses its WARC-Payload-Digest, like any record without body: a validator would compare it with nothing.
func Rewrite(ctx context.Context, w io.Writer, path string, edit func(*Record) (Edit, error)) error {
	f, err := durable.Open(path)
	if err != nil {
		return fmt.Errorf("warc: rewrite: %w", err)
	}
	defer f.Close()
	rd := NewReader(f)
	for {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		var e Edit
		if err == nil {
			e, err = edit(rec)
		}
		if err == nil {
			err = e.write(w, rd, rec, f)
		}
		if err != nil {
			return fmt.Errorf("warc: rewrite %s: %w", path, err)
		}
	}
}

func (e *Edit) write(w io.Writer, rd *Reader, rec *Record, f io.ReaderAt) error {
	block := e.Block
	if e.Fate == Reduce {
		var err error
		if block, err = HTTPHead(rec.Block); err != nil {
			return err
		}
	}
	end, err := rd.End()
	if err != nil {
		return err
	}
	switch e.Fate {
	case Drop:
		return nil
	case Keep:
		_, err := io.Copy(w, io.NewSectionReader(f, rec.Offset, end-rec.Offset))
		return err
	}
	gz, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if _, err := gz.Write(rec.encode(block, e.Fate == Reduce)); err != nil {
		return err
	}
	return gz.Close()
}

func (r *Record) encode(block []byte, reduced bool) []byte {
	b := append([]byte(r.Version), "\r\n"...)
	sum := sha256.Sum256(block)
	truncated := !reduced
	cut := func() {
		if !truncated {
			truncated = true
			b = appendField(b, "WARC-Truncated", "unspecified")
		}
	}
	for _, f := range r.Fields {
		is := func(name string) bool { return strings.EqualFold(f.Name, name) }
		switch {
		case is("WARC-Block-Digest"):
			b = appendField(b, f.Name, "sha256:"+hex.EncodeToString(sum[:]))
			continue
		case is("Content-Length"):
			cut()
			b = appendField(b, f.Name, strconv.Itoa(len(block)))
			continue
		case reduced && (is("WARC-Payload-Digest") || is("WARC-Truncated")):
			continue
		case is("Content-Type"):
			cut()
		}
		b = append(append(append(append(b, f.Name...), ": "...), f.Value...), "\r\n"...)
	}
	b = append(b, "\r\n"...)
	return append(append(b, block...), recordEnd...)
}

// HTTPHead reads the head of a response's block as archived, up to the empty line. It returns nil if the first
// storage.MaxHead bytes have no such line: nothing is then known to be a head.
func HTTPHead(block io.Reader) ([]byte, error) {
	head, complete, err := AppendHead(nil, bufio.NewReaderSize(io.LimitReader(block, storage.MaxHead), blockBuffer))
	if err != nil || !complete {
		return nil, err
	}
	return head, nil
}
