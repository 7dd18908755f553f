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
	"time"

	"curtsy/storage/spool"
)

const (
	maxPlain   = 2 << 20 // bytes of an index that players load whole
	blockLines = 1024    // of a ZipNum block
	maxLine    = 1 << 20 // bytes of a line of an index
)

func (s *survey) lines(ctx context.Context) (_ *spool.Spool, err error) {
	to := newSpool(s.dir)
	for line, err := range s.index.All() {
		if err = cmp.Or(err, ctx.Err()); err == nil {
			_, err = to.Write(line)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("wacz: sort the index: %w", err), to.Close())
		}
	}
	return to, nil
}

// zipNum writes an index as ZipNum: gzip members of lines to blocks, and the start of each to index.
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
				break // the next block finds the end
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

// maxPages bounds the pages other than seeds in the first list, which players load whole.
const maxPages = 10_000

type page struct {
	ID    string `json:"id"` // the UUID of the archived record
	URL   string `json:"url"`
	Time  string `json:"ts"`
	Title string `json:"title,omitempty"`
	Seed  bool   `json:"seed,omitempty"`
	Size  int64  `json:"size,omitempty"` // bytes of the response as archived
}

// stamp formats a time as RFC 3339, to the microsecond as in the archive.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999Z") }

type list struct {
	spool *spool.Spool
	n     int64
}

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
