package warc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"

	"github.com/klauspost/compress/gzip"

	"curtsy/storage/spool"
)

// compressor turns records into gzip members in its spool. It belongs to one call at a time and is reused: a fresh
// compressor would cost more than a page.
type compressor struct {
	spool spool.Spool
	gz    *gzip.Writer
	sum   hash.Hash
	got   digest // of sum: here, so that it need not be allocated
	head  []byte
	buf   []byte // for copying blocks
	meta  []byte // the block of a metadata record
	ex    exchange
}

func newCompressor(dir, pattern string, level int) (*compressor, error) {
	gz, err := gzip.NewWriterLevel(io.Discard, level)
	if err != nil {
		return nil, err
	}
	return &compressor{
		spool: spool.Spool{Dir: dir, Pattern: pattern},
		gz:    gz,
		sum:   sha256.New(),
		buf:   make([]byte, 32<<10),
	}, nil
}

// digest returns the SHA-256 of the first n octets of block.
func (p *compressor) digest(ctx context.Context, block io.ReaderAt, n int64) (d digest, err error) {
	p.sum.Reset()
	if err := p.copy(ctx, p.sum, block, n); err != nil {
		return d, err
	}
	p.sum.Sum(p.got[:0])
	return p.got, nil
}

// member adds the record of h and the first h.length octets of block to the spool as one gzip member.
func (p *compressor) member(ctx context.Context, h *head, block io.ReaderAt) error {
	p.head = h.append(p.head[:0])
	p.gz.Reset(&p.spool)
	if _, err := p.gz.Write(p.head); err != nil {
		return err
	}
	if err := p.copy(ctx, p.gz, block, h.length); err != nil {
		return err
	}
	p.head = append(p.head[:0], recordEnd...)
	if _, err := p.gz.Write(p.head); err != nil {
		return err
	}
	return p.gz.Close()
}

// info adds a warcinfo record.
func (p *compressor) info(ctx context.Context, h head, block []byte) error {
	h.kind, h.media = "warcinfo", typeFields
	h.block, h.length = sha256.Sum256(block), int64(len(block))
	return p.member(ctx, &h, bytes.NewReader(block))
}

// copy writes exactly the first n octets of block to w.
func (p *compressor) copy(ctx context.Context, w io.Writer, block io.ReaderAt, n int64) error {
	for at := int64(0); at < n; {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := p.buf[:min(int64(len(p.buf)), n-at)]
		if err := readAt(block, b, at); err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return nil
}

// readAt fills b. ReadAt may report io.EOF together with the last octets, and must report an error if it reads fewer.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}
