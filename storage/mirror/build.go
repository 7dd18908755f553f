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

// ErrNothing says that an archive holds no answer of which a mirror could be made.
var ErrNothing = errors.New("mirror: no response is archived; a previous mirror is unchanged")

// Build makes the mirror of an archive and puts it in the place of the one before. The tree
// before stays whole until then. Only one Build works in a directory at a time; where the system can tell (Linux,
// macOS, Windows), another is refused. An archive without an answer is ErrNothing.
func Build(ctx context.Context, o Options) (s Summary, err error) {
	d, err := openDisk(o.Dir, &o)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
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
		s.New = s.Pages + s.Redirects // a line of the map each
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

// writeTree writes the files. An answer that cannot be read to its end is found out only then, when others link to it:
// so the tree is planned once more, without it or with its file of the tree before.
func writeTree(ctx context.Context, g *gatherer, d *disk, was *previous, temp string) (*writer, error) {
	for {
		if err := g.salvage(was, d); err != nil {
			return nil, wrapped("read the mirror before", err)
		}
		g.name()
		if err := d.mkdir(nextDir); err != nil {
			return nil, wrapped("prepare", err)
		}
		w := &writer{gatherer: g, disk: d, before: was, lines: newSorter(temp), absent: newAbsent(temp, g.options.Unfetched), scripts: script.NewListing(temp),
			large: make(chan struct{}, 1), removed: map[string]int64{}, bad: map[*entry]state{}}
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

// Vanished says what becomes of pages that are gone: status 404 or 410.
type Vanished uint8

// Fates of pages that vanished.
const (
	Keep   Vanished = iota // the last good answer of the archive stays in the mirror
	Remove                 // they leave it
)

// Options say what a mirror is made of, and where it is.
type Options struct {
	Archive Archive
	Dir     string // the mirror is its directory "mirror"

	Layout layout.Layout // in which folders its files are

	Vanished Vanished
	// GoneBefore, unless zero, has Remove act only on what was found gone before: what an update that is not completed has
	// found so stays.
	GoneBefore time.Time

	// MaxBody is the most bytes of a decoded body. Zero means 1 GiB.
	MaxBody int64

	// Previews says that pictures which pages only name for others to show (og:image) belong to them: where they are not
	// in the mirror they are missing. They are linked in any case.
	Previews bool

	// Unfetched, if not nil, returns why the crawl did not request a URL of which neither archive nor ledger says so, as a rule of
	// the ledger's or in words. embed reports that pages need it to be complete.
	Unfetched func(u canon.URL, embed bool) (string, error)

	// Fresh writes every file anew. Otherwise those that did not change are shared with the mirror before.
	Fresh bool

	// Progress, if not nil, tells how far it is.
	Progress *Progress

	// step is called before each change of the file system, with what it is; its error stands for the change's.
	step func(what string) error
	// twoRenames goes without an exchange of names, as some systems have to.
	twoRenames bool
	// hasty leaves it to the system when files become durable.
	hasty bool
}

// removes reports whether a page that was found gone at a time leaves the mirror.
func (o *Options) removes(at time.Time) bool {
	return o.Vanished == Remove && (o.GoneBefore.IsZero() || at.Before(o.GoneBefore))
}

func (o *Options) maxBody() int64 {
	if o.MaxBody == 0 {
		return 1 << 30
	}
	return o.MaxBody
}

// Summary counts what a mirror holds.
type Summary struct {
	URLs      int64 `json:"urls"`      // archived, and considered
	Files     int64 `json:"files"`     // in the mirror, its own apart
	Pages     int64 `json:"pages"`     // URLs that have a file, redirects apart; several may share one
	Redirects int64 `json:"redirects"` // URLs that lead to a file
	Octets    int64 `json:"octets"`    // of the files

	Written   int64 `json:"written"`   // files written
	Shared    int64 `json:"shared"`    // files that did not change: linked from the mirror before
	Rewritten int64 `json:"rewritten"` // documents whose references were replaced
	Unread    int64 `json:"unread"`    // documents copied as they are, since they are too large or cannot be read

	Kept  int64 `json:"kept"`  // pages that are gone, of which an older answer is shown
	Stale int64 `json:"stale"` // pages whose last answer could not be used, of which an older one is shown

	Salvaged int64 `json:"kept_damaged"` // URLs whose record is damaged, of which the file of the mirror before is kept

	// Left counts archived URLs that are not in the mirror, by reason; Missing those that pages of the mirror name and
	// that are not in it; MissingEmbeds those of them that a page needs to be complete.
	Left          map[Reason]int64 `json:"left"`
	Missing       map[Reason]int64 `json:"missing"`
	MissingEmbeds map[Reason]int64 `json:"missing_embeds"`

	// Scripted counts URLs that scripts and JSON alone name and that are not in the mirror, by reason. Gone is what none
	// of them need be: what looks like a file is not always one.
	Scripted map[Reason]int64 `json:"scripted"`
	// ScriptsCut counts texts of scripts and JSON that were not read to their end, by why.
	ScriptsCut map[script.Cut]int64 `json:"scripts_cut,omitempty"`

	// Nowhere counts references that lead to nothing now: requisites among files of the reader, and what was relative to a
	// base that is not on the web.
	Nowhere int64 `json:"nowhere"`
	// Removed counts what was taken from documents because it would block local files or send requests, by element and attribute.
	Removed map[string]int64 `json:"removed"`

	New       int64 `json:"new"`       // URLs that the mirror before did not have
	Differ    int64 `json:"changed"`   // URLs with another payload
	Lost      int64 `json:"gone"`      // URLs that only the mirror before had
	Unchanged int64 `json:"unchanged"` // URLs with the same payload

	Others     int64    `json:"others"`     // files that somebody else put into the mirror before, and that stay
	OffWeb     int64    `json:"off_web"`    // captures of what is not on the web
	Unreadable int64    `json:"unreadable"` // captures that could not be read
	Notes      []string `json:"notes,omitempty"`
}

// Progress is how far a Build is. It may be read while it works.
type Progress struct {
	Read    atomic.Int64 // URLs found in the archive
	Total   atomic.Int64 // URLs that the tree is made of; zero until all are known
	Written atomic.Int64 // of these
}
