package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"curtsy/crawler/crawldir"
	"curtsy/frontier/durable"
	"curtsy/storage/ledger"
)

// Check is a number of rows that was counted in another way.
type Check struct {
	Of      string `json:"of"`      // what was counted
	Counted int64  `json:"counted"` // how many
	Rows    int64  `json:"rows"`    // those of the table, and what has none by a reason that was told
}

// Agrees reports whether both are the same.
func (c *Check) Agrees() bool { return c == nil || c.Counted == c.Rows }

// countIndex counts the lines of the indexes as bytes. That of a crawl that goes on has more by then.
func countIndex(ctx context.Context, in *Inputs, out *Out) (*Check, error) {
	c := &Check{Of: "lines of the index", Rows: out.Rows + out.Lefts[badLine] + out.Lefts[sameLine]}
	for _, crawl := range in.Crawls {
		if crawl.Entries >= 0 {
			return nil, nil
		}
		for _, path := range crawl.index {
			n, err := countLines(ctx, path)
			if err != nil {
				return nil, err
			}
			c.Counted += n
		}
	}
	return c, nil
}

// countLines counts the lines of a file: newlines, and what follows the last one, if that is a sorted index.
func countLines(ctx context.Context, path string) (n int64, err error) {
	f, err := durable.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // it was completed meanwhile, by a crawl that has begun since
	}
	if err != nil {
		return 0, fmt.Errorf("export: %w", err)
	}
	defer f.Close()
	b, last := make([]byte, 64<<10), byte('\n')
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		size, err := f.Read(b)
		n += int64(bytes.Count(b[:size], []byte("\n")))
		if size > 0 {
			last = b[size-1]
		}
		if errors.Is(err, io.EOF) {
			if last != '\n' && filepath.Ext(path) == indexEnd {
				n++
			}
			return n, nil
		}
		if err != nil {
			return 0, fmt.Errorf("export: %w", err)
		}
	}
}

// countLedger counts the lines of the ledgers without reading what they say. What cannot be decompressed cannot be
// counted.
func countLedger(ctx context.Context, in *Inputs, out *Out) (*Check, error) {
	c := &Check{Of: "lines of the ledger", Rows: out.Rows + out.Lefts[wrongLine]}
	for _, crawl := range in.Crawls {
		for l, err := range ledger.Texts(filepath.Join(crawl.Dir, crawldir.LedgerName)) {
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil:
				return nil, nil //nolint:nilerr // the rows say what is lost
			case crawl.upto() < 0 || l.Index < crawl.upto():
				c.Counted++
			}
		}
	}
	return c, nil
}
