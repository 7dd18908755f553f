package warc

import (
	"errors"
	"fmt"
	"io"
)

type lenientBlock struct {
	l    *Lenient
	rec  *Record
	left int64

	buffered bool // somebody reads it through the reader's buffer
}

func (b *lenientBlock) past() error {
	return fmt.Errorf("warc: read the block at offset %d: the reader is past it", b.rec.Offset)
}

func (b *lenientBlock) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	if b.l.rec != b.rec {
		return 0, b.past()
	}
	if b.l.cur == nil {
		return 0, io.ErrUnexpectedEOF
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.l.cur.Read(p)
	b.left -= int64(n)
	if n == 0 && b.l.ends(err, fmt.Sprintf("a block: %d of its %d bytes are missing", b.left, b.rec.Length)) {
		if b.l.err != nil && !errors.Is(b.l.err, io.EOF) {
			return 0, b.l.err
		}
		return 0, io.ErrUnexpectedEOF
	}
	return n, nil
}
