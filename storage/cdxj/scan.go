package cdxj

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"

	"curtsy/frontier/durable"
	"curtsy/storage/mediatype"
	"curtsy/storage/warc"
)

// emptyPayload is the digest of a payload of no bytes. Nothing is saved by referring to one.
var emptyPayload = sha256.Sum256(nil)

// maxHTTPHead is how much of a block is searched for the end of its HTTP head. It is less than maxLine.
const maxHTTPHead = maxLine - 1

// readHead is how much of a head is read for its status and media type: as much as the writer of the archive reads.
const readHead = 32 << 10

// capture is a record that has a line.
type capture struct {
	warc.Entry
	digest   string // as the record has it, without the algorithm's name
	original bool   // its payload is whole, and worth referring to
	damaged  bool   // the record cannot be read to its end
}

// append appends the line of c to b.
func (c *capture) append(b []byte) []byte {
	l := Line{
		Time: c.Date.UTC(), URL: c.URL, Mime: c.Type, Status: c.Status, Digest: c.digest,
		Length: c.Length, Offset: c.Offset, Filename: c.File,
	}
	if c.Kind == "revisit" {
		l.Mime = revisitType
	}
	return l.appendFields(append(appendKey(b, c.URL), ' '))
}

// HasLine reports whether a record has a line of the index, as warcio has it.
func HasLine(rec *warc.Record) bool {
	switch strings.ToLower(rec.Type) {
	case "request", "warcinfo", "continuation":
		return false
	case "metadata", "resource":
		if mediatype.Parse(rec.Fields.Get("Content-Type")).Name == "application/warc-fields" {
			return false
		}
	}
	return rec.TargetURI() != ""
}

// captureOf reads the head of a record of a file. Its kind is empty for a record that has no line.
func captureOf(rec *warc.Record, file string) (c capture, err error) {
	if !HasLine(rec) {
		return c, nil
	}
	kind := strings.ToLower(rec.Type)
	media := rec.Fields.Get("Content-Type")
	c.Entry = warc.Entry{File: file, Offset: rec.Offset, Kind: kind, ID: rec.ID(), URL: rec.TargetURI(),
		Type: mediatype.Parse(media).Name}
	if c.Date, err = rec.Date(); err != nil {
		return c, fmt.Errorf("it has no place in an index: %w", err)
	}
	digest := rec.Fields.Get("WARC-Payload-Digest")
	if _, value, ok := strings.Cut(digest, ":"); ok {
		c.digest, _, _ = strings.Cut(value, ":")
	}
	if strings.HasPrefix(strings.ToLower(digest), "sha256:") {
		c.Payload, c.HasPayload = parseDigest(digest)
	}
	if kind != "response" && kind != "revisit" {
		return c, nil
	}
	c.Type = ""
	if !strings.HasPrefix(mediatype.Parse(media).Name, "application/http") {
		return c, nil
	}
	head := httpHead(rec.Block)
	c.Status, c.Type = warc.StatusAndType(head[:min(len(head), readHead)])
	// An answer that was cut, or kept without its body, cannot stand in for another. Nor does robots.txt: it is kept whole
	// always. An error page is no page that another may be said to repeat.
	c.Repeatable = kind == "response" && 200 <= c.Status && c.Status <= 299 && head != nil &&
		rec.Length > int64(len(head)) && rec.Fields.Get("WARC-Truncated") == "" &&
		!strings.HasSuffix(strings.ToLower(path.Base(withoutQuery(c.URL))), "robots.txt")
	c.original = worth(&c.Entry)
	return c, nil
}

// worth reports whether later answers may refer to that of e.
func worth(e *warc.Entry) bool {
	return e.Kind == "response" && e.Repeatable && e.HasPayload && e.Payload != emptyPayload && oneWord(e.URL) &&
		whole(e.File) && whole(e.ID)
}

func withoutQuery(url string) string {
	url, _, _ = strings.Cut(url, "?")
	return url
}

// httpHead reads up to the empty line behind a response's head, those of interim responses before it included (RFC 9110
// 15.2). Without one, or beyond maxHTTPHead, it returns nil; why a block cannot be read is said at the record's end.
func httpHead(block io.Reader) (head []byte) {
	in := newLinesSize(io.LimitReader(block, maxHTTPHead), 4<<10)
	begins, interim := true, false
	for {
		line, _, whole, err := in.next()
		if err != nil || !whole {
			return nil
		}
		if begins {
			status, _ := warc.StatusAndType(line)
			interim = 100 <= status && status < 200 && status != 101
		}
		head = append(head, line...)
		if begins = len(bytes.TrimRight(line, "\r\n")) == 0; begins && !interim {
			return head
		}
	}
}

