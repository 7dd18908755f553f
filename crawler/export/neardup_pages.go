package export

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"time"
)

var errCut = errors.New("a page is cut off")

func appendPage(b []byte, p neardupPage) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(p.Fetched.UnixMicro()))
	b = binary.AppendUvarint(b, uint64(len(p.Key)))
	return append(append(b, p.Key...), p.URL...)
}

// readPage reads what appendPage has written; all of b is one page.
func readPage(b []byte) (p neardupPage, err error) {
	if len(b) < 8 {
		return neardupPage{}, errCut
	}
	p.Fetched = time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC()
	b = b[8:]
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return neardupPage{}, errCut
	}
	p.Key, p.URL = string(b[used:used+int(n)]), string(b[used+int(n):])
	return p, nil
}

// addPage writes a page behind others, with its length before it.
func (f *finder) addPage(p neardupPage) error {
	f.buf = appendPage(f.buf[:0], p)
	var length [binary.MaxVarintLen64]byte
	if _, err := f.pages.Write(binary.AppendUvarint(length[:0], uint64(len(f.buf)))); err != nil {
		return err
	}
	_, err := f.pages.Write(f.buf)
	return err
}

// neardupReader reads the pages of a Finder one after the other.
type neardupReader struct {
	in  *bufio.Reader
	buf []byte
}

func (r *neardupReader) next() (page neardupPage, err error) {
	n, err := binary.ReadUvarint(r.in)
	if err != nil {
		return neardupPage{}, err
	}
	r.buf = slices.Grow(r.buf[:0], int(n))[:n]
	if _, err := io.ReadFull(r.in, r.buf); err != nil {
		return neardupPage{}, err
	}
	return readPage(r.buf)
}
