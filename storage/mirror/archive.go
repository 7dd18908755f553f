package mirror

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"curtsy/frontier/durable"
	"curtsy/storage/cdxj"
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
