package crawldir

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/frontier/engine"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/hostrule"
	"curtsy/storage/ledger"
)

// The next generation's frontier is built beside the old one, which stays locked, and replaces it in one step: a kill before
// leaves the old crawl, a kill after leaves an update that Run continues. The frontier itself has the generation's number.

// Update begins the next generation of the crawl in dir: Run then requests its pages again, conditionally. was are the old
// settings, nil for those in dir; next replace them. A crawl that can continue is refused: ErrNotEnded.
func Update(ctx context.Context, dir string, was, next *Settings) (g budget.Generation, err error) {
	config, err := next.TOML()
	if err != nil {
		return g, err
	}
	return begin(ctx, dir, was, nil, func() error { return replaceSettings(dir, config) })
}

// begin begins the next generation; r is nil except for a round. It calls before just before the new frontier takes its name.
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
			_ = removeNext(dir) // to free space: the disk may be full
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

// mustHaveEnded refuses a crawl that resume would continue, and returns how often its frontier was opened before.
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

// conclude writes the changes of a generation after a run; nil for the first one. ended means that no URL is pending.
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
	return Comparison{
		Generation: d.generation, Complete: ended, Past: p,
		OptedOut: func(u canon.URL) bool { return d.settings.Lists().URL(u) != nil },
		Ledger:   in(d.path, LedgerName), Spool: in(d.path, SpoolName), File: in(d.path, ChangesName),
	}.Write(ctx)
}

// nextGeneration returns the generation after g. It begins after the last ledger line, whatever the clock is. After a
// round or an unfinished g, it is compared with g and the generation before, which has the URLs that g did not reach.
func nextGeneration(ctx context.Context, dir string, g budget.Generation, done bool) (budget.Generation, error) {
	next := budget.Generation{Number: g.Number + 1, Began: time.Now(), Before: g.Lines}
	if !done || g.Round {
		next.Before = g.Before
	}
	for l, err := range Decisions(in(dir, LedgerName)) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return next, err
		}
		next.Lines++
		if !l.Time.Before(next.Began) {
			next.Began = l.Time.Add(time.Microsecond)
		}
	}
	next.Began = next.Began.UTC().Truncate(time.Microsecond)
	return next, nil
}

// removeNext removes an unfinished next frontier, and its parts.
func removeNext(dir string) error {
	if err := removeNamed(dir, NextName); err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	return nil
}

func importNext(dir string, parts iter.Seq2[frontier.Item, error]) error {
	next, stop := iter.Pull2(parts)
	defer stop()
	return engine.Import(in(dir, NextName), func() (frontier.Item, error) {
		item, err, ok := next()
		if !ok {
			return item, io.EOF
		}
		return item, err
	})
}

// buildNext builds the next frontier beside the old one, which the caller holds.
func buildNext(ctx context.Context, dir string, old frontier.Reader, g budget.Generation) error {
	if err := removeNext(dir); err != nil { // after a kill one may be there
		return err
	}
	if err := importNext(dir, nextItems(ctx, old, g)); err != nil {
		return err
	}
	f, err := engine.Open(in(dir, NextName), frontier.Options{Operator: true}) // the run of the update reports a kill before it
	if err != nil {
		return err
	}
	var given []frontier.Candidate
	for s, err := range old.AllSeeds(ctx) {
		if err != nil {
			return errors.Join(err, f.Close())
		}
		if s.From == "" { // the target of a redirect is found again
			given = append(given, frontier.Candidate{URL: s.URL, Kind: frontier.KindSeed, Seed: s.URL.String(), Tag: s.Tag})
		}
	}
	_, err = f.Add(ctx, given)
	return errors.Join(err, f.Close())
}

// nextItems yields the parts of the next frontier: the hosts with their politeness state, each robots.txt once, but no URLs.
func nextItems(ctx context.Context, old frontier.Reader, g budget.Generation) iter.Seq2[frontier.Item, error] {
	return func(yield func(frontier.Item, error) bool) {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // it never fails
		stats, err := old.Stats(ctx)
		head := frontier.Head{Secret: secret, Openings: stats.Restarts + 1, Unclean: stats.Unclean}
		if !yield(frontier.Item{Head: &head}, err) {
			return
		}
		more, met := true, map[[32]byte]bool{}
		err = status.EachHost(ctx, old, 0, func(h frontier.Host) bool {
			var state robots.State
			var err error
			if len(h.Robots) > 0 {
				err = state.UnmarshalBinary(h.Robots)
			}
			sum, ok := state.Body()
			if err == nil && (!ok || met[sum]) {
				return true
			}
			met[sum] = true
			var body []byte
			if err == nil {
				body, err = old.Blob(ctx, sum)
			}
			if errors.Is(err, frontier.ErrNoBlob) { // an empty file is not kept
				return true
			}
			more = yield(frontier.Item{Blob: body}, err)
			return more
		})
		if more && err == nil {
			err = status.EachHost(ctx, old, 0, func(h frontier.Host) bool {
				h, err := host.NextGeneration(h)
				more = yield(frontier.Item{Host: &h}, err)
				return more
			})
		}
		if more {
			yield(frontier.Item{Totals: &frontier.Totals{Counts: g.Counts()}}, err)
		}
	}
}