// scan gives each capture to see, in the order of the file. It tells found what is wrong in the file, records whose fields
// cannot be read among them, and goes on. It returns the number of records.
func scan(ctx context.Context, in io.Reader, file string, found func(warc.Finding), see func(c *capture) error) (n int, err error) {
	faults := 0
	rd := warc.NewLenient(in, func(f warc.Finding) {
		if !f.Note() {
			faults++
		}
		found(f)
	})
	for ; ; n++ {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		before := faults
		c, err := captureOf(rec, file)
		if err != nil {
			found(warc.Finding{Offset: rec.Offset, Code: NoIndex, Text: err.Error()})
			c = capture{}
		}
		end, err := rd.End()
		if err != nil {
			return n, err
		}
		if c.Length, c.damaged = end-rec.Offset, faults > before; c.Kind != "" {
			if err := see(&c); err != nil {
				return n, err
			}
		}
		if ctx.Err() != nil {
			return n, ctx.Err()
		}
	}
}

// lines reads a file line by line, in bounded memory.
type lines struct {
	in  *bufio.Reader
	buf []byte
	at  int64 // of the line after the one returned last
}

func newLines(r io.Reader) *lines { return newLinesSize(r, 64<<10) }

func newLinesSize(r io.Reader, size int) *lines { return &lines{in: bufio.NewReaderSize(r, size)} }

// next returns the next line with its newline, and where it begins; the bytes hold until the next call. whole is false
// for a last line without its newline. At the end it returns io.EOF.
func (l *lines) next() (line []byte, at int64, whole bool, err error) {
	l.buf, at = l.buf[:0], l.at
	for {
		part, err := l.in.ReadSlice('\n')
		l.at += int64(len(part))
		if err == nil && len(l.buf) == 0 {
			return part, at, true, nil
		}
		l.buf = append(l.buf, part...)
		switch {
		case len(l.buf) > maxLine:
			return nil, at, false, fmt.Errorf("the line at byte %d is longer than %d bytes", at, maxLine)
		case err == nil:
			return l.buf, at, true, nil
		case errors.Is(err, io.EOF) && len(l.buf) > 0:
			return l.buf, at, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, at, false, err
		}
	}
}

// Lines returns the lines of a file, without their newlines, in its order; each is valid until the next. The last one
// of a journal is passed over where it has no end: it is still being written. An error is the last, and io/fs's
// ErrNotExist for a journal that was replaced by the sorted file meanwhile.
func Lines(path string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := durable.Open(path)
		if err != nil {
			yield(nil, fmt.Errorf("cdxj: %w", err))
			return
		}
		defer f.Close()
		for in := newLines(f); ; {
			line, _, whole, err := in.next()
			switch {
			case errors.Is(err, io.EOF), err == nil && !whole && strings.HasSuffix(path, openSuffix):
				return
			case err != nil:
				yield(nil, fmt.Errorf("cdxj: read %s: %w", path, err))
				return
			}
			if !yield(bytes.TrimRight(line, "\r\n"), nil) {
				return
			}
		}
	}
}

// ErrEmpty says that an index has no line: that of a segment without an answer has none, and one that lost them all.
var ErrEmpty = errors.New("the index is empty")

// Sound reads a complete index and says what is wrong in it: lines that are torn, no CDXJ, or out of order. That lines
// are missing between others it cannot tell. Nothing but the file at path is read.
func Sound(path string) error {
	f, err := durable.Open(path)
	if err != nil {
		return fmt.Errorf("cdxj: %w", err)
	}
	defer f.Close()
	in := newLines(f)
	var before []byte
	for n := 1; ; n++ {
		line, _, whole, err := in.next()
		switch {
		case errors.Is(err, io.EOF) && n == 1:
			return fmt.Errorf("cdxj: %s: %w", path, ErrEmpty)
		case errors.Is(err, io.EOF):
			return nil
		case err == nil && !whole:
			err = errors.New("it is torn")
		case err == nil && bytes.Compare(before, line) > 0:
			err = errors.New("it follows a greater one")
		case err == nil:
			_, err = ParseLine(line)
		}
		if err != nil {
			return fmt.Errorf("cdxj: %s is damaged: line %d: %w", path, n, err)
		}
		before = append(before[:0], line...)
	}
}
