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

// Index writes the sorted lines of WARC files of any crawler to w in bounded memory. It reports findings and omits
// unreadable records.
func Index(ctx context.Context, w io.Writer, found func(path string, f warc.Finding), paths ...string) (err error) {
	s := sorted.New("", runSize)
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, path := range paths {
		report := func(f warc.Finding) { found(path, f) }
		n, err := capturesIn(ctx, path, report, s.Add)
		if err == nil && n == 0 {
			err = errors.New("no WARC record in it")
		}
		if err != nil {
			return fmt.Errorf("cdxj: index %s: %w", path, err)
		}
	}
	b := bufio.NewWriterSize(w, 64<<10)
	if err := writeSorted(ctx, b, s); err != nil {
		return fmt.Errorf("cdxj: sort the lines: %w", err)
	}
	return b.Flush()
}

// NoIndex is the code of a finding for a record without a line; other codes are those of a warc.Lenient.
const NoIndex = "no-index"

// Captures calls see with the line of each readable capture of a WARC file of any crawler, in its order. As in an index,
// invalid UTF-8 in a URL is replaced.
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

// capturesIn calls see with the line of each capture. It returns the number of records.
func capturesIn(ctx context.Context, path string, found func(warc.Finding), see func(line []byte) error) (n int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var line []byte
	return scan(ctx, meter.Reader(ctx, f), filepath.Base(path), found, func(c *capture) error {
		if c.Length <= 0 { // several records in a member: an offset cannot name one of them
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

// emptyPayload is the digest of an empty payload, to which no revisit refers.
var emptyPayload = sha256.Sum256(nil)

// maxHTTPHead bounds the search for the end of an HTTP head. It is less than maxLine.
const maxHTTPHead = maxLine - 1

// readHead bounds the part of a head that is read for status and media type, as the archive's writer does.
const readHead = 32 << 10

type capture struct {
	warc.Entry
	digest   string // as in the record, without the algorithm's name
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

// LineOf returns the line of a record of a file, without its length; nil for a record without a line, an error for an
// invalid date. The block can still be read from its beginning.
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

// HasLine reports whether a record has a line of the index, as in warcio.
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

// captureOf reads the head of a record of a file. Its kind is empty for a record without a line.
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
	// A revisit must not refer to a truncated response, one without its body, an error page, or robots.txt, which is
	// always stored whole.
	page, _, _ := strings.Cut(c.URL, "?")
	c.Repeatable = kind == "response" && 200 <= c.Status && c.Status <= 299 && head != nil &&
		rec.Length > int64(len(head)) && rec.Fields.Get("WARC-Truncated") == "" &&
		!strings.HasSuffix(strings.ToLower(path.Base(page)), "robots.txt")
	c.original = worth(&c.Entry)
	return c, nil
}

// worth reports whether a revisit may refer to e.
func worth(e *warc.Entry) bool {
	return e.Kind == "response" && e.Repeatable && e.HasPayload && e.Payload != emptyPayload && oneWord(e.URL) &&
		whole(e.File) && whole(e.ID)
}

// httpHead reads up to the empty line after a response's head, including interim responses before it (RFC 9110 15.2). It
// returns nil without one within maxHTTPHead; the end of the record reports read errors.
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

// scan calls see with each capture in the order of the file and found with each finding. It returns the number of records.
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

type lines struct {
	in  *bufio.Reader
	buf []byte
	at  int64 // where the next line begins
}

func newLines(r io.Reader) *lines { return newLinesSize(r, 64<<10) }

func newLinesSize(r io.Reader, size int) *lines { return &lines{in: bufio.NewReaderSize(r, size)} }

// next returns the next line with its newline, valid until the next call, and where it begins. whole is false for a last
// line without newline. At the end it returns io.EOF.
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

// Lines returns the lines of a file without their newlines, each valid until the next. It skips an unfinished last line
// of a journal. An error is the last, fs.ErrNotExist for a journal that the sorted file has replaced.
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

// ErrEmpty is the error of an index without lines: its segment has no response, or it lost them.
var ErrEmpty = errors.New("the index is empty")

// Sound checks a complete index for torn, invalid and unsorted lines. It cannot detect missing lines. It reads only path.
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

// runSize is the memory for sorting lines.
const runSize = 8 << 20

// Sorted returns the lines of index files in order, without newlines, each valid until the next. Temporary files are in
// dir, or in the system's directory if that is empty. An error is the last.
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

// sortFile sorts the lines of from into to, without a torn last line.
func sortFile(ctx context.Context, from, to, dir string) error {
	s := sorted.New(dir, runSize)
	defer s.Close() //nolint:errcheck // a temporary file
	if err := addFiles(s, from); err != nil {
		return err
	}
	return durable.File(to, func(w io.Writer) error { return writeSorted(ctx, w, s) })
}

// Files returns the paths of an index directory's files: those of complete segments, sorted, and any journal.
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

// Lookup returns the captures of a URL, the oldest first, found by the URL's key: spellings that differ in case, "www.",
// scheme or order of arguments are among them, see Line.URL. Files must be sorted for the binary search, except those
// that end in ".open", which it reads whole. It skips a missing file, since the sorted file replaces a journal.
func Lookup(paths []string, url string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		var found []Line
		all := []string{Key(url)}
		// Another tool may have archived the URL as written: keys differ in the case of escaped characters.
		if u, err := canon.Parse(url); err == nil && Key(u.String()) != all[0] {
			all = append(all, Key(u.String()))
		}
		for _, key := range all {
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

// maxFound bounds the captures of one key from one file.
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

// firstOf returns the offset of the first line of a sorted file whose key is not less than key.
func firstOf(f *os.File, key []byte) (at int64, err error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	// Monotone in the offset: whether the first line that begins at or after it reaches key.
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

// stride is the read size of the binary search.
const stride = 4 << 10

// lineFrom returns the first line that begins at or after offset, or io.EOF.
func lineFrom(f io.ReaderAt, offset, size int64) (at int64, line []byte, err error) {
	if offset == 0 {
		line, _, _, err = newLinesSize(io.NewSectionReader(f, 0, size), stride).next()
		return 0, line, err
	}
	// The byte before may be a newline.
	in := newLinesSize(io.NewSectionReader(f, offset-1, size-offset+1), stride)
	if _, _, _, err = in.next(); err != nil {
		return 0, nil, err
	}
	line, at, _, err = in.next()
	return offset - 1 + at, line, err
}
