package excerpts

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/s2"
)

// stream begins an S2 stream, and may begin it again: a file is one, whose heads readers of S2 skip.
const stream = "\xff\x06\x00\x00S2sTwO"

const (
	name = "curtsy links 1\n"

	chunkSize = 4    // of the type of a chunk, and of how long it is
	headChunk = 0xa1 // readers of S2 skip it
	bodyChunk = 0x00 // compressed data, with a checksum in front
	sumSize   = 4

	idSize    = 16
	entrySize = idSize + 4
	fixed     = len(name) + 3*4 + 4 // of a head without entries
	before    = len(stream) + chunkSize
	between   = chunkSize + sumSize

	// frameSize is how many bytes of excerpts make a frame. A larger one packs better, and takes longer to read one of.
	frameSize = 48 << 10
	// maxText is the longest excerpt that is kept.
	maxText = 1 << 20
	// maxUnpacked, maxPacked and maxHead bound what is read of a file that somebody handed over.
	maxUnpacked = frameSize + maxText + 256
	maxPacked   = 2 << 20
	maxHead     = 1 << 20
)

// ID is that of an archive record.
type ID [idSize]byte

// ParseID reads the URN of a record. Records of other crawlers may be named otherwise: they have no excerpt.
func ParseID(urn string) (id ID, ok bool) {
	const begins, hyphens = "urn:uuid:", "00000000-0000-0000-0000-000000000000"
	text, ok := strings.CutPrefix(urn, begins)
	if !ok || len(text) != len(hyphens) {
		return id, false
	}
	var digits [2 * idSize]byte
	b := digits[:0]
	for i := range len(text) {
		if (text[i] == '-') != (hyphens[i] == '-') {
			return id, false
		}
		if text[i] != '-' {
			b = append(b, text[i])
		}
	}
	_, err := hex.Decode(id[:], b)
	return id, err == nil
}

var table = crc32.MakeTable(crc32.Castagnoli)

// entry is an excerpt in a frame.
type entry struct {
	id  ID
	end int // unpacked; it begins where the one before ends
}

// frame is some excerpts.
type frame struct {
	entries []entry
	text    []byte // unpacked
	packed  []byte // the whole frame, as a file has it
}

func (f *frame) reset() { f.entries, f.text, f.packed = f.entries[:0], f.text[:0], f.packed[:0] }

// add appends an excerpt.
func (f *frame) add(id ID, charset string, text []byte) {
	f.text = append(append(append(f.text, byte(len(charset))), charset...), text...)
	f.entries = append(f.entries, entry{id, len(f.text)})
}

// of is the excerpt of a place in an unpacked frame.
func (f *frame) of(i int) (charset string, text []byte, ok bool) {
	from := 0
	if i > 0 {
		from = f.entries[i-1].end
	}
	b := f.text[from:f.entries[i].end]
	if len(b) == 0 || int(b[0]) > len(b)-1 {
		return "", nil, false
	}
	return string(b[1 : 1+b[0]]), b[1+b[0]:], true
}

// pack fills in packed.
func (f *frame) pack() {
	head := fixed + len(f.entries)*entrySize
	most := s2.MaxEncodedLen(len(f.text))
	b := slices.Grow(f.packed[:0], before+head+between+most)
	b = append(b, stream...)
	b = appendChunk(b, headChunk, head)
	room := b[: before+head+between+most : cap(b)]
	body := s2.Encode(room[before+head+between:], f.text)

	b = append(b, name...)
	b = appendNumber(b, len(body))
	b = appendNumber(b, len(f.text))
	b = appendNumber(b, len(f.entries))
	for _, e := range f.entries {
		b = append(b, e.id[:]...)
		b = appendNumber(b, e.end)
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[before:], table))
	b = appendChunk(b, bodyChunk, sumSize+len(body))
	b = binary.LittleEndian.AppendUint32(b, masked(f.text))
	f.packed = b[:len(b)+len(body)]
}

func appendChunk(b []byte, kind byte, size int) []byte {
	return append(b, kind, byte(size), byte(size>>8), byte(size>>16))
}

func appendNumber(b []byte, n int) []byte {
	return binary.LittleEndian.AppendUint32(b, uint32(n)) //nolint:gosec // all are bounded by frameSize and maxText
}

func number(b []byte) int { return int(binary.LittleEndian.Uint32(b)) }

// chunk reads how long a chunk is, if it is of that kind.
func chunk(b []byte, kind byte) (size int, ok bool) {
	return int(b[1]) | int(b[2])<<8 | int(b[3])<<16, b[0] == kind
}

// masked is the checksum of text as S2 and Snappy have it (framing_format.txt, section 3).
func masked(text []byte) uint32 {
	sum := crc32.Checksum(text, table)
	return (sum>>15 | sum<<17) + 0xa282ead8
}

// errDamaged is what a frame is that does not say what it is.
var errDamaged = errors.New("excerpts: damaged")

// readHead reads the head of a frame at an offset. next is where the next frame begins. io.EOF says that the file ends at
// the offset.
func (f *frame) readHead(in io.ReaderAt, at int64) (b body, next int64, err error) {
	f.reset()
	var first [before]byte
	if n, err := in.ReadAt(first[:], at); n == 0 && errors.Is(err, io.EOF) {
		return b, at, io.EOF
	} else if n < len(first) {
		return b, at, fmt.Errorf("%w: %w", errDamaged, err)
	}
	size, ok := chunk(first[len(stream):], headChunk)
	if string(first[:len(stream)]) != stream || !ok || size < fixed || size > maxHead {
		return b, at, errDamaged
	}
	f.packed = slices.Grow(f.packed, size+between)[:size+between]
	if _, err := in.ReadAt(f.packed, at+int64(before)); err != nil {
		return b, at, fmt.Errorf("%w: %w", errDamaged, err)
	}
	h, behind := f.packed[:size], f.packed[size:]
	if string(h[:len(name)]) != name || crc32.Checksum(h[:size-4], table) != binary.LittleEndian.Uint32(h[size-4:]) {
		return b, at, errDamaged
	}
	h = h[len(name):]
	b = body{at: at + int64(before+size+between), size: number(h), unpacked: number(h[4:]), sum: binary.LittleEndian.Uint32(behind[chunkSize:])}
	n := number(h[8:])
	long, ok := chunk(behind, bodyChunk)
	if fixed+n*entrySize != size || b.size > maxPacked || b.unpacked > maxUnpacked || !ok || long != sumSize+b.size {
		return b, at, errDamaged
	}
	last := 0
	for h = h[12:]; n > 0; n-- {
		e := entry{id: ID(h[:idSize]), end: number(h[idSize:])}
		if e.end < last || e.end > b.unpacked {
			return b, at, errDamaged
		}
		f.entries, last, h = append(f.entries, e), e.end, h[entrySize:]
	}
	return b, b.at + int64(b.size), nil
}

// body is where the excerpts of a frame stand, and what they must be.
type body struct {
	at             int64
	size, unpacked int
	sum            uint32
}

// readBody unpacks the excerpts of a frame.
func (f *frame) readBody(in io.ReaderAt, b body) error {
	f.packed = slices.Grow(f.packed[:0], b.size)[:b.size]
	if _, err := in.ReadAt(f.packed, b.at); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	if n, err := s2.DecodedLen(f.packed); err != nil || n != b.unpacked {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	f.text = slices.Grow(f.text[:0], b.unpacked)[:b.unpacked]
	if _, err := s2.Decode(f.text, f.packed); err != nil || masked(f.text) != b.sum {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}
