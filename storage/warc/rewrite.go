package warc

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"curtsy/frontier/durable"
	"curtsy/storage"
)

// Edit says what becomes of a record when its segment is written anew.
type Edit struct {
	Fate  Fate
	Block []byte // of a Replace
}

// Fate is what becomes of a record.
type Fate uint8

// The fates.
const (
	Keep    Fate = iota // octet for octet, its gzip member and all
	Drop                // it is gone
	Reduce              // its block ends behind the HTTP head, and is said to be truncated
	Replace             // it has another block
)

// Rewrite writes the complete segment at path to w, each record as edit says, which may read the block of those that
// are not reduced. Records that are kept stand there octet for octet. A record that is reduced or replaced keeps its
// fields, but for those that speak of its block: Content-Length and WARC-Block-Digest are those of what it has now. A
// reduced one says WARC-Truncated: unspecified (WARC 1.1, 5.13, has no word for this) and has no WARC-Payload-Digest, as
// any record here of which the body was left out: a validator would hold it against no octets.
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

// write writes a record, which is read to its end.
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
	if _, err := gz.Write(rec.anew(block, e.Fate == Reduce)); err != nil {
		return err
	}
	return gz.Close()
}

// anew is the record with another block.
func (r *Record) anew(block []byte, reduced bool) []byte {
	b := append([]byte(r.Version), "\r\n"...)
	sum := sha256.Sum256(block)
	truncated := !reduced
	cut := func() {
		if !truncated {
			truncated = true
			b = appendField(b, "WARC-Truncated", truncatedUnspecified)
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

// truncatedUnspecified is the reason of WARC 1.1, 5.13, for which it has no word of its own.
const truncatedUnspecified = "unspecified"

// HTTPHead reads the head of a response's block, up to the empty line: status line and fields, as they stand there. It
// returns nothing for a block without such a line in its first storage.MaxHead octets: nothing is known to be a head.
func HTTPHead(block io.Reader) ([]byte, error) {
	head, complete, err := AppendHead(nil, bufio.NewReaderSize(io.LimitReader(block, storage.MaxHead), blockBuffer))
	if err != nil || !complete {
		return nil, err
	}
	return head, nil
}
