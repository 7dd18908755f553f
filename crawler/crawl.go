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
	crew       chan struct{}   // one place for each working worker without a slow exchange
	buffers    resultPool
	live       *status.Live
	closings   closings

	unclean bool // the run before was killed
	rests   record.Rests
	carried record.Costs
	pages   record.Pages
	patient atomic.Bool // the run waits MaxWait even if no host has responded
	counted atomic.Bool // a turn of this run has counted it: see budget.Runs

	changing sync.Mutex // of Change

	reachable map[canon.Authority]bool // private addresses among the seeds
}

// claimTasks is the number of tasks of a turn: more than one, so that disallowed ones do not cost a turn each.
const claimTasks = 4

// The values of Summary.EndedBy. Budgets have their own names.
const (
	EndedDrained     = "drained"     // no URL is pending
	EndedWaiting     = "waiting"     // no URL is due within MaxWait
	EndedInterrupted = "interrupted" // asked to drain
	EndedMaxPages    = budget.MaxPages
	EndedMaxBytes    = budget.MaxBytes
	EndedMaxTime     = budget.MaxTime
	EndedMaxDBSize   = "max-db-size" // the frontier is as large as it may become
	EndedStopWhen    = "stop-when: " // and a condition of Config.StopWhen
)

// New prepares a run over a frontier that has the seeds.
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
	for s, err := range c.cfg.Frontier.AllSeeds(ctx) { // including the targets of their redirects
		if err != nil {
			return nil, err
		}
		if len(tags) < maxTags+2 { // the empty tag does not count
			tags[s.Tag] = true
		}
		c.scope.Load().Extend(s.URL)
		if a := s.URL.Authority(); s.From == "" && NotPublic(a) {
			c.reachable[a] = true
		}
	}
	delete(tags, "")
	c.cfg.tagged = len(tags) <= maxTags
	terms := c.cfg.terms()
	if err := terms.checkTags(c.cfg.tagged); err != nil {
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

// recover reads the lines that the ledger has beyond the frontier, and returns the totals with the cost of exchanges.
// Pages and bytes may also be missing after a clean end, if no turn of the last run could count them.
func (c *Crawl) recover(ctx context.Context, counts map[string]int64) (all map[string]int64, err error) {
	// In an update, hosts have responded before; in a fleet, perhaps to other members.
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
		if answered {
			c.patient.Store(true)
		}
	}
	if !c.unclean && c.cfg.MaxBytes == 0 {
		return c.carried.Recover(nil, counts)
	}
	return c.carried.Recover(c.cfg.Asked, counts)
}

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

type ended string

func (e ended) Error() string { return "the crawl ended: " + string(e) }

// Drain begins no further exchange and lets those under way finish, for Grace at most. It may be called at any time, and
// more than once.
func (c *Crawl) Drain() { c.stopper.interrupt() }

// Interrupted reports whether the run was asked to stop, also when it was ending for another reason.
func (c *Crawl) Interrupted() bool { return c.stopper.interrupted.Load() }

func (c *stopper) end(why string) { c.drain(ended(why)) }

func (c *stopper) interrupt() {
	c.interrupted.Store(true)
	c.end(EndedInterrupted)
	if c.member != nil {
		c.member.Hurry(patienceInDrain)
	}
}

// Run crawls until the end. Cancelling ctx aborts the exchanges under way, and archives the received bytes. An error is
// a failure of curtsy's own state; earlier results are kept.
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

	c.endIfMet() // by the pages of earlier runs
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
	c.stopper.end(EndedInterrupted) // after a failure the status must not show a running crawl
	rest := c.record.Flush(context.WithoutCancel(ctx))
	if err = cmp.Or(err, rest); err != nil { // the first failure is the cause
		return Summary{}, err
	}
	return c.summary(context.WithoutCancel(ctx))
}

// work takes turns until the end. There are more workers than Config.Workers: those with slow exchanges make room.
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

// workOnce takes one turn, and reports whether there may be more. leave makes room for another worker.
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
		return true, nil // a pause began during the claim
	case errors.Is(err, errEnd) || over(ctx, err) || over(c.stopper.draining, err):
		return false, nil
	default:
		c.stopper.end(EndedInterrupted)
		return false, err
	}
}

// over reports whether err only means that ctx is over.
func over(ctx context.Context, err error) bool { return ctx.Err() != nil && errors.Is(err, ctx.Err()) }

// maxWait is how long to wait for a turn. A crawl in which no host has responded ends soon, to report a mistyped seed.
func (c *Crawl) maxWait() time.Duration {
	if !c.budget.Answered() && !c.patient.Load() {
		return 2 * max(c.cfg.Delay, Floor)
	}
	return c.cfg.MaxWait
}

// Summary describes how a run ended.
type Summary struct {
	EndedBy string        `json:"ended_by"` // one of the Ended words, or the name of a budget
	Status  status.Status `json:"status"`

	// Incomplete means that something is missing without a budget of the user as its reason: a seed has no usable response,
	// or hosts are parked, refused or retired.
	Incomplete bool `json:"incomplete"`
	// SeedsUnanswered counts the seeds without a usable response, over all runs; Seeds names those of this run.
	SeedsUnanswered int64    `json:"seeds_unanswered"`
	Seeds           []string `json:"seeds,omitempty"`

	Failed []string   `json:"failed_urls,omitempty"` // of this run, with reasons, at most five; Status.Failed counts all
	Opens  *time.Time `json:"opens,omitempty"`       // the opening of the window that the run did not wait for; may be nil

	// Empty are pages of this run that are empty without JavaScript, at most five; Status.NotRead counts all.
	Empty []string `json:"empty_without_javascript,omitempty"`

	Manners Manners `json:"manners"`
}

// The values of Summary.EndedBy if only hosts, or held URLs, are left that have all pages of a budget.
const (
	EndedMaxPerHost   = budget.MaxPerHost
	EndedMaxPerDomain = budget.MaxPerDomain
	EndedMaxPerTag    = budget.MaxPerTag
)

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
	if s.EndedBy == EndedWaiting {
		if s.Status.Resting, err = status.Left(ctx, c.cfg.Frontier); err != nil {
			return s, err
		}
	}
	s.Opens = c.windowGate.missed.Load()
	s.Status.Elapsed = c.clock.Elapsed().Seconds()
	s.Status.Killed = false // in the frontier, it is about the run before
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
		s.EndedBy, s.Opens = EndedDrained, nil // the operator dropped the other URLs
	}
	if s.EndedBy == EndedDrained && c.cfg.terms().MaxPerTag > 0 && c.quotas.held.Load() {
		s.EndedBy = EndedMaxPerTag
	}
	s.Incomplete = s.SeedsUnanswered > 0 || s.EndedBy == EndedWaiting
	return s, nil
}

// endedByHosts returns how a run ended that only waits for hosts: by a budget if only that holds all of them.
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
