package crawler

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"curtsy/crawler/budget"
	"curtsy/crawler/extract"
	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Crawl is one run over a frontier. It is used once.
type Crawl struct {
	cfg   Config
	clock record.Clock
	run   uint64 // which run of the crawl this is, from 0
	scope *area
	gate  *gate.Gate

	// The stages that a URL goes through (docs/dev/design.md).
	policies  *policies
	bounds    *bounds
	exchanger *exchanger
	outcomes  *outcomes
	linker    *linker
	settler   *settler

	stopper    *stopper
	windowGate *windowGate
	limit      timeLimit
	reader     *pageReader
	record     *record.Writer
	book       *seedBook
	budget     *budget.Tickets
	quotas     quotas
	room       *record.Limiter // of the exchanges in flight
	crew       chan struct{}   // one place for each worker that is at work and has no slow exchange
	buffers    resultPool
	live       *status.Live
	closings   closings

	unclean bool // the run before was killed
	rests   record.Rests
	carried record.Costs
	pages   record.Pages
	patient atomic.Bool // something had to wait that was no fault of its host
	counted atomic.Bool // a turn of this run has counted it: see budget.Runs

	changing sync.Mutex // of Change

	reachable map[canon.Authority]bool // addresses that are not public and that the run began with
}

// claimTasks is how many tasks a turn brings: more than one, so that disallowed ones do not cost a turn each.
const claimTasks = 4

// Why a run ended. Budgets end it with their own names.
const (
	EndedDrained     = "drained"     // nothing is left to do
	EndedWaiting     = "waiting"     // what is left is not due within MaxWait
	EndedInterrupted = "interrupted" // asked to drain
	EndedMaxPages    = budget.MaxPages
	EndedMaxBytes    = budget.MaxBytes
	EndedMaxTime     = budget.MaxTime
	EndedMaxDBSize   = "max-db-size" // the frontier is as large as it may become
	EndedStopWhen    = "stop-when: " // and a condition of Config.StopWhen
)

// New prepares a run. The frontier holds the seeds already.
func New(ctx context.Context, cfg Config) (_ *Crawl, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Crawl{cfg: cfg.withDefaults(), clock: record.Start(), reachable: map[canon.Authority]bool{}}
	c.cfg.Scope.Sitemaps = c.cfg.Sitemaps.any()
	if c.scope, err = newArea(c.cfg.Scope); err != nil {
		return nil, err
	}
	if m := c.cfg.Member; m != nil {
		m.OnSeed(func(u canon.URL) { c.scope.Load().Extend(u) })
	}
	tags := map[string]bool{}
	for s, err := range c.cfg.Frontier.AllSeeds(ctx) { // those that seeds redirected to among them
		if err != nil {
			return nil, err
		}
		if len(tags) < maxTags+2 { // the empty one is none
			tags[s.Tag] = true
		}
		c.scope.Load().Extend(s.URL)
		if a := s.URL.Authority(); s.From == "" && NotPublic(a) {
			c.reachable[a] = true
		}
	}
	if err := c.cfg.tellApart(tags); err != nil {
		return nil, err
	}
	before, err := c.cfg.Frontier.Stats(ctx)
	if err != nil {
		return nil, err
	}
	c.run, c.unclean = uint64(before.Restarts), before.Unclean
	all, err := c.recover(ctx, before.Counts)
	if err != nil {
		return nil, err
	}
	missed := c.pages.AddTo(all, c.cfg.tagged)
	c.budget = budget.New(c.cfg.MaxPages, c.cfg.MaxBytes, all, func() { c.room.Press(budget.PressAfter) })
	if c.quotas, err = newQuotas(ctx, &c.cfg, all, missed); err != nil {
		return nil, err
	}
	c.cfg.changed = &atomic.Pointer[Terms]{}
	c.room, c.crew = record.NewLimiter(c.cfg.Workers), make(chan struct{}, c.cfg.Workers)
	c.live, c.stopper = c.cfg.newLive(c.room), newStopper()
	if err := c.stages(before.Counts); err != nil {
		return nil, err
	}
	return c, c.settler.addSitemaps(ctx)
}

