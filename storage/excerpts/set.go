package excerpts

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"curtsy/frontier/durable"
	"curtsy/storage/sorted"
	"curtsy/storage/spool"
)

// Set is all excerpts of a crawl, as they were when it was opened. A nil Set has none.
type Set struct {
	dir   string
	files []string
	// Damaged is how many files are damaged from some place on, and were not read any further.
	Damaged int64

	places spool.Spool // rows of a place each, by id
	marks  []ID        // the first id of each stretch of them
}

const (
	placeSize = idSize + 4 + 8 // the id, the file, and where in it the frame begins
	stretch   = 64             // places between two marks
	sorting   = 8 << 20        // bytes that are sorted in memory
	pattern   = "curtsy-excerpts-*"
)

// Open finds the excerpts in a folder; nil if there are none. Temporary files go to temp; empty means the system's folder.
func Open(ctx context.Context, dir, temp string) (_ *Set, err error) {
	s := &Set{dir: dir, places: spool.Spool{Dir: temp, Pattern: pattern}}
	if s.files, err = files(dir); err != nil || len(s.files) == 0 {
		return nil, err
	}
	all := sorted.New(temp, sorting)
	defer func() { err = errors.Join(err, all.Close()) }()
	for i := range s.files {
		if err := s.scan(ctx, i, all); err != nil {
			return nil, err
		}
	}
	n := 0
	for p, err := range all.All() {
		if err == nil {
			_, err = s.places.Write(p)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("excerpts: %w", err), s.Close())
		}
		if n%stretch == 0 {
			s.marks = append(s.marks, ID(p[:idSize]))
		}
		n++
	}
	return s, nil
}

// scan reads the heads of a file.
func (s *Set) scan(ctx context.Context, number int, to *sorted.Sorter) error {
	f, err := durable.Open(filepath.Join(s.dir, s.files[number]))
	if err != nil {
		return fmt.Errorf("excerpts: %w", err)
	}
	defer f.Close()
	var one frame
	for at := int64(0); ; {
		_, next, err := one.readHead(f, at)
		if errors.Is(err, io.EOF) && !errors.Is(err, errDamaged) {
			return nil
		}
		if err != nil {
			s.Damaged++
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, e := range one.entries {
			p := append(make([]byte, 0, placeSize), e.id[:]...)
			p = binary.BigEndian.AppendUint32(p, uint32(number)) //nolint:gosec // as many as there are files
			p = binary.BigEndian.AppendUint64(p, uint64(at))     //nolint:gosec // an offset
			if err := to.Add(p); err != nil {
				return err
			}
		}
		at = next
	}
}

// Close frees memory and disk.
func (s *Set) Close() error {
	if s == nil {
		return nil
	}
	return s.places.Close()
}

// place is where the frame of an excerpt is.
type place struct {
	file int
	at   int64
}

// find looks up where the excerpt of a record is.
func (s *Set) find(id ID) (p place, ok bool, err error) {
	i, exact := slices.BinarySearchFunc(s.marks, id, func(m, id ID) int { return bytes.Compare(m[:], id[:]) })
	if !exact {
		i--
	}
	if i < 0 {
		return p, false, nil
	}
	var b [stretch * placeSize]byte
	n, err := s.places.ReadAt(b[:], int64(i)*int64(len(b)))
	if err != nil && !errors.Is(err, io.EOF) {
		return p, false, fmt.Errorf("excerpts: %w", err)
	}
	for row := b[:n-n%placeSize]; len(row) > 0; row = row[placeSize:] {
		if ID(row[:idSize]) == id {
			return place{int(binary.BigEndian.Uint32(row[idSize:])), int64(binary.BigEndian.Uint64(row[idSize+4:]))}, true, nil //nolint:gosec // as it was written
		}
	}
	return p, false, nil
}

// Reader reads excerpts of a Set, for one goroutine.
type Reader struct {
	set    *Set
	at     place // of the frame that is held
	held   bool
	frame  frame
	file   *os.File
	opened int // which file that is
}

// Reader returns a Reader.
func (s *Set) Reader() *Reader { return &Reader{set: s} }

// Close lets go of the file.
func (r *Reader) Close() {
	if r.file != nil {
		r.file.Close() // only read
		r.file = nil
	}
}

// Excerpt is what was kept of a page.
type Excerpt struct {
	Charset string
	Text    []byte // valid until the next one is read
}

// Of returns the excerpt of a record; nil if there is none, and nil and true if there was one and it is damaged.
func (r *Reader) Of(record string) (e *Excerpt, damaged bool, err error) {
	id, ok := ParseID(record)
	if !ok || r.set == nil {
		return nil, false, nil
	}
	at, ok, err := r.set.find(id)
	if err != nil || !ok {
		return nil, false, err
	}
	if !r.held || r.at != at {
		if r.at, r.held = at, r.read(at) == nil; !r.held {
			return nil, true, nil
		}
	}
	for i := range r.frame.entries {
		if r.frame.entries[i].id == id {
			charset, text, ok := r.frame.of(i)
			if !ok {
				break
			}
			return &Excerpt{charset, text}, false, nil
		}
	}
	return nil, true, nil
}

// read unpacks a frame.
func (r *Reader) read(at place) error {
	if r.file == nil || r.opened != at.file {
		r.Close()
		f, err := durable.Open(filepath.Join(r.set.dir, r.set.files[at.file]))
		if err != nil {
			return err
		}
		r.file, r.opened = f, at.file
	}
	b, _, err := r.frame.readHead(r.file, at.at)
	if err == nil {
		err = r.frame.readBody(r.file, b)
	}
	return err
}
