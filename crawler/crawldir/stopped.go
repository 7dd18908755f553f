package crawldir

import (
	"context"
	"errors"

	"curtsy/crawler/control"
	"curtsy/crawler/record"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
)

// Stopped is a stopped crawl that an operator changes. Whatever it closes has its line in the ledger.
type Stopped struct {
	frontier.Frontier
	dir      string
	settings *Settings
}

// OpenStopped opens a crawl that does not run, with the settings that it had; nil for those in its directory. What the
// opening itself closes has its line when it returns. Errors are frontier.ErrInUse, ErrNewer, ErrOlder and ErrDamaged.
func OpenStopped(ctx context.Context, dir string, s *Settings) (f Stopped, err error) {
	if s, err = settingsIn(dir, s); err != nil {
		return f, err
	}
	f.dir, f.settings = dir, s
	o, told := s.FrontierOptions(), f
	o.Operator = true
	o.Tell = func(ctx context.Context, closed frontier.Closings) error {
		return told.tell(ctx, func(e *evidence) error { return record.Closed(e.archive, e.ledger)(ctx, closed) })
	}
	if f.Frontier, err = engine.Open(dir, o); err != nil {
		return f, err
	}
	// One at a time has the archive open: the frontier's commit, or who calls tell.
	if err = errors.Join(RemoveLeftOvers(dir), f.Sync(ctx)); err == nil {
		err = f.tellQuarantined(ctx)
	}
	if err != nil {
		return f, errors.Join(err, f.Close())
	}
	return f, nil
}

// settingsIn are the settings s, or those in dir.
func settingsIn(dir string, s *Settings) (*Settings, error) {
	if s != nil {
		return s, nil
	}
	read, err := ReadSettings(dir)
	return &read, err
}

// Steer obeys. What it drops is written down on the way, and without a ledger nothing is dropped.
func (f Stopped) Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	if s.Act == frontier.Drop {
		if err := RequireWhole(f.dir); err != nil { // before anything is changed
			return frontier.Steered{}, err
		}
	}
	return f.Frontier.Steer(ctx, s)
}

// Add enters seeds, and writes down those of hosts that an operator has dropped.
func (f Stopped) Add(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error) {
	added, err := f.Frontier.Add(ctx, cs)
	if len(added.Barred) == 0 {
		return added, err
	}
	return added, errors.Join(err, f.tell(ctx, func(e *evidence) error {
		return record.Barred(ctx, e.archive, e.ledger, cs, added)
	}))
}

// Find returns the authorities that people mean by the name of a host.
func (f Stopped) Find(ctx context.Context, host string) ([]canon.Authority, error) {
	return control.Find(ctx, f.Frontier, host)
}

// tell opens the evidence for lines. A kill's torn tails are mended, as by a run.
func (f Stopped) tell(ctx context.Context, do func(e *evidence) error) (err error) {
	info, err := f.settings.ArchiveInfo(f.dir, nil)
	if err != nil {
		return err
	}
	var e evidence
	defer func() { err = errors.Join(err, e.close()) }()
	// Nothing in it is for whoever changes the crawl: the next run says what it finds.
	if err := e.open(ctx, f.dir, info, nil, nil); err != nil {
		return err
	}
	return do(&e)
}

// tellQuarantined writes down what this opening has put in quarantine.
func (f Stopped) tellQuarantined(ctx context.Context) error {
	if all, err := f.Quarantined(ctx); err != nil || len(all) == 0 {
		return err
	}
	return f.tell(ctx, func(e *evidence) error { return e.tellQuarantined(ctx, f.Frontier) })
}