// recover reads what the ledger knows and the frontier does not, and returns the totals with what exchanges cost. Pages and bytes
// are missing in good order, too, where no turn of the run before could count them.
func (c *Crawl) recover(ctx context.Context, counts map[string]int64) (all map[string]int64, err error) {
	// Of an update, hosts have answered before; in a fleet, they may have answered others.
	c.patient.Store(c.cfg.Past != nil || c.cfg.Member != nil)
	if c.unclean || c.cfg.limitsPages() {
		since := budget.GenerationOf(counts).Began
		if err := c.pages.Read(ctx, c.cfg.Last, since, c.cfg.Frontier, c.clock); err != nil {
			return nil, err
		}
	}
	if c.unclean {
		var answered bool
		if c.rests, answered, err = record.ReadRests(c.cfg.Last); err != nil {
			return nil, err
		}
		if answered { // there is something to wait for
			c.patient.Store(true)
		}
	}
	if !c.unclean && c.cfg.MaxBytes == 0 {
		return c.carried.Recover(nil, counts)
	}
	return c.carried.Recover(c.cfg.Asked, counts)
}

// stages sets up the stages that a URL goes through, and what they share.
func (c *Crawl) stages(counts map[string]int64) error {
	rels, err := extract.ParseRels(c.cfg.FollowRel)
	if err != nil {
		return err
	}
	cfg := &c.cfg
	dates, lined, redirects := record.NewDates(), record.NewRecent(), gate.NewRedirects()
	c.windowGate = newWindowGate(cfg.Window)
	c.windowGate.Member, c.stopper.member = cfg.Member, cfg.Member
	c.windowGate.MaxWait, c.windowGate.Dates, c.windowGate.Log = cfg.MaxWait, dates, cfg.Log
	c.windowGate.Left, c.windowGate.End = cfg.left(c.budget), c.stopper.endOutside
	c.windowGate.Hold = func(on bool) { c.stopper.hold(byWindow, on) }
	c.gate = c.cfg.Gate()
	c.record = record.New(cfg.Recorder, cfg.Ledger, dates)
	if cfg.Member != nil {
		c.record.Rests = c.shareRest
	}
	c.book = newSeedBook(counts)
	c.reader = &pageReader{cfg: cfg, extract: extract.New(), cpu: record.NewCPU()}
	c.bounds = &bounds{cfg: cfg, scope: c.scope, rels: rels, lined: lined, book: c.book}
	c.settler = &settler{cfg: cfg, record: c.record, lined: lined, book: c.book}
	c.linker = &linker{cfg: cfg, gate: c.gate, reader: c.reader, bounds: c.bounds, settler: c.settler, book: c.book}
	pacer := host.NewPacer(cfg.IPDelay, cfg.HostLocks)
	if c.unclean || counts[budget.Runs] > 0 || cfg.Past != nil {
		pacer.Resumed()
	}
	c.exchanger = &exchanger{
		cfg: cfg, pacer: pacer, chooser: host.NewChooser(), redirects: redirects, dates: dates,
		stopper: c.stopper, windowGate: c.windowGate, patient: &c.patient,
	}
	c.policies = &policies{
		cfg: cfg, gate: c.gate, redirects: redirects, exchanger: c.exchanger, settler: c.settler, record: c.record, dates: dates,
		stopper: c.stopper, maxWait: c.maxWait, rests: c.rests,
	}
	c.outcomes = &outcomes{
		cfg: cfg, bounds: c.bounds, linker: c.linker, reader: c.reader, settler: c.settler, book: c.book,
	}
	return nil
}

// ended is the cause with which draining is cancelled.
type ended string

func (e ended) Error() string { return "the crawl ended: " + string(e) }

// Drain lets the exchanges under way finish, for Grace at most, and begins no other. It may be called at any time, more
// than once; the first reason stands.
func (c *Crawl) Drain() { c.stopper.interrupt() }

// Interrupted reports whether somebody has asked the run to stop, also when it was about to end for another reason.
func (c *Crawl) Interrupted() bool { return c.stopper.interrupted.Load() }

func (c *stopper) end(why string) { c.drain(ended(why)) }

