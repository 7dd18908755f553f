package crawltest

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"encoding/binary"
	"hash/crc32"
)

// A bomb is a body that is small when sent and huge once decoded: nothing but spaces.

// BrotliBomb is what the br coding makes of BrotliBombSize spaces.
//
//go:embed bomb.br
var BrotliBomb string

// BrotliBombSize is how many bytes BrotliBomb comes to.
const BrotliBombSize = 1 << 30

// BombBlock is what the sizes of the other bombs are multiples of.
const BombBlock = 1 << 20

// GzipBomb is a member (RFC 1952) that comes to size bytes: one block of DEFLATE, which refers to nothing outside it, again
// and again.
func GzipBomb(size int) ([]byte, error) {
	var block bytes.Buffer
	z, err := flate.NewWriter(&block, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	spaces := bytes.Repeat([]byte(" "), BombBlock)
	_, _ = z.Write(spaces) // a bytes.Buffer takes everything
	_ = z.Flush()
	one := bytes.Clone(block.Bytes())
	block.Reset()
	_ = z.Close()
	// RFC 1952 2.3: magic, deflate, no flags, no time, slowest, unknown system.
	out, sum := []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"), uint32(0)
	for range size / BombBlock {
		out = append(out, one...)
		sum = crc32.Update(sum, crc32.IEEETable, spaces)
	}
	out = append(out, block.Bytes()...)
	out = binary.LittleEndian.AppendUint32(out, sum)
	return binary.LittleEndian.AppendUint32(out, uint32(size)), nil
}

// Windows of a zstd frame (RFC 8878 3.1.1.1.2): exponent in five bits, mantissa in three.
const (
	UsualWindow = 13 << 3 // 8 MiB, the most that a client on the web need have (RFC 9659)
	HugeWindow  = 31<<3 | 7
)

// ZstdBomb returns a frame that decodes to size bytes. Each of its blocks is a run of one byte (RFC 8878 3.1.1).
func ZstdBomb(size int, window byte) string {
	const run = 128 << 10 // the most of a block
	const kind = 1        // a run
	b := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, window}
	blocks := size / run
	for i := range blocks {
		head := uint32(run<<3 | kind<<1)
		if i == blocks-1 {
			head |= 1
		}
		b = append(b, byte(head), byte(head>>8), byte(head>>16), ' ')
	}
	return string(b)
}
