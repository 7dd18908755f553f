package mirror

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// Archive is what a mirror is made of.
type Archive struct {
	// Segments are WARC files, of any crawler. No two may have the same name.
	Segments []string
	// Index has the CDXJ files of segments: NAME.cdxj is that of NAME.warc.gz. A segment without one is indexed first.
	Index []string
	// Ledger is the directory of the crawl's ledger, which tells why something is not in the archive. Without
	// one the archive itself does, as far as its crawler wrote that down there.
	Ledger string
}

// CrawlArchive returns the archive of a crawl directory. Nobody may be writing it.
func CrawlArchive(dir string) (Archive, error) {
	var a Archive
	entries, err := os.ReadDir(filepath.Join(dir, "warc"))
	if err != nil {
		return a, fmt.Errorf("mirror: %s has no archive: %w", dir, err)
	}
	for _, e := range entries {
		if isSegment(strings.TrimSuffix(e.Name(), ".open")) && e.Type().IsRegular() {
			a.Segments = append(a.Segments, filepath.Join(dir, "warc", e.Name()))
		}
	}
	if len(a.Segments) == 0 {
		return a, fmt.Errorf("mirror: %s holds no WARC file", filepath.Join(dir, "warc"))
	}
	paths, err := cdxj.Files(filepath.Join(dir, "index"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return a, fmt.Errorf("mirror: %w", err)
	}
	a.Index = paths
	if _, err := os.Stat(filepath.Join(dir, "ledger")); err == nil {
		a.Ledger = filepath.Join(dir, "ledger")
	}
	return a, nil
}

func isSegment(name string) bool {
	return strings.HasSuffix(name, ".warc.gz") || strings.HasSuffix(name, ".warc")
}

// opened is an archive whose segments all have an index.
type opened struct {
	segments []string // paths, sorted by name
	names    []string // their names, as the lines of an index give them
	index    []string // paths of sorted CDXJ files
	notes    []string // what is wrong with a segment
}

// openArchive finds the index of each segment, or makes it in the directory temp. The segment that is being written, or
// was when its crawl was killed, has a journal that is not sorted and may lag behind: it is indexed anew.
func openArchive(ctx context.Context, a Archive, temp string) (*opened, error) {
	o := &opened{segments: slices.Clone(a.Segments)}
	slices.SortFunc(o.segments, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	indexes := map[string]string{}
	for _, path := range a.Index {
		indexes[filepath.Base(path)] = path
	}
	stems := map[string]int{}
	for _, path := range o.segments {
		stems[stemOf(path)]++
	}
	for i, path := range o.segments {
		name := filepath.Base(path)
		if i > 0 && name == o.names[i-1] {
			return nil, fmt.Errorf("mirror: two WARC files are called %s: an index cannot distinguish them; rename one", name)
		}
		o.names = append(o.names, name)
		index := indexes[stemOf(path)+".cdxj"]
		anew := index == "" || strings.HasSuffix(name, ".open") || stems[stemOf(path)] > 1
		if !anew {
			wrong := cdxj.Sound(index)
			if anew = wrong != nil; anew && !errors.Is(wrong, cdxj.ErrEmpty) {
				o.notes = append(o.notes, wrong.Error()+"; the archive was read instead")
			}
		}
		if anew {
			index = filepath.Join(temp, strconv.Itoa(i)+indexEnd)
			if err := o.makeIndex(ctx, index, path); err != nil {
				return nil, err
			}
		}
		o.index = append(o.index, index)
	}
	return o, nil
}

// stemOf returns what a segment is called without its extensions. Its index is called by that; that of two segments
// with one stem may be of either.
func stemOf(segment string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(segment), ".open"), ".gz"), ".warc")
}

func (o *opened) makeIndex(ctx context.Context, index, segment string) (err error) {
	f, err := durable.Create(index)
	if err != nil {
		return fmt.Errorf("mirror: index %s: %w", segment, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if fi, err := os.Stat(segment); err == nil && fi.Size() == 0 {
		o.notes = append(o.notes, segment+": it is empty") // a crawl that was killed when it had just made it leaves one
		return nil
	}
	w := bufio.NewWriterSize(f, 64<<10)
	found := func(path string, f warc.Finding) {
		if !f.Note() && len(o.notes) < maxNotes {
			o.notes = append(o.notes, fmt.Sprintf("%s: at byte %d: %s: %.200q", path, f.Offset, f.Code, f.Text))
		}
	}
	if err := cdxj.Index(ctx, w, found, segment); err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	return w.Flush()
}

// segment returns the number of a segment by its name in an index.
func (o *opened) segment(name string) (int, bool) {
	name = filepath.Base(name)
	if i, ok := slices.BinarySearch(o.names, name); ok {
		return i, true
	}
	return slices.BinarySearch(o.names, name+".open")
}

// decisions yields what the crawler decided: the lines of the ledger in dir, or if that is empty what the archive says
// of them, which is the same: refusals as records of their own, and the rest beside each exchange.
func (o *opened) decisions(dir string) iter.Seq2[storage.Line, error] {
	if dir != "" {
		return ledger.Read(dir)
	}
	return func(yield func(storage.Line, error) bool) {
		for _, path := range o.segments {
			if !decisionsIn(path, yield) {
				return
			}
		}
	}
}

// decisionsIn yields those of one segment.
func decisionsIn(path string, yield func(storage.Line, error) bool) bool {
	f, err := durable.Open(path)
	if err != nil {
		return yield(storage.Line{}, err)
	}
	defer f.Close()
	for in := warc.NewLenient(f, nil); ; {
		rec, err := in.Next()
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			return yield(storage.Line{}, err)
		}
		if !strings.EqualFold(rec.Type, "metadata") {
			continue
		}
		if rec.IsRefusals() {
			for l, err := range warc.ParseRefusals(rec.Block) {
				if !yield(l, err) {
					return false
				}
			}
			continue
		}
		// A metadata record of somebody else says nothing of decisions, and is none that is damaged.
		if l, _, err := rec.Metadata(); err == nil && l.Decision != "" && !yield(l, nil) {
			return false
		}
	}
}

// damaged is an error of an answer, not of this machine.
type damaged struct{ error }

func (d damaged) Unwrap() error { return d.error }

// damage reports whether an error is one of an answer.
func damage(err error) (state, bool) {
	var d damaged
	switch {
	case !errors.As(err, &d):
		return 0, false
	case errors.Is(err, warc.ErrTooLarge):
		return isTooLarge, true
	}
	return isDamaged, true
}

// source is a record that is read.
type source struct {
	in    *warc.Lenient
	wrong string // what was found to be wrong with it
}

func (s *source) found(f warc.Finding) {
	switch f.Code {
	case warc.DamagedMember, warc.ShortMember, warc.Torn, warc.NoEnd:
		s.wrong = f.Code
	}
}

// whole reads the rest of the record, behind which its checksum stands.
func (s *source) whole() error {
	if _, err := s.in.End(); err != nil {
		return asDamage(err)
	}
	if s.wrong != "" {
		return damaged{errors.New(s.wrong)}
	}
	return nil
}

// body reads an answer's body and sets errors of reading apart: those of the archive's file are this machine's.
type body struct{ r io.Reader }

func (b body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, err
	}
	return n, asDamage(err)
}

// ours reports whether an error is one of a file system, not of what a file holds.
func ours(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p)
}

func asDamage(err error) error {
	if ours(err) {
		return err
	}
	return damaged{err}
}