// interrupt ends the run because somebody asks for it.
func (c *stopper) interrupt() {
	c.interrupted.Store(true)
	c.end(EndedInterrupted)
	if c.member != nil {
		c.member.Hurry(patienceInDrain)
	}
}

// Run crawls until the end and says how it ended. Cancelling ctx aborts the exchanges under way, which are archived as far
// as they came, as those are that the end of the grace cuts; an error is a failure of our own state, and what was finished
// before it is kept.
func (c *Crawl) Run(ctx context.Context) (Summary, error) {
	if err := c.cfg.Ledger.Begin(context.WithoutCancel(ctx)); err != nil {
		return Summary{}, err
	}
	c.limit.begin(c.cfg.terms().MaxTime, func() { c.stopper.end(EndedMaxTime) })
	defer c.limit.end()
	ctx, release := c.stopper.abortable(ctx)
	defer release()
	over := make(chan struct{})
	var beside errgroup.Group
	beside.Go(func() error { return c.stopper.stopAfterGrace(over) })

	c.endIfMet() // by the pages of runs before
	unknown := c.windowGate.Look(context.WithoutCancel(ctx))
	if unknown != nil {
		c.stopper.end(EndedInterrupted)
	}
	beside.Go(func() error {
		err := c.windowGate.Keep(context.WithoutCancel(ctx), over, c.stopper.draining.Done())
		if err != nil {
			c.stopper.end(EndedInterrupted)
		}
		return err
	})
	g, gctx := errgroup.WithContext(ctx)
	for range c.room.Most() {
		g.Go(func() error { return c.work(gctx) })
	}
	beside.Go(func() error {
		err := c.record.SyncIdle(context.WithoutCancel(ctx), over)
		if err != nil {
			c.stopper.end(EndedInterrupted)
		}
		return err
	})
	err := cmp.Or(g.Wait(), unknown)
	close(over)
	err = cmp.Or(err, beside.Wait())
	c.stopper.end(EndedInterrupted) // a failure: those who ask later must not see a crawl that goes on
	rest := c.record.Flush(context.WithoutCancel(ctx))
	if err = cmp.Or(err, rest); err != nil { // of two failures of our own state the first is the cause
		return Summary{}, err
	}
	return c.summary(context.WithoutCancel(ctx))
}

// work takes turns until the end. There are more workers than Workers: those whose exchange is slow make room for others.
func (c *Crawl) work(ctx context.Context) error {
	for {
		select {
		case c.crew <- struct{}{}:
		case <-c.stopper.draining.Done():
			return nil
		case <-ctx.Done():
			return nil
		}
		leave := sync.OnceFunc(func() { <-c.crew })
		on, err := c.workOnce(ctx, leave)
		leave()
		if !on || err != nil {
			return err
		}
	}
}

// workOnce takes one turn, and reports whether there may be others. leave makes room for another worker.
func (c *Crawl) workOnce(ctx context.Context, leave func()) (on bool, err error) {
	going := c.stopper.mayClaim(ctx)
	switch why := c.budget.Take(c.stopper.draining); {
	case why != "":
		c.stopper.end(why)
		return false, nil
	case c.stopper.draining.Err() != nil || ctx.Err() != nil:
		return false, nil
	}
	pages, err := c.oneTurn(ctx, going, leave)
	c.budget.Give(pages)
	switch {
	case err == nil:
		return true, nil
	case over(going, err) && c.stopper.draining.Err() == nil && ctx.Err() == nil:
		return true, nil // a pause began while a turn was waited for
	case errors.Is(err, errEnd) || over(ctx, err) || over(c.stopper.draining, err):
		return false, nil
	default:
		c.stopper.end(EndedInterrupted)
		return false, err
	}
}

// over reports whether err means no more than that ctx is over.
func over(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}

// maxWait is how long a turn is waited for. A crawl in which no host has ever answered does not wait: whoever
// mistyped a seed wants to know it now.
func (c *Crawl) maxWait() time.Duration {
	if !c.budget.Answered() && !c.patient.Load() {
		return 2 * max(c.cfg.Delay, Floor)
	}
	return c.cfg.MaxWait
}

