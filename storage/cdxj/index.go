package cdxj

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/frontier/durable/meter"
	"curtsy/storage/mediatype"
	"curtsy/storage/sorted"
	"curtsy/storage/warc"
)

// Index writes the lines of WARC files of any crawler to w, sorted, in memory that does not depend on their number. It
// tells found what is wrong in a file; what cannot be read has no line.
func Index(ctx context.Context, w io.Writer, found func(path string, f warc.Finding), paths ...string) (err error) {
	s := sorted.New("", runSize)
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, path := range paths {
		if err := addLines(ctx, s, path, func(f warc.Finding) { found(path, f) }); err != nil {
			return fmt.Errorf("cdxj: index %s: %w", path, err)
		}
	}
	b := bufio.NewWriterSize(w, 64<<10)
	if err := writeSorted(ctx, b, s); err != nil {
		return fmt.Errorf("cdxj: sort the lines: %w", err)
	}
	return b.Flush()
}

// NoIndex is the code of a finding about a record that has no line: others are those of a warc.Lenient.
const NoIndex = "no-index"

func addLines(ctx context.Context, s *sorted.Sorter, path string, found func(warc.Finding)) error {
	n, err := capturesIn(ctx, path, found, s.Add)
	if err == nil && n == 0 {
		return errors.New("no WARC record in it")
	}
	return err
}

// Captures gives the line of each capture of a WARC file of any crawler to see, in the order of the file and as an index has
// it: a URL that is not UTF-8 is replaced in part. What cannot be read has no line.
func Captures(ctx context.Context, path string, see func(l *Line) error) error {
	_, err := capturesIn(ctx, path, func(warc.Finding) {}, func(line []byte) error {
		l, err := ParseLine(line)
		if err != nil {
			return nil //nolint:nilerr // its date has a year of five digits
		}
		return see(&l)
	})
	return err
}

// capturesIn gives each capture that can have a line to see, with that line. It returns the number of records.
func capturesIn(ctx context.Context, path string, found func(warc.Finding), see func(line []byte) error) (n int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var line []byte
	return scan(ctx, meter.Reader(ctx, f), filepath.Base(path), found, func(c *capture) error {
		if c.Length <= 0 { // several records in a member: no offset names one of them
			found(warc.Finding{Offset: c.Offset, Code: NoIndex, Text: "it shares its gzip member with others, so that an index cannot name it"})
			return nil
		}
		if line = c.append(line[:0]); len(line) > maxLine {
			found(warc.Finding{Offset: c.Offset, Code: NoIndex, Text: fmt.Sprintf("its line would be longer than %d bytes", maxLine)})
			return nil
		}
		return see(line)
	})
}

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

func (c *capture) append(b []byte) []byte {
	l := c.line()
	return l.appendFields(append(appendKey(b, c.URL), ' '))
}

// line returns the line of c without its key.
func (c *capture) line() Line {
	l := Line{
		Time: c.Date.UTC(), URL: c.URL, Mime: c.Type, Status: c.Status, Digest: c.digest,
		Length: c.Length, Offset: c.Offset, Filename: c.File,
	}
	if c.Kind == "revisit" {
		l.Mime = revisitType
	}
	return l
}

// LineOf returns the line of a record of a file, without its length. The block can still be read from its beginning. A
// record that has no line returns nil; one whose date cannot be read returns an error.
func LineOf(rec *warc.Record, file string) (*Line, error) {
	var head bytes.Buffer
	block := rec.Block
	rec.Block = io.TeeReader(block, &head)
	c, err := captureOf(rec, file)
	rec.Block = io.MultiReader(&head, block)
	if err != nil || c.Kind == "" {
		return nil, err
	}
	l := c.line()
	l.Key = Key(c.URL)
	return &l, nil
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

// runSize is how much memory lines take while they are sorted.
const runSize = 8 << 20

// Sorted returns the lines of index files in one order, without their newlines, each valid until the next. Temporary files
// are in dir; empty means the system's folder for them. An error is the last.
func Sorted(ctx context.Context, dir string, paths ...string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		s := sorted.New(dir, runSize)
		defer s.Close() //nolint:errcheck // a temporary file
		if err := addFiles(s, paths...); err != nil {
			yield(nil, err)
			return
		}
		for line, err := range s.All() {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(bytes.TrimSuffix(line, []byte("\n")), err) || err != nil {
				return
			}
		}
	}
}

