package export

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/extract"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/report"
	"curtsy/storage/sorted"
)

// Inputs are the crawls that are exported. One goroutine uses them, but for the workers that it owns.
type Inputs struct {
	Crawls []*Crawl // by name
	// NoLanguage leaves the languages of the table pages null, which costs most of its time.
	NoLanguage bool

	pages   *extract.Extractor
	temp    string // for temporary files; empty means the system's
	sorted  *sorted.Sorter
	damaged int64 // lines of indexes that are none
}

// Crawl is one crawl directory, as it was when it was opened.
type Crawl struct {
	Dir     string
	Name    string // of the directory; with as much of its path in front as tells it from others
	Origin  string // of the ledger; empty without a checkpoint
	Size    int64  // of the latest checkpoint, in entries
	Entries int64  // of the ledger that are read; -1 for all
	Head    string // SIZE:ROOT of the latest checkpoint; empty without one
	Open    bool   // a segment of the archive is being written, or was left by a kill

	seen        int64             // entries of the ledger when it was first read; -1 before
	archive     map[string]string // path of each WARC file by its final name
	files       []string          // those names, sorted
	index       []string          // paths
	generations map[string]int64  // by the WARC file's final name; 0 where it does not say
	infos       map[string]int64  // the same by the digest of its warcinfo block, as marks of runs have it
}

// The ends of file names.
const (
	archiveEnd = ".warc.gz"
	indexEnd   = ".cdxj"
	openEnd    = ".open" // of what is being written
)

// ErrNoIndex says that a segment of an archive has no index.
var ErrNoIndex = errors.New("export: the index is not complete")

// ErrTwice says that a crawl was named twice.
var ErrTwice = errors.New("export: a crawl is named twice")

// sortMemory is how many bytes of lines of indexes are held in memory.
const sortMemory = 8 << 20

// Open looks at the crawls in dirs. Temporary files go to temp; empty means the system's folder.
func Open(ctx context.Context, temp string, dirs ...string) (*Inputs, error) {
	in := &Inputs{temp: temp, pages: extract.New()}
	for i, dir := range dirs {
		path, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		if slices.ContainsFunc(in.Crawls, func(c *Crawl) bool { return c.path() == path }) {
			return nil, fmt.Errorf("%w: %s", ErrTwice, dirs[i])
		}
		c, err := openCrawl(ctx, dir)
		if err != nil {
			return nil, err
		}
		in.Crawls = append(in.Crawls, c)
	}
	in.name()
	slices.SortFunc(in.Crawls, func(a, b *Crawl) int { return strings.Compare(a.Name, b.Name) })
	return in, nil
}

// Close removes temporary files.
func (in *Inputs) Close() error {
	if in.sorted == nil {
		return nil
	}
	err := in.sorted.Close()
	in.sorted = nil
	return err
}

func (c *Crawl) path() string {
	path, err := filepath.Abs(c.Dir)
	if err != nil {
		return c.Dir
	}
	return path
}

// name gives each crawl as many parts of its path, from the end, as make the names differ.
func (in *Inputs) name() {
	for n := 1; ; n++ {
		seen, alike, longer := map[string]bool{}, false, false
		for _, c := range in.Crawls {
			parts := strings.Split(strings.Trim(filepath.ToSlash(c.path()), "/"), "/")
			longer = longer || len(parts) > n
			c.Name = strings.Join(parts[max(len(parts)-n, 0):], "/")
			alike = alike || seen[c.Name]
			seen[c.Name] = true
		}
		if !alike || !longer {
			return
		}
	}
}

func openCrawl(ctx context.Context, dir string) (*Crawl, error) {
	c := &Crawl{Dir: dir, Entries: -1, seen: -1, archive: map[string]string{}, generations: map[string]int64{}, infos: map[string]int64{}}
	if n, err := ledger.Latest(filepath.Join(dir, crawldir.LedgerName)); err == nil {
		c.Origin, c.Size, c.Head = n.Origin, n.Size, fmt.Sprintf("%d:%x", n.Size, n.Root[:])
	} else if !errors.Is(err, ledger.ErrNoCheckpoint) {
		return nil, fmt.Errorf("export: %w", err)
	}
	if err := c.list(); err != nil {
		return nil, err
	}
	for _, name := range c.files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// The rows of a damaged segment's records report the damage.
		if id, err := report.ReadIdentity(c.archive[name]); err == nil && id != nil && id.Generation > 0 {
			c.generations[name], c.infos[hex.EncodeToString(id.SHA256[:])] = id.Generation, id.Generation
		}
	}
	return c, nil
}

// list finds the files of archive and index, and refuses a segment without an index.
func (c *Crawl) list() error {
	entries, err := os.ReadDir(filepath.Join(c.Dir, crawldir.ArchiveName))
	if err != nil {
		return fmt.Errorf("export: list the archive: %w", err)
	}
	for _, e := range entries {
		name, open := strings.CutSuffix(e.Name(), openEnd)
		if !strings.HasSuffix(name, archiveEnd) || !e.Type().IsRegular() {
			continue
		}
		c.Open = c.Open || open
		c.archive[name] = filepath.Join(c.Dir, crawldir.ArchiveName, e.Name())
		c.files = append(c.files, name)
	}
	slices.Sort(c.files)
	if c.index, err = cdxj.Files(filepath.Join(c.Dir, crawldir.IndexName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("export: %w", err)
	}
	have := map[string]bool{}
	for _, path := range c.index {
		name := strings.TrimSuffix(filepath.Base(path), openEnd)
		have[strings.TrimSuffix(name, indexEnd)+archiveEnd] = true
	}
	for _, name := range c.files {
		if !have[name] {
			return fmt.Errorf("%w: %s has none for %s; make it with curtsy warc index %s", ErrNoIndex,
				filepath.Join(c.Dir, crawldir.IndexName), name, c.Dir)
		}
	}
	return nil
}
