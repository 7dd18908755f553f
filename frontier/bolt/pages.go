package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"

	"curtsy/frontier"
	"curtsy/frontier/durable"
)

// checkSize fails when the file is shorter than its last commit says. bbolt does not look: it maps the file, and the
// process dies with SIGBUS at the first page that is not there. Nor is an empty file a frontier: bbolt would make a new
// one of it, and a crawl would seem to be finished. The error wraps os.ErrNotExist when there is no file.
func checkSize(path string) error {
	file, err := durable.Open(path)
	if err != nil {
		return fmt.Errorf("frontier/bolt: open: %w", err)
	}
	defer file.Close()
	m, ok := lastMeta(file)
	info, err := file.Stat() // after the read: a file that is in use only grows
	if err != nil {
		return fmt.Errorf("frontier/bolt: open: %w", err)
	}
	switch {
	case info.IsDir():
		return fmt.Errorf("frontier/bolt: open %s: it is a directory", path)
	case info.Size() == 0:
		return openError(path, fmt.Errorf("it is empty: %w", frontier.ErrDamaged))
	case !ok:
		return openError(path, fmt.Errorf("it has no valid meta page: %w", frontier.ErrDamaged))
	case uint64(info.Size())/m.pageSize < m.pages:
		return openError(path, fmt.Errorf("it is cut off: %d octets of %d: %w", info.Size(), m.pages*m.pageSize, frontier.ErrDamaged))
	}
	return nil
}

// The meta page of bbolt (internal/common/meta.go, version 2), in the byte order of the machine: a page header of 16
// octets, then magic, version, page size, flags (4 octets each), root bucket (16), free list, high-water mark,
// transaction, FNV-1a checksum of what comes before it (8 each).
const (
	metaAt      = 16
	metaLength  = 64
	metaSum     = 56
	metaMagic   = 0xED0CDAED
	metaVersion = 2
)

// metaPage is what we need of one.
type metaPage struct {
	pageSize uint64
	root     uint64 // page of the root bucket
	pages    uint64 // high-water mark
	tx       uint64
}

// lastMeta returns the later of the two meta pages that are valid.
func lastMeta(file io.ReaderAt) (metaPage, bool) {
	first, ok := readMetaPage(file, 0)
	if ok {
		second, ok := readMetaPage(file, int64(first.pageSize))
		if ok && second.tx > first.tx {
			return second, true
		}
		return first, true
	}
	for size := int64(1 << 10); size <= 1<<24; size <<= 1 { // the second begins after the first, however long that is
		if second, ok := readMetaPage(file, size); ok {
			return second, true
		}
	}
	return metaPage{}, false
}

func readMetaPage(file io.ReaderAt, at int64) (metaPage, bool) {
	var b [metaAt + metaLength]byte
	if _, err := file.ReadAt(b[:], at); err != nil {
		return metaPage{}, false
	}
	m, order := b[metaAt:], binary.NativeEndian
	sum := fnv.New64a()
	sum.Write(m[:metaSum])
	if order.Uint32(m) != metaMagic || order.Uint32(m[4:]) != metaVersion || order.Uint64(m[metaSum:]) != sum.Sum64() {
		return metaPage{}, false
	}
	p := metaPage{
		pageSize: uint64(order.Uint32(m[8:])), root: order.Uint64(m[16:]), pages: order.Uint64(m[40:]), tx: order.Uint64(m[48:]),
	}
	return p, p.pageSize >= 1<<10 && p.pageSize <= 1<<24
}

// checkPages walks all pages that the last commit reaches. bbolt walks them too when it opens a file, and panics, in a
// goroutine where nobody can stop that, when one is not what it should be. The pages must not be written meanwhile.
func checkPages(path string) error {
	file, err := durable.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	m, ok := lastMeta(file)
	if !ok {
		return fmt.Errorf("it has no valid meta page: %w", frontier.ErrDamaged)
	}
	w := walk{file: file, meta: m, visited: make([]bool, m.pages)}
	return w.page(m.root, nil, nil, 0)
}

// walk is a walk over the pages of a file.
type walk struct {
	file    io.ReaderAt
	meta    metaPage
	visited []bool
	buffers [][]byte // of a page each, for those on the way to the one that is looked at
	deep    int      // of them in use
}