func addFiles(s *sorted.Sorter, paths ...string) error {
	var b []byte
	for _, path := range paths {
		for line, err := range Lines(path) {
			if err == nil {
				b = append(append(b[:0], line...), '\n')
				err = s.Add(b)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// writeSorted writes the lines of a sorter, each with its newline, in their order.
func writeSorted(ctx context.Context, w io.Writer, s *sorted.Sorter) error {
	n := 0
	for line, err := range s.All() {
		if n++; err == nil && n%1024 == 0 {
			err = ctx.Err()
		}
		if err == nil {
			_, err = w.Write(line)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// sortFile writes the lines of the file from to the file to, sorted. A last line without its newline is what a kill
// tore, and is left out.
func sortFile(ctx context.Context, from, to, dir string) error {
	s := sorted.New(dir, runSize)
	defer s.Close() //nolint:errcheck // a temporary file
	if err := addFiles(s, from); err != nil {
		return err
	}
	return durable.File(to, func(w io.Writer) error { return writeSorted(ctx, w, s) })
}

// Files returns the paths of an index directory's files: those of complete segments, sorted, and the journal of the
// open one, if there is one.
func Files(indexDir string) ([]string, error) {
	entries, err := os.ReadDir(indexDir)
	if err != nil {
		return nil, fmt.Errorf("cdxj: list the index: %w", err)
	}
	var paths []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) || strings.HasSuffix(e.Name(), suffix+openSuffix) {
			paths = append(paths, filepath.Join(indexDir, e.Name()))
		}
	}
	return paths, nil
}

// Lookup returns the captures of a URL, the oldest first. Files are searched by halving and must be sorted, but those
// whose names end in ".open", which are read whole. A file that is gone is passed over: a journal is replaced by the
// sorted file when its segment is complete. The lines are those of the URL's key, so those of its spellings that differ
// in case, in "www." or the scheme, or in the order of the query's arguments are among them; Line.URL tells.
func Lookup(paths []string, url string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		var found []Line
		for _, key := range keys(url) {
			for _, path := range paths {
				lines, err := lookupFile(path, key)
				if errors.Is(err, os.ErrNotExist) {
					continue
				}
				if err != nil && !yield(Line{}, fmt.Errorf("cdxj: look %q up in %s: %w", key, path, err)) {
					return
				}
				found = append(found, lines...)
			}
		}
		slices.SortFunc(found, func(a, b Line) int {
			return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Filename, b.Filename), cmp.Compare(a.Offset, b.Offset))
		})
		for i, l := range found {
			if i > 0 && l == found[i-1] {
				continue // a journal and its sorted file, while one replaces the other
			}
			if !yield(l, nil) {
				return
			}
		}
	}
}

// keys returns the keys that captures of a URL may have: that of the URL as a crawler asks for it and, where another
// tool may have archived it as it was written, that as well. They differ in the case of what has to be escaped.
func keys(url string) []string {
	all := []string{Key(url)}
	if u, err := canon.Parse(url); err == nil && Key(u.String()) != all[0] {
		all = append(all, Key(u.String()))
	}
	return all
}

// maxFound is how many captures of one key are taken from one file.
const maxFound = 1 << 20

func lookupFile(path, key string) (found []Line, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sorted := !strings.HasSuffix(path, openSuffix)
	from := int64(0)
	if sorted {
		if from, err = firstOf(f, []byte(key)); err != nil {
			return nil, err
		}
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, err
	}
	for in := newLines(f); ; {
		line, at, whole, err := in.next()
		if errors.Is(err, io.EOF) || err == nil && !whole && !sorted {
			return found, nil
		}
		if err != nil {
			return found, err
		}
		switch c := bytes.Compare(keyOf(line), []byte(key)); {
		case c > 0 && sorted:
			return found, nil
		case c != 0:
			continue
		case len(found) == maxFound:
			return found, fmt.Errorf("more than %d captures", maxFound)
		}
		l, err := ParseLine(line)
		if err != nil {
			return found, fmt.Errorf("the line at byte %d: %w", from+at, err)
		}
		found = append(found, l)
	}
}

// firstOf returns where the first line of a sorted file begins whose key is not less than key.
func firstOf(f *os.File, key []byte) (at int64, err error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	// The question is monotone in the offset: does the first line that begins at or behind it reach key?
	low, high := int64(0), size
	for low < high {
		middle := low + (high-low)/2
		_, line, err := lineFrom(f, middle, size)
		switch {
		case errors.Is(err, io.EOF) || err == nil && bytes.Compare(keyOf(line), key) >= 0:
			high = middle
		case err != nil:
			return 0, err
		default:
			low = middle + 1
		}
	}
	at, _, err = lineFrom(f, low, size)
	if errors.Is(err, io.EOF) {
		return size, nil
	}
	return at, err
}

// stride is how much is read at once while a file is halved.
const stride = 4 << 10

// lineFrom returns the first line that begins at offset or behind it; io.EOF if there is none.
func lineFrom(f io.ReaderAt, offset, size int64) (at int64, line []byte, err error) {
	if offset == 0 {
		line, _, _, err = newLinesSize(io.NewSectionReader(f, 0, size), stride).next()
		return 0, line, err
	}
	// the newline before may be the byte before
	in := newLinesSize(io.NewSectionReader(f, offset-1, size-offset+1), stride)
	if _, _, _, err = in.next(); err != nil {
		return 0, nil, err
	}
	line, at, _, err = in.next()
	return offset - 1 + at, line, err
}