// A round requests only some pages, and new links on them. All other closed URLs stay closed, and pending ones pending.

// A Round selects the URLs that a round requests.
type Round struct {
	// Due reports whether a closed URL is requested.
	Due func(frontier.Entry) bool
	// Retired reports whether a host that earlier rounds gave up is tried again.
	Retired func(canon.Authority) bool
	// Pages counts the pages not requested, in all and of a host: they count for MaxPages and MaxPerHost.
	Pages       int64
	PagesOfHost func(canon.Authority) uint64
}

// sourceName is a copy of the frontier to build the next one from. removeNext also removes it.
const sourceName = NextName + ".of"

// BeginRound begins the next generation of the crawl in dir as Update does, but requests only the URLs that r selects.
func BeginRound(ctx context.Context, dir string, s *Settings, r Round) (g budget.Generation, err error) {
	return begin(ctx, dir, s, &r, func() error { return nil })
}

// build builds the next frontier from a copy of the old one, which the caller holds.
func (r Round) build(ctx context.Context, dir string, old Stopped, g budget.Generation) (err error) {
	if err := removeNext(dir); err != nil { // after a kill one may be there
		return err
	}
	stats, err := old.Stats(ctx)
	if err != nil {
		return err
	}
	if err := old.Snapshot(ctx, in(dir, sourceName)); err != nil {
		return err
	}
	source, err := engine.OpenReadOnly(in(dir, sourceName))
	if err != nil {
		return err
	}
	err = importNext(dir, r.items(ctx, source, stats, g))
	return errors.Join(err, source.Close(), os.Remove(in(dir, sourceName)))
}

func (r Round) items(ctx context.Context, old frontier.Stored, stats frontier.Stats, g budget.Generation) iter.Seq2[frontier.Item, error] {
	return func(yield func(frontier.Item, error) bool) {
		ended := errors.New("no more is wanted")
		err := old.Export(ctx, func(i frontier.Item) error {
			var err error
			switch {
			case i.Head != nil:
				i.Head.Openings, i.Head.Unclean = stats.Restarts+1, stats.Unclean
			case i.Host != nil:
				*i.Host, err = r.host(*i.Host)
			case i.URL != nil && i.URL.Outcome != 0 && r.Due(*i.URL):
				i.URL.Outcome, i.URL.Reason, i.URL.Attempts, i.URL.Replaced = 0, "", 0, canon.URL{}
				i.URL.Stops, i.URL.Alone = 0, 0
			case i.Totals != nil:
				i.Totals.Counts = g.Counts()
				i.Totals.Counts[budget.Pages] = r.Pages
			}
			if !yield(i, err) {
				return ended
			}
			return err
		})
		if err != nil && !errors.Is(err, ended) {
			yield(frontier.Item{}, err)
		}
	}
}

func (r Round) host(h frontier.Host) (frontier.Host, error) {
	retired := h.Condition == frontier.Retired && !r.Retired(h.Authority)
	next, err := host.NextRound(h, r.PagesOfHost(h.Authority))
	if retired {
		next.Condition, next.Reason = h.Condition, h.Reason
	}
	return next, err
}

// Daily returns the cap of requests to a host in a day, with those in the ledger in dir counted; nil without a cap.
func Daily(dir string, s *Settings, now time.Time) (*budget.Daily, error) {
	if s.PerHostPerDay == 0 && !slices.ContainsFunc(s.Hosts, func(r hostrule.Rule) bool { return r.PerHostPerDay > 0 }) {
		return nil, nil
	}
	d := budget.NewDaily(s.perDay)
	err := ledger.Requests(in(dir, LedgerName), now.Add(-25*time.Hour), func(l storage.Line) {
		if u, err := canon.Parse(l.URL); err == nil {
			d.Made(u.Authority(), l.Time, now)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("crawl directory: count the requests of today: %w", err)
	}
	return d, nil
}

// perDay returns the cap of requests to a host in a day; 0 for no cap.
func (s *Settings) perDay(a canon.Authority) int64 {
	most, set := s.PerHostPerDay, s.Hosts.Of(a).PerHostPerDay
	if most == 0 || set > 0 && set < most {
		return set
	}
	return most
}

// Pending is the remaining work of a stopped crawl.
type Pending struct {
	URLs int64
	// Due is the time until the first host with pending URLs may be requested, if Asked is set.
	Due   time.Duration
	Asked bool
}

// Left returns the remaining work of the crawl in dir.
func Left(ctx context.Context, dir string) (p Pending, hosts []frontier.Host, err error) {
	f, err := engine.OpenReadOnly(in(dir, FrontierName))
	if err != nil {
		return p, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	err = status.EachHost(ctx, f, 0, func(h frontier.Host) bool {
		hosts = append(hosts, h)
		p.URLs += h.Pending()
		if h.Pending() > 0 && h.Condition <= frontier.Parked && h.Hold.Act == 0 && (!p.Asked || h.Wait < p.Due) {
			p.Due, p.Asked = h.Wait, true
		}
		return true
	})
	return p, hosts, err
}