// buffer returns room for one more page, until release.
func (w *walk) buffer() []byte {
	if w.deep == len(w.buffers) {
		w.buffers = append(w.buffers, make([]byte, w.meta.pageSize))
	}
	w.deep++
	return w.buffers[w.deep-1]
}

func (w *walk) release() { w.deep-- }

// A page (internal/common/page.go): id (8 octets), flags, count (2 each), overflow (4), then the elements, 16 octets
// each. Of a branch: position from the element, length of the key (4 each), page (8). Of a leaf: flags, position, length
// of the key, length of the value (4 each).
const (
	pageHeader  = 16
	elementSize = 16
	branchPage  = 1
	leafPage    = 2
	bucketLeaf  = 1
	maxLevels   = 64 // of pages; a tree of 2^64 keys has fewer
)

// page walks a page and what is below it. Its keys must begin with least (unless nil) and be below bound (unless nil).
// bbolt's own check lets a branch say less than the first key of its child, which a disk can bring about that has lost a
// page; but bbolt looks for that very key when it writes the child anew, and spoils the tree when there is none.
func (w *walk) page(id uint64, least, bound []byte, level int) error {
	if id < 2 || id >= w.meta.pages || level > maxLevels {
		return fmt.Errorf("a reference to page %d of %d: %w", id, w.meta.pages, frontier.ErrDamaged)
	}
	b := w.buffer()
	defer w.release()
	at := int64(id * w.meta.pageSize)
	if _, err := w.file.ReadAt(b, at); err != nil {
		return fmt.Errorf("read page %d: %w", id, err)
	}
	order := binary.NativeEndian
	overflow := uint64(order.Uint32(b[12:]))
	if order.Uint64(b) != id || overflow >= w.meta.pages-id {
		return fmt.Errorf("page %d: header: %w", id, frontier.ErrDamaged)
	}
	for i := id; i <= id+overflow; i++ {
		if w.visited[i] {
			return fmt.Errorf("page %d: two references to it: %w", i, frontier.ErrDamaged)
		}
		w.visited[i] = true
	}
	if overflow > 0 {
		b = make([]byte, (1+overflow)*w.meta.pageSize)
		if _, err := w.file.ReadAt(b, at); err != nil {
			return fmt.Errorf("read page %d: %w", id, err)
		}
	}
	if err := w.elements(b, least, bound, level); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

// elements walks the elements of a page.
func (w *walk) elements(b, least, bound []byte, level int) error {
	order := binary.NativeEndian
	flags, count := order.Uint16(b[8:]), int(order.Uint16(b[10:]))
	if flags != branchPage && flags != leafPage || pageHeader+count*elementSize > len(b) || flags == branchPage && count == 0 {
		return fmt.Errorf("flags %d, %d elements: %w", flags, count, frontier.ErrDamaged)
	}
	key := func(i int) (key []byte, ok bool) {
		at := pageHeader + i*elementSize
		e := b[at:]
		pos, length := uint64(order.Uint32(e)), uint64(order.Uint32(e[4:]))
		if flags == leafPage {
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
		case i == 0 && least != nil && !bytes.Equal(k, least), i > 0 && bytes.Compare(k, least) <= 0, bound != nil && bytes.Compare(k, bound) >= 0:
			return fmt.Errorf("key %d is out of order: %w", i, frontier.ErrDamaged)
		}
		least = k
		e := b[pageHeader+i*elementSize:]
		if flags == leafPage {
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
	if from+length > uint64(len(e)) || flags > bucketLeaf {
		return fmt.Errorf("outside: %w", frontier.ErrDamaged)
	}
	if flags != bucketLeaf {
		return nil
	}
	v := e[from : from+length]
	if len(v) < 16 {
		return fmt.Errorf("bucket of %d octets: %w", len(v), frontier.ErrDamaged)
	}
	if root := order.Uint64(v); root != 0 {
		return w.page(root, nil, nil, 0)
	}
	if len(v) < 16+pageHeader {
		return fmt.Errorf("bucket of %d octets: %w", len(v), frontier.ErrDamaged)
	}
	return w.elements(v[16:], nil, nil, 0)
}
