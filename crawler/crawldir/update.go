package crawldir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"curtsy/crawler/budget"
	"curtsy/crawler/record"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/frontier/engine"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
)

// A generation begins with a frontier of its own. It is built beside the old one, whose lock is held all the while, and
// takes its name in one step: killed before, a crawl is as it was, and killed after, it is an update that Run goes on
// with. The number of the generation is in the frontier itself, so that nothing can contradict it.

// OldFrontier is the name under which the frontier of a generation is kept until the next one is finished.
func OldFrontier(generation int64) string { return fmt.Sprintf("frontier-%03d.db", generation) }

// Update begins the next generation of the crawl in dir: Run then asks again for what it has, on condition that it
// changed. was are the settings that the crawl had, nil for those in its directory; next are those of the update, which
// take their place. A crawl that can go on is refused: ErrNotEnded.
func Update(ctx context.Context, dir string, was, next *Settings) (g budget.Generation, err error) {
	config, err := next.TOML()
	if err != nil {
		return g, err
	}
	return begin(ctx, dir, was, nil, func() error { return replaceSettings(dir, config) })
}

// begin begins the next generation; r is nil but for a round. before is called once nothing but the new frontier's name is
// missing.
func begin(ctx context.Context, dir string, was *Settings, r *Round, before func() error) (g budget.Generation, err error) {
	if engine.Locator(dir) != "" {
		return g, RefusedInFleet("curtsy update")
	}
	if was, err = settingsIn(dir, was); err != nil {
		return g, err
	}
	opened, err := mustHaveEnded(ctx, dir, was)
	if err != nil {
		return g, err
	}
	old, err := OpenStopped(ctx, dir, was)
	if err != nil {
		return g, err
	}
	closed := false
	defer func() {
		if err != nil {
			_ = removeNext(dir) // on a full disk there is better use for its room
		}
		if !closed {
			err = errors.Join(err, old.Close())
		}
	}()
	stats, err := old.Stats(ctx)
	if err != nil {
		return g, err
	}
	if stats.Restarts != opened+1 {
		return g, &DirError{dir, ErrTouched, dir + " was in use a moment ago"}
	}
	done := stats.Queued+stats.InFlight+stats.Deferred == 0
	if g, err = nextGeneration(ctx, dir, budget.GenerationOf(stats.Counts), done); err != nil {
		return g, err
	}
	if g.Round = r != nil; g.Round {
		err = r.build(ctx, dir, old, g)
	} else {
		err = buildNext(ctx, dir, old, g)
	}
	if err != nil {
		return g, err
	}
	if err := before(); err != nil {
		return g, err
	}
	if !g.Round { // which has all of it
		if err := keepOld(dir, g); err != nil {
			return g, err
		}
	}
	if runtime.GOOS == "windows" { // where no open file is replaced
		closed = true
		if err := old.Close(); err != nil {
			return g, err
		}
	}
	if err := os.Rename(in(dir, NextName), in(dir, FrontierName)); err != nil {
		return g, fmt.Errorf("crawl directory: %w", err)
	}
	return g, durable.Names(dir)
}

// keepOld gives the frontier before another name, a convenience: where there are no hard links, it is not kept.
func keepOld(dir string, g budget.Generation) error {
	keep := in(dir, OldFrontier(g.Number-1))
	if err := os.Remove(keep); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("crawl directory: %w", err)
	}
	_ = os.Link(in(dir, FrontierName), keep)
	return nil
}

// mustHaveEnded refuses a crawl that resume would go on with, and returns how often its frontier was opened before.
func mustHaveEnded(ctx context.Context, dir string, s *Settings) (restarts int64, err error) {
	f, err := engine.OpenReadOnly(in(dir, FrontierName))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stats(ctx)
	if err != nil {
		return 0, err
	}
	var missed record.Pages
	if s.MaxPages > 0 {
		since := budget.GenerationOf(st.Counts).Began
		if err := missed.Read(ctx, ledger.Last(in(dir, LedgerName)), since, f, record.Start()); err != nil {
			return 0, err
		}
	}
	spent := s.MaxPages > 0 && st.Counts[budget.Pages]+missed.Total() >= s.MaxPages ||
		s.MaxBytes > 0 && st.Counts[budget.Bytes] >= s.MaxBytes
	if st.Queued+st.InFlight+st.Deferred == 0 || spent {
		return st.Restarts, nil
	}
	failed := status.EachHost(ctx, f, 0, func(h frontier.Host) bool {
		if h.Pending() > 0 && h.Condition == frontier.Open && h.Hold.Act == 0 && h.Wait <= s.MaxWait {
			err = dirMisuse(dir, ErrNotEnded, "the crawl in %s has not ended", dir)
		}
		return err == nil
	})
	return st.Restarts, errors.Join(failed, err)
}

// past is what the archive had before this generation.
func (d *Dir) past() (*Past, error) {
	files, err := cdxj.Files(in(d.path, IndexName))
	if err != nil {
		return nil, err
	}
	return &Past{
		Archive: in(d.path, ArchiveName), Spool: in(d.path, SpoolName), Index: Complete(files),
		Before: d.generation.Began, MaxBody: d.settings.MaxBody, Damaged: d.tellDamaged, Void: d.evidence.index.Void,
	}, nil
}

func (d *Dir) tellDamaged(what string, why error) {
	note := Note{Text: what + ": " + why.Error()}
	if errors.Is(why, ErrNoCapture) {
		note.Kind = IndexWrong
	}
	if d.options.Say != nil {
		d.options.Say(note)
	}
}

// conclude writes down what changed in a generation that a run has ended; it returns nil in the first one. ended says that
// nothing of it is left to do: then the frontier of the generation before has had its use.
func (d *Dir) conclude(ctx context.Context, ended bool) (*Changes, error) {
	if d.generation.Number == 1 {
		return nil, nil
	}
	if err := d.Ledger.Sync(ctx); err != nil {
		return nil, err
	}
	p, err := d.past()
	if err != nil {
		return nil, err
	}
	c, err := Comparison{
		Generation: d.generation, Complete: ended, Past: p,
		OptedOut: func(u canon.URL) bool { return d.settings.Lists().URL(u) != nil },
		Ledger:   in(d.path, LedgerName), Spool: in(d.path, SpoolName), File: in(d.path, ChangesName),
	}.Write(ctx)
	if err != nil || !ended || d.generation.Round {
		return c, err
	}
	for n := range d.generation.Number { // those of updates that a budget had ended among them
		if err := os.Remove(in(d.path, OldFrontier(n))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return c, fmt.Errorf("crawl directory: %w", err)
		}
	}
	return c, nil
}
