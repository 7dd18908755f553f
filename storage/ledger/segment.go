package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"curtsy/frontier/durable"
)

const (
	// maxSegment is how far a packed segment may unfold. Ours are about as long as Options.SegmentSize; a file handed
	// to us may be a few bytes that unfold without end.
	maxSegment = 1 << 30
	// maxWindow bounds what the decoder holds. Ours need no more.
	maxWindow = 8 << 20
)

// segmentFile reads a segment, plain or packed.
type segmentFile struct {
	io.Reader
	path string
	file *os.File
	zstd *zstd.Decoder // nil for a plain one
}

// openSegment opens a segment of dir. Where both forms are there, packing was broken off: the plain one is whole, and
// goes last.
func openSegment(dir string, number int) (*segmentFile, error) {
	plain := path(dir, number)
	f, err := durable.Open(plain)
	if err == nil {
		return &segmentFile{Reader: f, path: plain, file: f}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return openPacked(dir, number)
}

// openPacked opens a packed segment of dir.
func openPacked(dir string, number int) (*segmentFile, error) {
	packed := path(dir, number) + packedSuffix
	f, err := durable.Open(packed)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &segmentFile{&bounded{z, maxSegment}, packed, f, z}, nil
}

func (s *segmentFile) packed() bool { return strings.HasSuffix(s.path, packedSuffix) }

// close lets go of what was only read: there is nothing that an error of it could tell.
func (s *segmentFile) close() {
	if s.zstd != nil {
		s.zstd.Close()
	}
	_ = s.file.Close()
}

// bounded is a reader that fails behind left bytes.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("it decompresses to more than %d bytes", int64(maxSegment))
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
