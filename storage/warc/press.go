package warc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
)

// press turns records into gzip members in its spool. It belongs to one call at a time and is reused: a fresh
// compressor would cost more than a page.
type press struct {
	spool spool
	gz    *gzip.Writer
	code  *textCode // for texts; nil when everything is for gz
	met   textTable
	sum   hash.Hash
	got   digest // of sum: here, so that it need not be allocated
	head  []byte
	out   []byte // the member of a text
	buf   []byte // for copying blocks
	meta  []byte // the block of a metadata record
	ex    exchange
}

func newPress(dir, pattern string, level int, code *textCode) (*press, error) {
	gz, err := gzip.NewWriterLevel(io.Discard, level)
	if err != nil {
		return nil, err
	}
	return &press{
		spool: spool{dir: dir, pattern: pattern},
		gz:    gz,
		code:  code,
		sum:   sha256.New(),
		buf:   make([]byte, 32<<10),
	}, nil
}

// digest returns the SHA-256 of the first n octets of block.
func (p *press) digest(ctx context.Context, block io.ReaderAt, n int64) (d digest, err error) {
	p.sum.Reset()
	if err := p.copy(ctx, p.sum, block, n); err != nil {
		return d, err
	}
	p.sum.Sum(p.got[:0])
	return p.got, nil
}

// member adds the record of h and the first h.length octets of block to the spool as one gzip member.
func (p *press) member(ctx context.Context, h *head, block io.ReaderAt) error {
	p.head = h.append(p.head[:0])
	if p.code != nil && h.kind != "response" && h.length < textWindow {
		if ok, err := p.text(ctx, h, block); ok || err != nil {
			return err
		}
	}
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

// text is member for a record that textCode is made for, and false for one that it has no words for. Of a page's three
// these are two, and the short ones, for which a code of their own costs most.
func (p *press) text(ctx context.Context, h *head, block io.ReaderAt) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	from := len(p.head)
	text := slices.Grow(p.head, int(h.length)+len(recordEnd))[:from+int(h.length)]
	p.head = text[:from]
	if err := readAt(block, text[from:], 0); err != nil {
		return false, err
	}
	if text = append(text, recordEnd...); !p.code.can(text) {
		return false, nil
	}
	// RFC 1952 2.3: neither time nor name, compressed fast, by no system in particular.
	p.out = append(p.out[:0], 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255)
	p.out = p.code.compress(p.out, text, &p.met)
	p.out = binary.LittleEndian.AppendUint32(p.out, crc32.ChecksumIEEE(text))
	p.out = binary.LittleEndian.AppendUint32(p.out, uint32(len(text)))
	_, err := p.spool.Write(p.out)
	return err == nil, err
}

// info adds a warcinfo record.
func (p *press) info(ctx context.Context, h head, block []byte) error {
	h.kind, h.media = "warcinfo", typeFields
	h.block, h.length = sha256.Sum256(block), int64(len(block))
	return p.member(ctx, &h, bytes.NewReader(block))
}

// copy writes exactly the first n octets of block to w.
func (p *press) copy(ctx context.Context, w io.Writer, block io.ReaderAt, n int64) error {
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
