package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
)

// operated is a crawl that an operator changes: a running one through its control interface, a stopped one by its
// frontier. Either way there is one writer.
type operated interface {
	Add(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error)
	Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error)
	Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error)
	Find(ctx context.Context, host string) ([]canon.Authority, error)
}

var _ operated = (*crawler.Remote)(nil)

// atRest is a stopped crawl.
type atRest struct {
	frontier.Frontier
	dir      string
	settings *settings
}

// Steer obeys. What it drops is written down on the way (openAtRest), and without a ledger nothing is.
func (f atRest) Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	if s.Act == frontier.Drop {
		if err := mustBeWhole(f.dir); err != nil { // before anything is changed
			return frontier.Steered{}, err
		}
	}
	return f.Frontier.Steer(ctx, s)
}

// Add enters seeds, and writes down those of hosts that an operator has dropped.
func (f atRest) Add(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error) {
	added, err := f.Frontier.Add(ctx, cs)
	if len(added.Barred) == 0 {
		return added, err
	}
	return added, errors.Join(err, f.tell(ctx, func(d *crawlDir) error {
		return crawler.TellBarred(ctx, d.archive, d.ledger, cs, added)
	}))
}

// openAtRest opens the frontier of the stopped crawl in dir. What the opening itself closes has its line when it returns.
func openAtRest(ctx context.Context, dir string) (f atRest, err error) {
	s, err := stoppedSettings(dir)
	if err != nil {
		return f, err
	}
	f.dir, f.settings = dir, s
	o, evidence := s.FrontierOptions(), f
	o.Tell = func(ctx context.Context, closed frontier.Closings) error {
		return evidence.tell(ctx, func(d *crawlDir) error { return crawler.Tell(d.archive, d.ledger)(ctx, closed) })
	}
	if f.Frontier, err = engine.Open(dir, o); err != nil {
		return f, inUse(err, dir)
	}
	// One at a time has the archive open: the frontier's commit, or who calls tell.
	if err = errors.Join(removeLeftOvers(dir), f.Sync(ctx)); err == nil {
		err = f.tellQuarantined(ctx)
	}
	if err != nil {
		return f, errors.Join(err, f.Close())
	}
	return f, nil
}

// tell opens the evidence for lines. What a kill left of it is mended, as by resume.
func (f atRest) tell(ctx context.Context, do func(d *crawlDir) error) (err error) {
	info, err := f.settings.ArchiveInfo(f.dir, nil)
	if err != nil {
		return err
	}
	d := &crawlDir{path: f.dir}
	defer func() { err = errors.Join(err, d.closeEvidence()) }()
	// Nothing in it is for this command's user: the next resume says what it finds.
	if err := d.openEvidence(ctx, info, nil, func(string, ...any) {}); err != nil {
		return err
	}
	return do(d)
}

// tellQuarantined writes down what this opening has put in quarantine.
func (f atRest) tellQuarantined(ctx context.Context) error {
	if all, err := f.Quarantined(ctx); err != nil || len(all) == 0 {
		return err
	}
	return f.tell(ctx, func(d *crawlDir) error { return d.tellQuarantined(ctx, f.Frontier) })
}

func (f atRest) Find(ctx context.Context, host string) ([]canon.Authority, error) {
	return crawler.Find(ctx, f.Frontier, host)
}

// operate has do change the crawl in dir, and reports whether it is running.
func operate(ctx context.Context, dir string, do func(operated) error) (running bool, err error) {
	if err := mustHoldCrawl(dir); err != nil {
		return false, err
	}
	remote, asked := crawler.Connect(ctx, dir)
	if asked == nil {
		err := do(remote)
		if errors.Is(err, crawler.ErrNotRunning) {
			err = fmt.Errorf("the crawl ended before it answered (%w); give the command again", err)
		}
		return true, orderError(err)
	}
	rest, err := openAtRest(ctx, dir)
	if err != nil {
		return false, err
	}
	err = do(rest)
	return false, orderError(errors.Join(err, rest.Close()))
}

// orderError makes a command that is wrong in itself a usage error.
func orderError(err error) error {
	if crawler.BadOrder(err) {
		return usagef("%w", err)
	}
	return err
}

