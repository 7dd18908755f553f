package crawldir

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"curtsy/crawler/control"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/redact"
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
		return told.tell(ctx, nil, func(e *evidence) error { return record.Closed(e.archive, e.ledger)(ctx, closed) })
	}
	if f.Frontier, err = engine.Open(dir, o); err != nil {
		return f, err
	}
	// One at a time has the archive open: the frontier's commit, or who calls tell.
	if err = requireKept(dir); err == nil {
		err = errors.Join(RemoveLeftOvers(dir), f.Sync(ctx))
	}
	if err == nil {
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
	return steer(ctx, f.Frontier, f.Frontier, s, f.note)
}

// Retry opens what was closed.
func (f Stopped) Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error) {
	return retry(ctx, f.Frontier, r, f.note)
}

// Change changes a setting, for the runs that follow.
func (f Stopped) Change(ctx context.Context, o control.Change) (control.Changed, error) {
	c := &changing{dir: f.dir, frontier: f.Frontier, tell: f.note, now: *f.settings}
	done, err := c.change(ctx, o)
	*f.settings = c.now // the next change is one of these
	return done, err
}

// note has the ledger say what an operator did. A crawl that has not run yet has none, and nothing to account for.
func (f Stopped) note(ctx context.Context, act ledger.Operator) (err error) {
	if !isFolder(in(f.dir, LedgerName)) {
		return nil
	}
	if f.MayMark() != nil { // whoever has another key signs a run of its own, as for what a drop closes
		return f.tell(ctx, nil, func(e *evidence) error { return errors.Join(e.ledger.Begin(ctx), e.ledger.Operator(ctx, act)) })
	}
	if err := f.Mend(ctx, nil); err != nil {
		return err
	}
	w, err := f.Ledger(nil)
	if err != nil {
		return fmt.Errorf("it was done, and the ledger does not say so: %w", err)
	}
	return errors.Join(w.Operator(ctx, act), w.Close())
}

// KeepRests has the frontier keep the rests that a kill left to the ledger alone: the run that follows would read them there.
// It is for who takes lines away. Of the hosts gone, as hostmap.Host names them, nothing is to be left: the frontier does not
// learn their names.
func (f Stopped) KeepRests(ctx context.Context, gone []string) error {
	stats, err := f.Stats(ctx)
	if err != nil || !stats.Unclean {
		return err
	}
	rests, _, err := record.ReadRests(ledger.Last(in(f.dir, LedgerName)))
	if err != nil {
		return err
	}
	clock := record.Start()
	for a := range rests {
		h, known, err := f.Host(ctx, a)
		if err != nil {
			return err
		}
		memory, err := host.Read(h.Memory)
		if err != nil {
			return fmt.Errorf("crawl directory: %s: %w", a, err)
		}
		left, ok := rests.Left(a, &memory, clock)
		if !ok || !known && slices.Contains(gone, hostmap.Host(a.String())) {
			continue
		}
		if _, err := f.Steer(ctx, frontier.Steering{Act: frontier.Rest, Authority: a, For: left.Wait}); err != nil {
			return err
		}
	}
	return nil
}

// Add enters seeds, and writes down those of hosts that an operator has dropped.
func (f Stopped) Add(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error) {
	added, err := f.Frontier.Add(ctx, cs)
	if err == nil {
		err = f.note(ctx, ofSeeds(ctx, cs, added))
	}
	if len(added.Barred) == 0 {
		return added, err
	}
	return added, errors.Join(err, f.tell(ctx, nil, func(e *evidence) error {
		return record.Barred(ctx, e.archive, e.ledger, cs, added)
	}))
}

// Find returns the authorities that people mean by the name of a host.
func (f Stopped) Find(ctx context.Context, host string) ([]canon.Authority, error) {
	return control.Find(ctx, f.Frontier, host)
}

// tell opens the evidence for lines. A kill's torn tails are mended, as by a run. Who only changes the crawl says nothing
// of them: the next run finds the same.
func (f Stopped) tell(ctx context.Context, say func(Note), do func(e *evidence) error) (err error) {
	info, err := f.settings.ArchiveInfo(f.dir, nil)
	if err != nil {
		return err
	}
	var e evidence
	defer func() { err = errors.Join(err, e.close()) }()
	if err := e.open(ctx, f.dir, info, nil, f.settings.lists, say); err != nil {
		return err
	}
	return do(&e)
}

// tellQuarantined writes down what this opening has put in quarantine.
func (f Stopped) tellQuarantined(ctx context.Context) error {
	if all, err := f.Quarantined(ctx); err != nil || len(all) == 0 {
		return err
	}
	return f.tell(ctx, nil, func(e *evidence) error { return e.tellQuarantined(ctx, f.Frontier) })
}

// Mend completes what a kill left open of archive, index and ledger, as a run does, and says what was torn. Where nothing
// is open it does nothing.
func (f Stopped) Mend(ctx context.Context, say func(Note)) error {
	open, err := Entries(in(f.dir, ArchiveName), "", ".warc.gz.open")
	if err != nil || len(open) == 0 {
		return err
	}
	return f.tell(ctx, say, func(*evidence) error { return nil })
}

// ErrOtherKey says that a ledger is signed with another key than the user's.
var ErrOtherKey = errors.New("the ledger is signed with another key than yours")

// Ledger opens the ledger of the crawl alone, for marks that are about what is archived. Its user closes it. A ledger that
// is signed with another key is ErrOtherKey: whoever trusts that key would not trust the marks.
func (f Stopped) Ledger(say func(Note)) (*ledger.Writer, error) {
	if err := f.MayMark(); err != nil {
		return nil, err
	}
	info, err := f.settings.ArchiveInfo(f.dir, nil)
	if err != nil {
		return nil, err
	}
	return openLedger(f.dir, ledger.Options{SettingsSHA256: info.Fields.Get(configDigest)}, say)
}

// MayMark refuses a ledger of another's key, before anything is changed for which Ledger is needed.
func (f Stopped) MayMark() error {
	latest, err := ledger.Latest(in(f.dir, LedgerName))
	if err != nil || len(latest.Signatures) == 0 {
		return nil // to open it says what is wrong with it
	}
	signer, rotations, err := LedgerSigner(true)
	if err != nil {
		return fmt.Errorf("%w, which is unavailable: %w", ErrOtherKey, err)
	}
	if latest.SignedBy(signer.Key()) {
		return nil
	}
	if slices.ContainsFunc(rotations, func(r Rotation) bool { return latest.SignedBy(r.Old) }) {
		return nil
	}
	return fmt.Errorf("%w (%s): do this as the user who crawls, or with a copy of that user's ledger.key in your configuration folder",
		ErrOtherKey, signer.Name())
}

// mayGoOn refuses a directory in which something is being forgotten: it is half done.
func mayGoOn(dir string) error {
	if redact.Pending(dir) {
		return fmt.Errorf("crawl directory: %w: curtsy audit or curtsy resume finish it", redact.ErrUnfinished)
	}
	return nil
}
