package crawldir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/budget"
	"curtsy/crawler/control"
	"curtsy/crawler/fetch"
	"curtsy/crawler/hostlock"
	"curtsy/crawler/scope"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
	"golang.org/x/sync/errgroup"
)

// A Start is a crawl that is set up, and is to be run.
type Start struct {
	Crawl *crawler.Crawl
	// Operated is the crawl as its operator meets it: what is done through it is in the ledger.
	Operated control.Crawl

	Seeds int64 // how many it was given
	Named bool  // one of them is not on this machine
}

// A Result is what came of a run.
type Result struct {
	crawler.Summary
	Changes *Changes // of an update; nil else
}

// Run runs the crawl in dir, be it new, stopped or killed, until its end: when nothing is left that is due soon, a budget
// is spent, or ctx ends. A crawl that is finished is left as it is.
func Run(ctx context.Context, dir string, o Options) (_ Result, err error) {
	d, err := Open(ctx, dir, o)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Run(ctx)
}

// Run runs the crawl, unless it is finished already. It can be called once.
func (d *Dir) Run(ctx context.Context) (r Result, err error) {
	if err := d.tellKilled(ctx); err != nil {
		return r, err
	}
	more, err := d.settings.AsksForMore(ctx, d.Frontier)
	if err != nil {
		return r, err
	}
	var done bool
	if r.Summary, done, err = finished(ctx, d.Frontier); done && !more || err != nil {
		if done && !Done(in(d.path, ChangesName), d.generation.Number) {
			r.Changes, err = d.conclude(ctx, true)
		}
		return r, err
	}
	if d.config != nil {
		if err := replaceSettings(d.path, d.config); err != nil {
			return r, err
		}
	}
	start, release, err := d.prepare(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if r.Summary, err = d.attend(ctx, start); err != nil {
		return r, err
	}
	if !start.Crawl.Interrupted() { // whoever interrupts does not wait for what changed
		r.Changes, err = d.conclude(ctx, r.Status.Queued+r.Status.InFlight+r.Status.Deferred == 0)
	}
	return r, err
}

// attend runs a crawl with its control interface beside it.
func (d *Dir) attend(ctx context.Context, s Start) (summary crawler.Summary, err error) {
	attend := d.options.Attend
	if attend == nil {
		attend = func(ctx context.Context, s Start) (crawler.Summary, error) { return s.Crawl.Run(ctx) }
	}
	if d.options.Unheard {
		return attend(ctx, s)
	}
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	var beside errgroup.Group
	beside.Go(func() error { return control.Serve(over, d.path, s.Operated, d.Frontier) })
	summary, err = attend(ctx, s)
	end()
	return summary, errors.Join(err, beside.Wait())
}

// prepare makes the crawl. What release gives back is needed until it has ended.
func (d *Dir) prepare(ctx context.Context) (start Start, release func() error, err error) {
	given, err := seedsGiven(ctx, d.Frontier)
	if err != nil {
		return start, nil, err
	}
	start.Seeds, start.Named = given.count, given.named
	fc, err := d.settings.FetchConfig(given.addresses, in(d.path, SpoolName))
	if err != nil {
		return start, nil, err
	}
	fc.Resolve, fc.Dial = d.options.Resolve, d.options.Dial
	f, err := fetch.New(fc)
	if err != nil {
		return start, nil, &Misuse{err}
	}
	opened := f.Close
	defer func() {
		if err != nil {
			err = errors.Join(err, opened())
		}
	}()
	cc, err := d.settings.CrawlerConfig(f, d.say)
	if err != nil {
		return start, nil, err
	}
	cc.Member, _ = d.Frontier.(frontier.Member)
	cc.Frontier, cc.Recorder, cc.Ledger = d.Frontier, d.Archive, beginning{d.Ledger, d.path, &d.begun}
	cc.DryRun, cc.DryMaps, cc.DryListed = d.options.DryRun, d.options.DryMaps, d.options.DryListed
	cc.Last = ledger.Last(in(d.path, LedgerName))
	cc.Asked = func() (storage.Asked, error) { return ledger.Asked(in(d.path, LedgerName), d.generation.Began) }
	if cc.Daily, err = Daily(d.path, &d.settings, time.Now()); err != nil {
		return start, nil, err
	}
	if d.options.Line != nil {
		cc.Ledger = heard{cc.Ledger, d.options.Line}
	}
	if d.options.Dial == nil { // else the names are not those of real hosts
		locks, err := HostLocks(d.say)
		if err != nil {
			return start, nil, err
		}
		opened = func() error { return errors.Join(f.Close(), locks.Close()) }
		cc.HostLocks = locks
	}
	if d.generation.Number > 1 {
		if cc.Past, err = d.past(); err != nil {
			return start, nil, err
		}
	}
	if start.Crawl, err = crawler.New(ctx, cc); err != nil {
		return start, nil, &Misuse{err}
	}
	start.Operated = d.operated(start.Crawl)
	return start, opened, nil
}

// heard is a ledger of which somebody hears each line.
type heard struct {
	storage.Ledger
	line func(storage.Line)
}

func (h heard) Append(ctx context.Context, l storage.Line) error {
	h.line(l)
	return h.Ledger.Append(ctx, l)
}

// HostLocks opens the locks that all crawls of this user share, so that no two of them ask a host at once (politeness
// rule 17). There is no switch for them.
func HostLocks(say func(string, ...any)) (*hostlock.Locks, error) {
	path, err := hostlock.Path()
	var locks *hostlock.Locks
	if err == nil {
		locks, err = hostlock.Open(path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w\nYour crawls share this file, so that no two of them request a host at once: make the folder writable, or set HOME, XDG_CACHE_HOME (Linux) or LocalAppData (Windows) to one that is", err)
	}
	if why := locks.Missing(); why != "" {
		say("%s: do not run two crawls of the same hosts at once", why)
	}
	return locks, nil
}

// finished returns the summary of a crawl that has nothing left to do, and whether it is one.
func finished(ctx context.Context, f frontier.Reader) (crawler.Summary, bool, error) {
	status, err := status.Of(ctx, f)
	if err != nil || status.State != "finished" {
		return crawler.Summary{}, false, err
	}
	stats, err := f.Stats(ctx)
	unanswered := stats.Counts[budget.SeedsUnanswered]
	return crawler.Summary{
		EndedBy: crawler.EndedDrained, Status: status, SeedsUnanswered: unanswered, Incomplete: unanswered > 0,
	}, true, err
}

// tellKilled says what a kill left: URLs that may have brought the process down.
func (d *Dir) tellKilled(ctx context.Context) error {
	st, err := d.Frontier.Stats(ctx)
	if err != nil || d.options.Say == nil {
		return err
	}
	if st.Suspects > 0 {
		d.say("%s in flight when the process died: each is tried again after the others, one at a time", plainly.Count(st.Suspects, "URL"))
	}
	if n := st.Reasons[frontier.Failed][frontier.ReasonQuarantined]; n > 0 {
		d.options.Say(Note{Quarantined, fmt.Sprintf("%s set aside: the process died %d times while nothing else was in flight",
			plainly.Count(n, "URL"), frontier.QuarantineStops)})
	}
	return nil
}

// givenSeeds is what a run must know of the seeds it was given, however many there are.
type givenSeeds struct {
	count     int64
	named     bool            // one is not on loopback, whose hosts are the operator's own
	addresses []frontier.Seed // that FetchConfig makes an exception for, one of each authority
}

// seedsGiven looks through the seeds of a crawl. Those that a seed redirected to were not given.
func seedsGiven(ctx context.Context, f frontier.Reader) (g givenSeeds, err error) {
	met := map[canon.Authority]bool{} // of a million seeds hardly any is an address
	for s, err := range f.AllSeeds(ctx) {
		if err != nil {
			return givenSeeds{}, err
		}
		if s.From != "" {
			continue
		}
		g.count++
		a := s.URL.Authority()
		g.named = g.named || !a.Loopback()
		if _, literal := a.Addr(); met[a] || !literal && a.Host() != "localhost" {
			continue
		}
		met[a] = true
		g.addresses = append(g.addresses, s)
	}
	return g, nil
}

// Words of Unfetched that are not rules.
const (
	StillQueued = "still queued"
	NotFollowed = "reference not followed" // as of cite or longdesc, or of a page with too many links
)

// Unfetched returns a function that reports why the crawl of s with the frontier f did not request a URL that its pages name
// and that its ledger does not: a budget ("budget: max-urls"), a rule of the scope, what its host is shut for, StillQueued,
// NotFollowed, or "" if it is done. embed reports that pages need the URL to be complete.
func Unfetched(ctx context.Context, s *Settings, f frontier.Frontier) (func(u canon.URL, embed bool) (string, error), error) {
	config, err := s.ScopeConfig()
	if err != nil {
		return nil, err
	}
	rules, err := scope.New(config, nil)
	if err != nil {
		return nil, err
	}
	for seed, err := range f.AllSeeds(ctx) {
		if err != nil {
			return nil, err
		}
		rules.Extend(seed.URL)
	}
	stats, err := f.Stats(ctx)
	if err != nil {
		return nil, err
	}
	over, queued := "", StillQueued
	for _, reason := range budget.Caps {
		if stats.Capped[reason[0]] > 0 {
			over = storage.RuleOfBudget + reason[1]
			break
		}
	}
	switch {
	case s.MaxPages > 0 && stats.Counts[budget.Pages] >= s.MaxPages:
		queued = storage.RuleOfBudget + budget.MaxPages
	case s.MaxBytes > 0 && stats.Counts[budget.Bytes] >= s.MaxBytes:
		queued = storage.RuleOfBudget + budget.MaxBytes
	}
	return func(u canon.URL, embed bool) (string, error) {
		seen, err := f.Seen(ctx, []canon.URL{u})
		if err != nil {
			return "", err
		}
		if seen[0] {
			h, _, err := f.Host(ctx, u.Authority())
			switch {
			case err != nil || h.Pending() == 0: // it is done, and the caller lacks its line
				return "", err
			case h.Condition == frontier.Open:
				return queued, nil
			}
			return cmp.Or(h.Reason, queued), nil
		}
		c := scope.Candidate{URL: u, Embed: embed, Depth: 1}
		if embed {
			c.Depth, c.Embeds = 0, 1
			if !rules.Covers(u) {
				c.Away = 1
			}
		}
		if v := rules.Judge(c); !v.In {
			return v.Rule, nil
		}
		return cmp.Or(over, NotFollowed), nil
	}, nil
}
