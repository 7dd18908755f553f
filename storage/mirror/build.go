package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

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
	if err := w.lists(temp, &s); err != nil {
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
	if err := w.keepTheirs(&s); err != nil {
		return s, wrapped("keep other files", err)
	}
	return s, wrapped("put the new tree in place", d.swap())
}

func (w *writer) keepTheirs(s *Summary) (err error) {
	var in folders
	defer func() { err = errors.Join(err, in.close()) }()
	s.Others, err = w.disk.keepTheirs(&in, w.before)
	return err
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
		if err := errors.Join(w.lines.close(), w.absent.lines.close(), w.scripts.Close()); err != nil {
			return nil, wrapped("begin again", err)
		}
		clear(d.made)
		if err := d.remove(nextDir); err != nil {
			return nil, wrapped("begin again", err)
		}
	}
}

// lists writes the map and the list of what is missing.
func (w *writer) lists(temp string, s *Summary) (err error) {
	var in folders
	defer func() { err = errors.Join(err, in.close()) }()
	err = w.disk.create(&in, MapFile, time.Time{}, func(f *os.File) error { return writeSorted(f, w.lines) })
	if err != nil {
		return err
	}
	if err := w.scripts.Lacking(w.plan.has, w.absent.addScripted); err != nil {
		return err
	}
	return w.disk.create(&in, MissingFile, time.Time{}, func(f *os.File) error {
		return w.absent.write(f, temp, w.plan, w.decisions(w.options.Archive.Ledger), s)
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
