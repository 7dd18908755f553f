package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"curtsy/frontier/canon"
	"curtsy/storage/mirror/layout"
	"curtsy/storage/script"
)

// ErrNothing is the error for an archive without a response for a mirror.
var ErrNothing = errors.New("mirror: no response is archived; a previous mirror is unchanged")

// Build makes the mirror of an archive and replaces the previous one, which stays whole until then. Where the system
// supports it (Linux, macOS, Windows), a second Build in the directory is refused. An archive without a response is
// ErrNothing.
func Build(ctx context.Context, o Options) (s Summary, err error) {
	d, err := openDisk(o.Dir, &o)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, d.root.Close(), d.hold.Close()) }()
	if err := d.recoverTree(); err != nil {
		return s, wrapped("prepare", err)
	}
	defer func() {
		for _, name := range []string{nextDir, oldDir, tempDir} {
			err = errors.Join(err, wrapped("clean up", d.remove(name)))
		}
	}()
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
	if err := d.mkdir(tempDir); err != nil {
		return s, wrapped("prepare", err)
	}
	temp := filepath.Join(o.Dir, tempDir)
	archive, err := openArchive(ctx, o.Archive, temp)
	if err != nil {
		return s, err
	}
	g, err := gather(ctx, archive, &o, temp)
	if err != nil {
		return s, err
	}
	if len(g.plan.entries) == 0 {
		return s, ErrNothing
	}
	was := readPrevious(filepath.Join(o.Dir, treeDir), &g.notes)
	w, err := writeTree(ctx, g, d, was, temp)
	if err != nil {
		return s, err
	}
	s = w.summary()
	if err := w.lists(&s); err != nil {
		return s, wrapped("write the lists", err)
	}
	if was.dir == "" {
		s.New = s.Pages + s.Redirects // one line of the map each
	} else if err := diff(was.dir, filepath.Join(o.Dir, nextDir), &s); err != nil {
		return s, err
	}
	if err := ctx.Err(); err != nil {
		return s, err
	}
	if s.Others, err = d.keepTheirs(was); err != nil {
		return s, wrapped("keep other files", err)
	}
	return s, wrapped("put the new tree in place", d.swap())
}

func wrapped(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("mirror: %s: %w", what, err)
}

// writeTree writes the files. A body that turns out to be unreadable has links to it by then, so the tree is planned
// again, without it or with its previous file.
func writeTree(ctx context.Context, g *gatherer, d *disk, was *previous, temp string) (*writer, error) {
	for {
		if err := g.salvage(was, d); err != nil {
			return nil, wrapped("read the mirror before", err)
		}
		g.name()
		if err := d.mkdir(nextDir); err != nil {
			return nil, wrapped("prepare", err)
		}
		w := &writer{gatherer: g, disk: d, before: was, lines: newSorter(temp), scripts: script.NewListing(temp),
			absent: &absent{lines: newSorter(temp), hosts: map[string]why{}, shut: map[string]why{}, unfetched: g.options.Unfetched},
			large:  make(chan struct{}, 1), removed: map[string]int64{}, bad: map[*entry]state{}}
		o := g.options.Progress
		o.Written.Store(0)
		o.Total.Store(int64(len(g.plan.entries)))
		if err := w.run(ctx); err != nil {
			return nil, err
		}
		if len(w.bad) == 0 {
			return w, nil
		}
		for e, state := range w.bad {
			e.state = state
		}
		if err := errors.Join(w.lines.Close(), w.absent.lines.Close(), w.scripts.Close()); err != nil {
			return nil, wrapped("begin again", err)
		}
		clear(d.made)
		if err := d.remove(nextDir); err != nil {
			return nil, wrapped("begin again", err)
		}
	}
}

func (w *writer) lists(s *Summary) error {
	err := w.disk.create(MapFile, time.Time{}, func(f *os.File) error { return writeSorted(f, w.lines) })
	if err != nil {
		return err
	}
	if err := w.scripts.Lacking(w.plan.has, func(u canon.URL, file string) error { return w.absent.add(u, byScript, file) }); err != nil {
		return err
	}
	return w.disk.create(MissingFile, time.Time{}, func(f *os.File) error {
		return w.absent.write(f, w.plan, w.decisions(w.options.Archive.Ledger), s)
	})
}

func (w *writer) summary() Summary {
	s := Summary{
		URLs: int64(len(w.plan.entries)), Files: w.files.Load(), Pages: w.pages.Load(), Redirects: w.redirects.Load(),
		Octets:  w.octets.Load(),
		Written: w.written.Load(), Shared: w.shared.Load(), Rewritten: w.rewritten.Load(), Unread: w.unread.Load(),
		Kept: w.kept.Load(), Stale: w.stale.Load(), Left: map[Reason]int64{}, Missing: map[Reason]int64{},
		MissingEmbeds: map[Reason]int64{}, Scripted: map[Reason]int64{}, ScriptsCut: w.scripts.Cut(),
		Nowhere: w.nowhere.Load(), Salvaged: int64(len(w.saved)), Removed: w.removed, OffWeb: w.skipped, Unreadable: w.lost, Notes: w.notes,
	}
	for i := range w.plan.entries {
		if e := &w.plan.entries[i]; w.plan.fileOf(e) == nil {
			s.Left[stateReasons[e.state]]++
		}
	}
	return s
}

