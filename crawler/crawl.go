package crawler

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"curtsy/crawler/address"
	"curtsy/crawler/budget"
	"curtsy/crawler/extract"
	"curtsy/crawler/gate"
	"curtsy/crawler/inflight"
	"curtsy/crawler/record"
	"curtsy/crawler/refusals"
	"curtsy/crawler/resultbuf"
	"curtsy/crawler/scope"
	"curtsy/crawler/seeds"
	"curtsy/crawler/status"
	"curtsy/crawler/steady"
	"curtsy/frontier/canon"
)

// Crawl is one run over a frontier. It is used once.
type Crawl struct {
	cfg       Config
	scope     *scope.Scope
	lined     *refusals.Recent // keys of refused URLs that have a line of the ledger
	record    *record.Writer
	gate      *gate.Gate
	redirects *gate.Redirects // of robots.txt to other hosts
	extract   *extract.Extractor
	rels      extract.Rels // of Config.FollowRel
	budget    *budget.Tickets
	clock     steady.Clock
	dates     *steady.Dates

	pacer    *address.Pacer
	toldBack sync.Once // that the clock was set back
	chooser  *address.Chooser
	patient  atomic.Bool // something had to wait that was no fault of its host

	run     uint64 // which run of the crawl this is, from 0
	unclean bool   // the run before was killed
	unheard map[canon.Authority]unheard
	carried carried

	room *inflight.Limiter // of the exchanges in flight
	crew chan struct{}     // one place for each worker that is at work and has no slow exchange

	readers inflight.CPU // of pages
	buffers resultbuf.Pool

	offScope string // the name of the rule that refuses what lies off the scope

	reachable map[canon.Authority]bool // addresses that are not public and that the run began with
	counted   atomic.Bool              // a turn of this run has counted it: see CountRuns

	draining context.Context // done when no new exchange may begin
	drain    context.CancelCauseFunc
	stopping context.Context // done when those under way are to end: Grace after draining
	stop     context.CancelFunc

	live *status.Live

	book *seeds.Book
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
)

// New prepares a run. The frontier holds the seeds already.
func New(ctx context.Context, cfg Config) (_ *Crawl, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Crawl{
		cfg: cfg.withDefaults(), extract: extract.New(), clock: steady.Start(), dates: steady.NewDates(),
		lined: refusals.NewRecent(), reachable: map[canon.Authority]bool{},
	}
	c.record = record.New(c.cfg.Recorder, c.cfg.Ledger, c.dates)
	if c.rels, err = extract.ParseRels(c.cfg.FollowRel); err != nil {
		return nil, err
	}
	c.cfg.Scope.Sitemaps = c.cfg.Sitemaps.any()
	if c.scope, err = scope.New(c.cfg.Scope, nil); err != nil {
		return nil, err
	}
	for s, err := range c.cfg.Frontier.AllSeeds(ctx) { // those that seeds redirected to among them
		if err != nil {
			return nil, err
		}
		c.scope.Extend(s.URL)
		if a := s.URL.Authority(); s.From == "" && notPublic(a) {
			c.reachable[a] = true
		}
	}
	rules := c.scope.Rules()
	c.offScope = rules[len(rules)-1]
	before, err := c.cfg.Frontier.Stats(ctx)
	if err != nil {
		return nil, err
	}
	c.run, c.unclean = uint64(before.Restarts), before.Unclean
	c.patient.Store(cfg.Past != nil) // of an update, hosts have answered before
	if c.unheard, err = c.readUnheard(); err != nil {
		return nil, err
	}
	if err := c.askForMaps(ctx); err != nil {
		return nil, err
	}
	all, only, err := c.uncounted(before.Counts)
	if err != nil {
		return nil, err
	}
	c.carried.counts = only
	c.book = seeds.NewBook(before.Counts)
	c.redirects, c.gate = gate.NewRedirects(), c.cfg.Gate()
	c.budget = budget.New(c.cfg.MaxPages, c.cfg.MaxBytes, all, func() { c.room.Press(budget.PressAfter) })
	c.live = c.cfg.newLive()
	c.pacer, c.chooser = address.NewPacer(c.cfg.IPDelay, c.cfg.HostLocks), address.NewChooser()
	c.room, c.crew = inflight.New(c.cfg.Workers), make(chan struct{}, c.cfg.Workers)
	c.readers = inflight.NewCPU()
	c.draining, c.drain = context.WithCancelCause(context.Background())
	c.stopping, c.stop = context.WithCancel(context.Background())
	return c, nil
}

// ended is the cause with which draining is cancelled.
type ended string

func (e ended) Error() string { return "the crawl ended: " + string(e) }

// Drain lets the exchanges under way finish, for Grace at most, and begins no other. It may be called at any time, more
// than once; the first reason stands.
func (c *Crawl) Drain() { c.end(EndedInterrupted) }

func (c *Crawl) end(why string) { c.drain(ended(why)) }

// Run crawls until the end and says how it ended. Cancelling ctx aborts the exchanges under way, which are archived as far
// as they came, as those are that the end of the grace cuts; an error is a failure of our own state, and what was finished
// before it is kept.
func (c *Crawl) Run(ctx context.Context) (Summary, error) {
	if err := c.cfg.Ledger.Begin(context.WithoutCancel(ctx)); err != nil {
		return Summary{}, err
	}
	if c.cfg.MaxTime > 0 {
		stop := time.AfterFunc(c.cfg.MaxTime, func() { c.end(EndedMaxTime) })
		defer stop.Stop()
	}
	ctx, release := c.abortable(ctx)
	defer release()
	over := make(chan struct{})
	var beside errgroup.Group
	beside.Go(func() error { return c.stopAfterGrace(over) })

	g, gctx := errgroup.WithContext(ctx)
	for range c.room.Most() {
		g.Go(func() error { return c.work(gctx) })
	}
	beside.Go(func() error {
		err := c.record.SyncIdle(context.WithoutCancel(ctx), over)
		if err != nil {
			c.end(EndedInterrupted)
		}
		return err
	})
	err := g.Wait()
	close(over)
	err = cmp.Or(err, beside.Wait())
	c.end(EndedInterrupted) // a failure: those who ask later must not see a crawl that goes on
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
		case <-c.draining.Done():
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
	switch why := c.budget.Take(c.draining); {
	case why != "":
		c.end(why)
		return false, nil
	case c.draining.Err() != nil || ctx.Err() != nil:
		return false, nil
	}
	pages, err := c.oneTurn(ctx, leave)
	c.budget.Give(pages)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, errEnd) || over(ctx, err) || over(c.draining, err):
		return false, nil
	default:
		c.end(EndedInterrupted)
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
