package dbfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"

	"curtsy/frontier"
)

// The meta page of bbolt (internal/common/meta.go, version 2), in the byte order of the machine: a page header of 16
// bytes, then magic, version, page size, flags (4 bytes each), root bucket (16), free list, high-water mark,
// transaction, FNV-1a checksum of the preceding bytes (8 each).
const (
	metaAt      = 16
	metaLength  = 64
	metaSum     = 56
	metaMagic   = 0xED0CDAED
	metaVersion = 2
)

type Meta struct {
	PageSize uint64
	Root     uint64 // page of the root bucket
	Pages    uint64 // high-water mark
	Tx       uint64
}

// LastMeta returns the later of the valid meta pages.
func LastMeta(file io.ReaderAt) (Meta, bool) {
	first, ok := ReadMeta(file, 0)
	if ok {
		second, ok := ReadMeta(file, int64(first.PageSize))
		if ok && second.Tx > first.Tx {
			return second, true
		}
		return first, true
	}
	for size := int64(1 << 10); size <= 1<<24; size <<= 1 { // the second begins after the first, however long that is
		if second, ok := ReadMeta(file, size); ok {
			return second, true
		}
	}
	return Meta{}, false
}

// ReadMeta reads the meta page at at; ok is false when it is not valid.
func ReadMeta(file io.ReaderAt, at int64) (Meta, bool) {
	var b [metaAt + metaLength]byte
	if _, err := file.ReadAt(b[:], at); err != nil {
		return Meta{}, false
	}
	m, order := b[metaAt:], binary.NativeEndian
	sum := fnv.New64a()
	sum.Write(m[:metaSum])
	if order.Uint32(m) != metaMagic || order.Uint32(m[4:]) != metaVersion || order.Uint64(m[metaSum:]) != sum.Sum64() {
		return Meta{}, false
	}
	p := Meta{
		PageSize: uint64(order.Uint32(m[8:])), Root: order.Uint64(m[16:]),
		Pages: order.Uint64(m[40:]), Tx: order.Uint64(m[48:]),
	}
	return p, p.PageSize >= 1<<10 && p.PageSize <= 1<<24
}

// Check walks all pages that the last commit reaches. bbolt also walks them when it opens a file, and panics at a
// damaged one, in a goroutine without a recover. The pages must not be written meanwhile.
func Check(file io.ReaderAt) error {
	m, ok := LastMeta(file)
	if !ok {
		return fmt.Errorf("it has no valid meta page: %w", frontier.ErrDamaged)
	}
	w := walk{file: file, meta: m, visited: make([]bool, m.Pages)}
	return w.page(m.Root, nil, nil, 0)
}

type walk struct {
	file    io.ReaderAt
	meta    Meta
	visited []bool
	buffers [][]byte // of a page each, on the way to the current one
	deep    int      // buffers in use
}

// A page (internal/common/page.go): id (8 bytes), flags, count (2 each), overflow (4), then the elements, 16 bytes
// each. A branch has: position from the element, length of the key (4 each), page (8). A leaf has: flags, position,
// length of the key, length of the value (4 each).
const (
	HeaderSize  = 16
	ElementSize = 16
	Branch      = 1
	Leaf        = 2
	Bucket      = 1
	MaxLevels   = 64 // of pages; a tree of 2^64 keys has fewer
)