// Vanished is the treatment of pages that are gone: status 404 or 410.
type Vanished uint8

const (
	Keep   Vanished = iota // the mirror keeps the last good response of the archive
	Remove                 // the mirror drops them
)

// Options configure a mirror.
type Options struct {
	Archive Archive
	Dir     string // the mirror is its directory "mirror"
	Layout  layout.Layout

	Vanished Vanished
	// GoneBefore, unless zero, limits Remove to pages found gone before it: an unfinished update removes nothing.
	GoneBefore time.Time

	MaxBody int64 // bytes of a decoded body. Zero means 1 GiB.

	// Previews makes images that pages only name for others to show (og:image) part of the mirror: they are missing if
	// not archived. They are linked in any case.
	Previews bool

	// Unfetched, if not nil, returns why the crawl did not request a URL without a decision, as a rule of the ledger's or
	// in words. embed reports that pages need it to be complete.
	Unfetched func(u canon.URL, embed bool) (string, error)

	Fresh    bool      // write every file again instead of sharing unchanged ones with the previous mirror
	Progress *Progress // or nil

	// step is called before each change of the file system; its error replaces the change's.
	step       func(what string) error
	twoRenames bool // do not exchange names, as on systems that cannot
	hasty      bool // do not sync
}

// removes reports whether a page found gone at a time leaves the mirror.
func (o *Options) removes(at time.Time) bool {
	return o.Vanished == Remove && (o.GoneBefore.IsZero() || at.Before(o.GoneBefore))
}

func (o *Options) maxBody() int64 {
	if o.MaxBody == 0 {
		return 1 << 30
	}
	return o.MaxBody
}

// Summary counts the contents of a mirror.
type Summary struct {
	URLs      int64 `json:"urls"`      // archived and considered
	Files     int64 `json:"files"`     // in the mirror, except its lists
	Pages     int64 `json:"pages"`     // URLs with a file, except redirects; several may share one
	Redirects int64 `json:"redirects"` // URLs that redirect to a file
	Octets    int64 `json:"octets"`    // of the files

	Written   int64 `json:"written"`   // files written
	Shared    int64 `json:"shared"`    // unchanged files, linked from the previous mirror
	Rewritten int64 `json:"rewritten"` // documents with replaced references
	Unread    int64 `json:"unread"`    // documents copied as they are, too large or unreadable

	Kept     int64 `json:"kept"`         // pages that are gone, shown by an older response
	Stale    int64 `json:"stale"`        // pages whose last response is unusable, shown by an older one
	Salvaged int64 `json:"kept_damaged"` // URLs with a damaged record that keep the previous mirror's file

	// Left counts archived URLs without a file, by reason; Missing those that pages of the mirror name; MissingEmbeds
	// those of them that a page needs to be complete.
	Left          map[Reason]int64 `json:"left"`
	Missing       map[Reason]int64 `json:"missing"`
	MissingEmbeds map[Reason]int64 `json:"missing_embeds"`

	// Scripted counts URLs without a file that only scripts and JSON name, by reason; not all such strings are files.
	Scripted map[Reason]int64 `json:"scripted"`
	// ScriptsCut counts scripts and JSON that were not read completely, by cause.
	ScriptsCut map[script.Cut]int64 `json:"scripts_cut,omitempty"`

	// Nowhere counts references replaced by one that leads nowhere: requisites on the reader's disk, and those relative
	// to a base that is not on the web.
	Nowhere int64 `json:"nowhere"`
	// Removed counts markup removed because it would block local files or send requests, by element and attribute.
	Removed map[string]int64 `json:"removed"`

	New       int64 `json:"new"`       // URLs that the previous mirror lacks
	Differ    int64 `json:"changed"`   // URLs with another payload
	Lost      int64 `json:"gone"`      // URLs that only the previous mirror has
	Unchanged int64 `json:"unchanged"` // URLs with the same payload

	Others     int64    `json:"others"`     // files that someone put into the previous mirror, and that stay
	OffWeb     int64    `json:"off_web"`    // captures that are not of web URLs
	Unreadable int64    `json:"unreadable"` // captures that could not be read
	Notes      []string `json:"notes,omitempty"`
}

// Progress is the progress of a Build. It may be read concurrently.
type Progress struct {
	Read    atomic.Int64 // URLs found in the archive
	Total   atomic.Int64 // URLs in the tree; zero until all are known
	Written atomic.Int64 // of Total
}