// inUse says what to do about a frontier that somebody has and that does not answer.
func inUse(err error, dir string) error {
	if errors.Is(err, frontier.ErrInUse) {
		return fmt.Errorf("%w; stop the crawl first, see curtsy status %s, and go on with curtsy resume after this", err, word(dir))
	}
	return damaged(err, dir)
}

// damaged says what to do about a frontier that is damaged.
func damaged(err error, dir string) error {
	if errors.Is(err, frontier.ErrDamaged) {
		return fmt.Errorf("%w\nSee what is wrong with curtsy frontier check %s, and save what is readable with curtsy frontier rebuild %s", err, word(dir), word(dir))
	}
	return err
}

// frontierFile has do look at a file with the frontier of the crawl in dir: its own when it is stopped, a snapshot that
// the running crawl writes and that is removed afterwards.
func frontierFile(ctx context.Context, dir string, do func(ctx context.Context, path string) error) error {
	if err := mustHoldCrawl(dir); err != nil {
		return err
	}
	remote, asked := crawler.Connect(ctx, dir)
	if asked != nil {
		return do(ctx, inDir(dir, crawldir.FrontierName))
	}
	return untilSignal(ctx, func(ctx context.Context) error { // what is as large as the frontier is not left behind
		path, err := remote.Snapshot(ctx)
		if err != nil {
			return fmt.Errorf("the running crawl could not write a snapshot: %w", err)
		}
		return errors.Join(do(ctx, path), os.Remove(path))
	})
}

// reading has do read the frontier of the crawl in dir, running or not.
func reading(ctx context.Context, dir string, do func(ctx context.Context, f frontier.Stored) error) error {
	return frontierFile(ctx, dir, func(ctx context.Context, path string) error {
		f, err := engine.OpenReadOnly(path)
		if err != nil {
			return inUse(err, dir)
		}
		return damaged(errors.Join(do(ctx, f), f.Close()), dir)
	})
}

// mustNotRun refuses a crawl that is running, for what would take its file from under it.
func mustNotRun(ctx context.Context, dir, verb string) error {
	if _, err := crawler.Connect(ctx, dir); err == nil {
		return fmt.Errorf("the crawl in %s is running: frontier %s needs it stopped. Interrupt it (Ctrl-C, or a SIGTERM: it finishes what is under way), give the command again, and go on with curtsy resume %s", dir, verb, word(dir))
	}
	return nil
}

// removeLeftOvers removes what kills left of snapshots, and of frontiers that were being made. Whoever calls it holds the
// frontier, so that nobody is at work on one.
func removeLeftOvers(dir string) error {
	var errs []error
	for _, prefix := range []string{crawler.SnapshotPrefix, crawldir.FrontierName + rebuiltSuffix + ".new", crawldir.FrontierName + ".new"} {
		old, err := entriesIn(dir, prefix, "")
		errs = append(errs, err)
		for _, path := range old {
			if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() {
				errs = append(errs, os.Remove(path))
			}
		}
	}
	return errors.Join(errs...)
}

// authoritiesOf returns the authorities that people mean by the names of hosts. One that the crawl does not know is
// taken if unknown says so and the name means one authority only.
func authoritiesOf(ctx context.Context, o operated, names []string, unknown bool) ([]canon.Authority, error) {
	var all []canon.Authority
	for _, name := range names {
		a, exact, err := crawler.ParseHost(name)
		if err != nil {
			return nil, usagef("--host %s: %w", name, err)
		}
		found, err := o.Find(ctx, name)
		switch {
		case err != nil:
			return nil, err
		case len(found) > 0:
			all = append(all, found...)
		case unknown && exact:
			all = append(all, a)
		case unknown:
			return nil, usagef("--host %s: the crawl has no URL of that host; to have it so from its first URL on, write --host https://%s", name, a.HostPort())
		default:
			return nil, usagef("--host %s: the crawl has no URL of that host", name)
		}
	}
	return all, nil
}

// goOn says how a stopped crawl that was changed goes on.
func goOn(std stdio, dir string, running bool) {
	if !running {
		fmt.Fprintf(std.Err, "go on with curtsy resume %s\n", plain(word(dir)))
	}
}