// Summary is how a run ended.
type Summary struct {
	EndedBy string        `json:"ended_by"` // one of the Ended words, or the name of a budget
	Status  status.Status `json:"status"`

	// Incomplete says that something is missing that no budget of the user explains: a seed without a usable answer, or
	// hosts still parked, refused or retired when nothing else was left to do.
	Incomplete bool `json:"incomplete"`
	// SeedsUnanswered counts the seeds without a usable answer, over all runs; Seeds names those of this run.
	SeedsUnanswered int64    `json:"seeds_unanswered"`
	Seeds           []string `json:"seeds,omitempty"`

	// Failed names URLs of this run that failed, with the reason, at most five; Status.Failed counts those of all runs.
	Failed []string `json:"failed_urls,omitempty"`

	// Opens is when the window opens for which the run did not wait; nil for a run that ended otherwise.
	Opens *time.Time `json:"opens,omitempty"`

	// Empty names pages of this run that show nothing without JavaScript, at most five; Status.NotRead counts those of all runs.
	Empty []string `json:"empty_without_javascript,omitempty"`

	Manners Manners `json:"manners"`
}

// How a run ended in which each host that is left has all the pages that MaxPerHost, or MaxPerDomain, lets it have, and one
// in which nothing is left but what MaxPerTag sets aside.
const (
	EndedMaxPerHost   = budget.MaxPerHost
	EndedMaxPerDomain = budget.MaxPerDomain
	EndedMaxPerTag    = budget.MaxPerTag
)

// summary is taken when no worker is left.
func (c *Crawl) summary(ctx context.Context) (Summary, error) {
	var why ended
	errors.As(context.Cause(c.stopper.draining), &why)
	s := Summary{EndedBy: string(why)}
	if err := c.cfg.Frontier.Sync(ctx); err != nil {
		return s, err
	}
	var err error
	if s.Status, err = status.Of(ctx, c.cfg.Frontier); err != nil {
		return s, err
	}
	c.addUncounted(&s.Status)
	if s.EndedBy == EndedWaiting { // then each host with something left is not due
		if s.Status.Resting, err = status.Left(ctx, c.cfg.Frontier); err != nil {
			return s, err
		}
	}
	s.Opens = c.windowGate.Missed()
	s.Status.Elapsed = c.clock.Elapsed().Seconds()
	s.Status.Killed = false // the frontier says it of the run before
	stats, err := c.cfg.Frontier.Stats(ctx)
	if err != nil {
		return s, err
	}
	s.Manners = c.manners(stats)
	s.SeedsUnanswered = stats.Counts[budget.SeedsUnanswered]
	s.Seeds, s.Empty, s.Failed = c.book.Named(), c.linker.empty.named(), c.settler.failed.named()

	if s.EndedBy == EndedWaiting && s.Opens == nil && stats.Retired > 0 {
		if s.EndedBy, err = c.endedByHosts(ctx); err != nil {
			return s, err
		}
	}
	if s.EndedBy == EndedWaiting && s.Status.Queued+s.Status.InFlight+s.Status.Deferred == 0 {
		s.EndedBy, s.Opens = EndedDrained, nil // an operator dropped what was waited for
	}
	if s.EndedBy == EndedDrained && c.cfg.terms().MaxPerTag > 0 && c.quotas.held.Load() {
		s.EndedBy = EndedMaxPerTag
	}
	s.Incomplete = s.SeedsUnanswered > 0 || s.EndedBy == EndedWaiting
	return s, nil
}

// endedByHosts is how a run ended that waits for hosts alone: by a budget if nothing else keeps any of them.
func (c *Crawl) endedByHosts(ctx context.Context) (string, error) {
	by, others := "", false
	err := status.EachHost(ctx, c.cfg.Frontier, 0, func(h frontier.Host) bool {
		switch {
		case h.Pending() == 0:
		case h.Condition == frontier.Retired && h.Reason == reasonMaxPerHost:
			by = cmp.Or(by, EndedMaxPerHost)
		case h.Condition == frontier.Retired && h.Reason == reasonMaxPerDomain:
			by = EndedMaxPerDomain
		default:
			others = true
		}
		return !others
	})
	if others || by == "" {
		by = EndedWaiting
	}
	return by, err
}