// page walks a page and its children. Its keys must begin with least (unless nil) and be below bound (unless nil).
// bbolt's own check allows a branch key below the first key of its child, which a disk that lost a page can cause; but
// bbolt looks for that very key when it rewrites the child, and spoils the tree when it is missing.
func (w *walk) page(id uint64, least, bound []byte, level int) error {
	if id < 2 || id >= w.meta.Pages || level > MaxLevels {
		return fmt.Errorf("a reference to page %d of %d: %w", id, w.meta.Pages, frontier.ErrDamaged)
	}
	if w.deep == len(w.buffers) {
		w.buffers = append(w.buffers, make([]byte, w.meta.PageSize))
	}
	b := w.buffers[w.deep]
	w.deep++
	defer func() { w.deep-- }()
	at := int64(id * w.meta.PageSize)
	if _, err := w.file.ReadAt(b, at); err != nil {
		return fmt.Errorf("read page %d: %w", id, err)
	}
	order := binary.NativeEndian
	overflow := uint64(order.Uint32(b[12:]))
	if order.Uint64(b) != id || overflow >= w.meta.Pages-id {
		return fmt.Errorf("page %d: header: %w", id, frontier.ErrDamaged)
	}
	for i := id; i <= id+overflow; i++ {
		if w.visited[i] {
			return fmt.Errorf("page %d: two references to it: %w", i, frontier.ErrDamaged)
		}
		w.visited[i] = true
	}
	if overflow > 0 {
		b = make([]byte, (1+overflow)*w.meta.PageSize)
		if _, err := w.file.ReadAt(b, at); err != nil {
			return fmt.Errorf("read page %d: %w", id, err)
		}
	}
	if err := w.elements(b, least, bound, level); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

func (w *walk) elements(b, least, bound []byte, level int) error {
	order := binary.NativeEndian
	flags, count := order.Uint16(b[8:]), int(order.Uint16(b[10:]))
	if flags != Branch && flags != Leaf || HeaderSize+count*ElementSize > len(b) || flags == Branch && count == 0 {
		return fmt.Errorf("flags %d, %d elements: %w", flags, count, frontier.ErrDamaged)
	}
	key := func(i int) (key []byte, ok bool) {
		at := HeaderSize + i*ElementSize
		e := b[at:]
		pos, length := uint64(order.Uint32(e)), uint64(order.Uint32(e[4:]))
		if flags == Leaf {
			pos, length = uint64(order.Uint32(e[4:])), uint64(order.Uint32(e[8:]))
		}
		from := uint64(at) + pos
		if from+length > uint64(len(b)) || length == 0 {
			return nil, false
		}
		return b[from : from+length], true
	}
	for i := range count {
		k, ok := key(i)
		switch {
		case !ok:
			return fmt.Errorf("key %d is outside: %w", i, frontier.ErrDamaged)
		case i == 0 && least != nil && !bytes.Equal(k, least), i > 0 && bytes.Compare(k, least) <= 0,
			bound != nil && bytes.Compare(k, bound) >= 0:
			return fmt.Errorf("key %d is out of order: %w", i, frontier.ErrDamaged)
		}
		least = k
		e := b[HeaderSize+i*ElementSize:]
		if flags == Leaf {
			if err := w.value(e, uint64(len(k))); err != nil {
				return fmt.Errorf("value %d: %w", i, err)
			}
			continue
		}
		next := bound
		if i+1 < count {
			if next, ok = key(i + 1); !ok {
				return fmt.Errorf("key %d is outside: %w", i+1, frontier.ErrDamaged)
			}
		}
		if err := w.page(order.Uint64(e[8:]), k, next, level+1); err != nil {
			return err
		}
	}
	return nil
}

// value checks that the value of a leaf's element, which begins at e, is within the page, and walks it if it is a
// bucket: the page of its root, or zero and the page itself (internal/common/bucket.go).
func (w *walk) value(e []byte, key uint64) error {
	order := binary.NativeEndian
	flags, from, length := order.Uint32(e), uint64(order.Uint32(e[4:]))+key, uint64(order.Uint32(e[12:]))
	if from+length > uint64(len(e)) || flags > Bucket {
		return fmt.Errorf("outside: %w", frontier.ErrDamaged)
	}
	if flags != Bucket {
		return nil
	}
	v := e[from : from+length]
	if len(v) < 16 {
		return fmt.Errorf("bucket of %d bytes: %w", len(v), frontier.ErrDamaged)
	}
	if root := order.Uint64(v); root != 0 {
		return w.page(root, nil, nil, 0)
	}
	if len(v) < 16+HeaderSize {
		return fmt.Errorf("bucket of %d bytes: %w", len(v), frontier.ErrDamaged)
	}
	return w.elements(v[16:], nil, nil, 0)
}

type element struct{ Flags, Pos, Key, Value uint32 }

// ParseElement reads the element at e, of at least ElementSize bytes.
func ParseElement(e []byte) element {
	order := binary.NativeEndian
	return element{order.Uint32(e), order.Uint32(e[4:]), order.Uint32(e[8:]), order.Uint32(e[12:])}
}
