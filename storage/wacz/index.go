package wacz

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"

	"curtsy/storage/spool"
)

const (
	maxPlain   = 2 << 20 // bytes of an index that players are given whole
	blockLines = 1024    // of a ZipNum block
	maxLine    = 1 << 20 // bytes of a line of an index
)

// ErrIndex is wrapped by what says that the index is not that of the segments.
var ErrIndex = errors.New("the index does not fit the archive")

// readIndex gathers the lines of the index of what is packed, and holds them against the archive: a line for each
// response and revisit, at its place, and no other.
func (s *survey) readIndex(ctx context.Context, index iter.Seq2[[]byte, error]) (_ *spool.Spool, err error) {
	if index == nil {
		return nil, errors.New("wacz: pack: no index of the archive")
	}
	to := newSpool(s.dir)
	defer func() {
		if err != nil {
			err = errors.Join(err, to.Close())
		}
	}()
	x := indexer{to: to, by: map[string]*segment{}}
	for _, seg := range s.segments {
		x.by[seg.name] = seg
	}
	n := 0
	for line, err := range index {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, fmt.Errorf("wacz: read the index: %w", err)
		}
		n++
		if err := x.line(line); err != nil {
			return nil, fmt.Errorf("wacz: read the index: line %d: %w", n, err)
		}
	}
	for _, seg := range s.segments {
		switch {
		case seg.entries != seg.records:
			return nil, fmt.Errorf("wacz: %w: it has %d lines for %s, which has %d answers", ErrIndex, seg.entries, seg.name,
				seg.records)
		case seg.indexed != seg.sum:
			return nil, fmt.Errorf("wacz: %w: it lists records of %s that do not exist", ErrIndex, seg.name)
		}
	}
	return to, nil
}

type indexer struct {
	to   *spool.Spool
	by   map[string]*segment
	last []byte
}

// entry is the third part of a line, by the exact names of its fields: a struct's would match "Offset", too.
type entry map[string]json.RawMessage

// number reads a JSON number, or a string of one: tools write either.
func (e entry) number(name string) (int64, error) {
	v, err := strconv.ParseUint(string(bytes.Trim(e[name], `"`)), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("its %s is %.40q", name, e[name])
	}
	return int64(v), nil
}

// where reads the place of a record.
func (e entry) where() (file string, offset, length int64, err error) {
	if err = json.Unmarshal(e["filename"], &file); err != nil {
		return "", 0, 0, fmt.Errorf("its filename is %.40q", e["filename"])
	}
	if offset, err = e.number("offset"); err != nil {
		return "", 0, 0, err
	}
	length, err = e.number("length")
	return file, offset, length, err
}

// line takes a line "key timestamp {…}". Only what a cut before it has moved is written anew.
func (x *indexer) line(line []byte) error {
	head, _, ok := bytes.Cut(line, []byte(" {"))
	if !ok {
		return fmt.Errorf("%.80q is not a line of an index", line)
	}
	if bytes.Compare(line, x.last) < 0 {
		return fmt.Errorf("%.80q follows a greater line; an index is sorted", line)
	}
	x.last = append(x.last[:0], line...)
	object := line[len(head)+1:]
	var e entry
	if err := json.Unmarshal(object, &e); err != nil {
		return fmt.Errorf("%.80q: %w", line, err)
	}
	file, was, length, err := e.where()
	if err != nil {
		return fmt.Errorf("%.80q: %w", line, err)
	}
	seg := x.by[file]
	if seg == nil {
		return fmt.Errorf("%w: it names %q, which is not packed", ErrIndex, file)
	}
	at, ok := seg.shift(was)
	if !ok {
		return nil
	}
	seg.entries++
	seg.indexed += place(at, length)
	if at != was {
		if object, err = e.moved(at); err != nil {
			return err
		}
	}
	for _, part := range [][]byte{head, {' '}, object, {'\n'}} {
		if _, err := x.to.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// moved writes the entry with another offset, a string if it was one.
func (e entry) moved(offset int64) ([]byte, error) {
	value := strconv.FormatInt(offset, 10)
	if old := e["offset"]; len(old) > 0 && old[0] == '"' {
		value = `"` + value + `"`
	}
	e["offset"] = json.RawMessage(value)
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	err := to.Encode(e)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// zipNum writes an index as ZipNum: blocks of lines, each a gzip member, to blocks, and to index where each begins.
func zipNum(ctx context.Context, r io.Reader, blocks, index *spool.Spool) error {
	if _, err := io.WriteString(index,
		`!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}`+"\n"); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(r, maxLine+1)
	var block bytes.Buffer
	z, err := gzip.NewWriterLevel(&block, gzip.BestCompression)
	if err != nil {
		return err
	}
	for {
		first, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		key, _, _ := bytes.Cut(first, []byte(" {"))
		prefix := string(key)
		block.Reset()
		z.Reset(&block)
		for n := 1; ; n++ {
			if _, err := z.Write(first); err != nil {
				return err
			}
			if n == blockLines {
				break
			}
			if first, err = lines.ReadSlice('\n'); err != nil {
				break // the end, which the next block finds
			}
		}
		if err := z.Close(); err != nil {
			return err
		}
		sum := sha256.Sum256(block.Bytes())
		if _, err := fmt.Fprintf(index,
			"%s {\"offset\": %d, \"length\": %d, \"digest\": \"sha256:%s\", \"filename\": \"index.cdx.gz\"}\n",
			prefix, blocks.Size(), block.Len(), hex.EncodeToString(sum[:])); err != nil {
			return err
		}
		if _, err := blocks.Write(block.Bytes()); err != nil {
			return err
		}
	}
}

// maxPages is how many pages that are no seeds the first list has; players load all of it before they show anything.
const maxPages = 10_000

// page is a line of a list of pages.
type page struct {
	ID    string `json:"id"` // the UUID of the archived record
	URL   string `json:"url"`
	Time  string `json:"ts"`
	Title string `json:"title,omitempty"`
	Seed  bool   `json:"seed,omitempty"`
	Size  int64  `json:"size,omitempty"` // bytes of the answer as archived
}

// stamp writes a time as RFC 3339, to the microsecond as the archive has it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999Z") }

// list is a file of pages.
type list struct {
	spool *spool.Spool
	n     int64
}

// newList begins a list with the line that says what it is.
func newList(dir, id, title string) (*list, error) {
	s := newSpool(dir)
	l := &list{spool: s}
	head := struct {
		Format string `json:"format"`
		ID     string `json:"id"`
		Title  string `json:"title"`
		Text   bool   `json:"hasText"`
	}{"json-pages-1.0", id, title, false}
	return l, l.line(head)
}

func (l *list) add(p *page) error {
	l.n++
	return l.line(p)
}

func (l *list) line(v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = l.spool.Write(append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("wacz: list a page: %w", err)
	}
	return nil
}
