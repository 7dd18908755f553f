package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/crawler/found"
	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/crawler/hostlock"
	"curtsy/crawler/record"
	"curtsy/crawler/scope"
	"curtsy/crawler/sitemap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/mediatype"
)

// hostLocks keep the crawls of one user on one machine from a host at the same time, and keep its delay between them
// (politeness rule 17). *hostlock.Locks implements it.
type hostLocks interface {
	host.Locks
	// Take locks a and returns zero, or returns the time until the next try. After a kill of this process others wait for pace.
	Take(a canon.Authority, pace time.Duration) (wait time.Duration, err error)
	// Release unlocks a for others after rest.
	Release(a canon.Authority, rest time.Duration) error
	// Rest shares a back-off that a asked for, counted from end. It outlives a kill.
	Rest(a canon.Authority, end time.Time, w hostlock.Wish) error
	// Resting returns the rest of a back-off that a asked any process for.
	Resting(a canon.Authority) (hostlock.Wish, error)
}

// errNotYet means that the exchange has to wait: the turn ends without one, and its tasks are as they were.
var errNotYet = errors.New("crawler: the exchange has to wait")

// exchanger is the stage that makes exchanges, at the pace of addresses and behind the locks of hosts.
type exchanger struct {
	cfg        *Config
	pacer      *host.Pacer
	chooser    *host.Chooser
	dates      *record.Dates
	redirects  *gate.Redirects
	stopper    *stopper
	windowGate *windowGate
	outage     watch        // of the proxy
	patient    *atomic.Bool // of Crawl
}

// ask makes the turn's exchange. The error is errNotYet, or that of fetch.Fetcher.Do; even so the exchange may have begun.
//
// It waits for the window, the hours of the host and Config.Daily. For a third-party host it then takes the lock, picks an
// address, waits for its slot, and dials only that address. If that is unreachable, it tries the next one under the same lock.
func (c *exchanger) ask(ctx context.Context, v *visit, r fetch.Request) (*fetch.Exchange, error) {
	if ex := c.notAsked(r.URL); ex != nil {
		return ex, nil
	}
	if !c.windowGate.Open() {
		return nil, c.later(v, aMoment, nil)
	}
	// The dates of the archive, which an audit checks, even if the clock was set back.
	now := c.dates.Of(time.Now())
	if wait := v.set.Closed(now); wait > 0 {
		v.rest.Condition, v.rest.Reason = frontier.Parked, reasonHours
		return nil, c.later(v, wait, nil)
	}
	if wait := c.outage.Closed(time.Now()); wait > 0 && c.cfg.Proxied {
		return nil, c.later(v, wait, nil)
	}
	if c.cfg.Daily == nil {
		return c.askNow(ctx, v, r)
	}
	a := v.turn.Authority
	if wait := c.cfg.Daily.Take(a, now); wait > 0 {
		v.rest.Condition, v.rest.Reason = frontier.Parked, reasonPerDay
		return nil, c.later(v, wait, nil)
	}
	ex, err := c.askNow(ctx, v, r)
	if errors.Is(err, errNotYet) || err == nil && len(ex.Request) == 0 {
		c.cfg.Daily.Return(a, now)
	}
	return ex, err
}

// askNow is ask without its limits of time.
func (c *exchanger) askNow(ctx context.Context, v *visit, r fetch.Request) (*fetch.Exchange, error) {
	v.kept = v.due()
	ctx, meter, landed := c.stopper.inFlight(ctx, r.URL.Authority(), v.slot)
	defer landed()
	r.Meter = meter
	if v.own {
		if wait, err := c.resting(v); wait > 0 || err != nil {
			return nil, c.later(v, wait, err)
		}
		return c.do(ctx, v, r)
	}
	a := v.turn.Authority
	for {
		among, err := c.cfg.Fetcher.Addresses(ctx, a)
		var failure *fetch.Failure
		if errors.As(err, &failure) {
			return fetch.Unmade(r.URL, failure), nil
		}
		if err != nil {
			return nil, err
		}
		if wait, err := c.lock(v); wait > 0 || err != nil {
			return nil, c.later(v, wait, err)
		}
		if len(among) == 0 { // a proxy looks up the name: there is no address to pace
			return c.do(ctx, v, r)
		}
		r.Addr = c.chooser.Pick(a, among)
		wait, due := c.pacer.Take(a, r.Addr.Addr())
		if wait > 0 {
			return nil, c.later(v, wait, nil)
		}
		switch {
		case due.IsZero():
		case v.memory.LastEnd == 0:
			v.kept = host.Pace{Pause: c.cfg.IPDelay, By: storage.ByAddress}
		default:
			v.kept = v.kept.AtLeast(v.since(due), storage.ByAddress)
		}
		r.Begin = func(ctx context.Context) error { return c.pacer.Send(ctx, r.Addr.Addr()) }
		var shared error
		r.Begun = func() { shared = c.pacer.Sent(r.Addr.Addr()) }
		ex, err := c.do(ctx, v, r)
		switch {
		case err != nil:
			return nil, err
		case shared != nil:
			return nil, errors.Join(shared, ex.Close())
		}
		v.memory.Spot = host.Network(r.Addr.Addr())
		unreached := ex.Failure != nil && len(ex.Request) == 0 && slices.Contains([]fetch.Class{fetch.Connect, fetch.NoRoute, fetch.Timeout}, ex.Failure.Class)
		if another := c.chooser.Used(a, r.Addr.Addr(), !unreached, len(among)); !another || c.stopper.draining.Err() != nil {
			return ex, nil
		}
		if err := ex.Close(); err != nil {
			return nil, err
		}
	}
}

// do is fetch.Fetcher.Do, except that a cut exchange counts for the delay, and that one that failed because of the proxy waits.
func (c *exchanger) do(ctx context.Context, v *visit, r fetch.Request) (*fetch.Exchange, error) {
	ex, err := c.cfg.Fetcher.Do(ctx, c.windowGate.Within(r))
	if errors.Is(err, errShut) {
		return nil, c.later(v, aMoment, nil)
	}
	if err != nil {
		v.cut()
		return ex, err
	}
	wait, err := c.proxied(ex)
	if err == nil && wait <= 0 {
		return ex, nil
	}
	if err = errors.Join(err, ex.Close()); err != nil {
		return nil, err
	}
	return nil, c.later(v, wait, nil)
}

// proxied returns how long to send no requests because of the proxy, or the error that ends the run.
func (c *exchanger) proxied(ex *fetch.Exchange) (wait time.Duration, err error) {
	if ex.Proxy == "" {
		return 0, nil
	}
	var fault *fetch.Fault
	if ex.Failure == nil || ex.Failure.Class != fetch.Proxy || !errors.As(ex.Failure, &fault) {
		if len(ex.Request) > 0 {
			c.outage.Served()
		}
		return 0, nil
	}
	now := time.Now()
	switch c.outage.Failed(ex.URL.Authority(), fault.Kind, ex.Start, now) {
	case wayoutOver:
		return 0, fmt.Errorf("crawler: %w; the remaining URLs are unchanged: check the proxy, then continue with curtsy resume", fault)
	case first:
		wait = c.outage.Closed(now)
		c.cfg.Log("%v: no requests for %v", fault, wait)
		return wait, nil
	case resting:
		return max(c.outage.Closed(now), time.Millisecond), nil
	}
	return 0, nil
}

func (c *exchanger) later(v *visit, wait time.Duration, err error) error {
	if err != nil {
		return err
	}
	v.rest.Wait = max(v.rest.Wait, wait)
	c.patient.Store(true)
	c.redirects.SkipOnce(v.turn.Authority)
	return errNotYet
}

// lock takes the host's lock for the rest of the turn.
func (c *exchanger) lock(v *visit) (wait time.Duration, err error) {
	if c.cfg.HostLocks == nil || v.locked {
		return 0, nil
	}
	wait, err = c.cfg.HostLocks.Take(v.turn.Authority, v.pace.Pause)
	if v.locked = wait == 0 && err == nil; !v.locked {
		return wait, err
	}
	return c.resting(v) // under the lock, so that no other crawl can get a new back-off
}

// resting applies a back-off that the host asked another crawl or command of this user for, and returns the rest of it.
func (c *exchanger) resting(v *visit) (wait time.Duration, err error) {
	if v.locks == nil {
		return 0, nil
	}
	wish, err := v.locks.Resting(v.turn.Authority)
	switch {
	case err != nil || wish.Wait == 0 || wish.Ours:
		return 0, err
	case wish.Wait < Floor:
		return wish.Wait, nil
	}
	v.rest.Condition, v.rest.Reason = frontier.Parked, wish.String()
	if wish.Wait > host.Day {
		v.rest.Condition = frontier.Retired // politeness rule 11
	} else { // otherwise the end of the turn logs it
		c.cfg.Log("%s: %s", v.turn.Authority.Origin(), v.rest.Reason)
	}
	return wish.Wait, nil
}

// AskedAnother reports whether reason is a back-off that another crawl or command was asked for.
func AskedAnother(reason string) bool { return strings.HasPrefix(reason, hostlock.AskedAnother) }

// unlock releases the host's lock, if the turn has it. It fails if a back-off could not be shared with other crawls.
func (c *exchanger) unlock(v *visit) error {
	if !v.locked {
		return v.shareErr
	}
	v.locked = false
	rest := time.Duration(0)
	if !v.end.IsZero() {
		rest = v.pace.Pause - time.Since(v.end)
	}
	return errors.Join(v.shareErr, c.cfg.HostLocks.Release(v.turn.Authority, rest))
}

// How many hosts must fail in a row, without a response through the proxy in between, for the proxy to be at fault. While it
// is, the crawl waits instead of failing ten thousand URLs. A failure for one host is that host's, or the crawl would never end.
const (
	hostsOdd  = 3
	hostsSaid = 10
)

// The waits for a proxy double up to a maximum, and then end the crawl: five minutes in all.
const (
	firstRest   = time.Second
	longestRest = time.Minute
	maxRests    = 10
)

// watch follows the failures of a proxy. The zero value is ready, and its methods may be called concurrently.
type watch struct {
	mu     sync.Mutex
	served bool // something has come through
	row    map[canon.Authority]bool
	rests  int
	began  time.Time // of the last wait
	until  time.Time // its end
}

// verdict is the meaning of a failure at a proxy.
type verdict uint8

const (
	ofHost     verdict = iota // a failure of the host
	resting                   // of the proxy: send no requests while Closed
	first                     // of the proxy, and this failure began the wait
	wayoutOver                // the proxy is unusable: the crawl ends
)

// Closed returns how long to send no requests.
func (w *watch) Closed(now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(0, w.until.Sub(now))
}

func (w *watch) Served() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.served, w.row, w.rests, w.until = true, nil, 0, time.Time{}
}

func (w *watch) Failed(a canon.Authority, k fetch.Kind, began, now time.Time) verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.row == nil {
		w.row = map[canon.Authority]bool{}
	}
	w.row[a] = true
	switch {
	case k == fetch.Said && len(w.row) < hostsSaid, k == fetch.Odd && w.served && len(w.row) < hostsOdd:
		return ofHost
	case !w.served && k != fetch.Said:
		return wayoutOver // a mistyped proxy is reported at once
	case now.Before(w.until) || began.Before(w.began):
		return resting // of the same outage
	case w.rests >= maxRests:
		return wayoutOver
	}
	rest := firstRest
	for range w.rests {
		rest = min(2*rest, longestRest)
	}
	w.rests++
	w.began, w.until = now, now.Add(rest)
	return first
}

// attempt is a task with its exchange.
type attempt struct {
	task    frontier.Task      // as its exchange treats it: a URL named as a sitemap is one
	found   frontier.Candidate // as it was found
	verdict robots.Verdict
	due     host.Pace // before the exchange
	slot    *record.Slot
	shape   bool // digest the shape of its page

	own canon.Authority // that may get credentials; zero for none

	before   before
	ex       *fetch.Exchange
	err      error
	panicked *panicked

	reading chan *digested // if not nil, yields the page read ahead, or nil if it is to be read later
	read    *digested      // from reading
}

// before is the archived response of a task, if any.
type before struct {
	*record.Earlier
	conditional bool // the request was
}

// panicked is a panic with its stack.
type panicked struct {
	value any
	stack []byte
}

func (c *Crawl) attempt(v *visit, task frontier.Task, verdict robots.Verdict, slot *record.Slot) *attempt {
	x := &attempt{
		task: c.bounds.asSitemap(v, task), found: task.Candidate, verdict: verdict, due: v.due(), slot: slot, shape: v.watched(task, c.cfg.Traps),
	}
	if v.own { // only pages of own hosts get credentials (politeness rule 28)
		x.own = v.turn.Authority
	}
	return x
}

// exchange makes the exchange of an attempt by do, for handle to settle.
func (c *Crawl) exchange(ctx context.Context, width int, x *attempt, do func(context.Context, fetch.Request) (*fetch.Exchange, error)) {
	defer func() {
		if p := recover(); p != nil {
			x.panicked = &panicked{p, debug.Stack()}
		}
	}()
	r := c.bounds.request(width, x.task)
	r.Own = x.own
	if c.cfg.Past != nil {
		if x.before.Earlier, x.err = c.cfg.Past.Last(ctx, x.task.URL); x.err != nil {
			return
		}
		x.before.conditional = x.task.Reason != reasonUnexpected304 && x.before.Condition(&r)
	}
	// An exchange cut by the end of the lease is like one cut by the end of the crawl. Robots.txt and proofs report it as an error.
	within, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		why := context.Cause(ctx)
		if errors.Is(why, errLease) {
			why = errOutlasted
		}
		cancel(why)
	})()
	if x.ex, x.err = do(within, r); x.err != nil && over(within, x.err) && ctx.Err() != nil {
		x.err = ctx.Err()
	}
}

// readAhead waits for the reader of the page, if there is one.
func (x *attempt) readAhead() *digested {
	if x.reading != nil {
		x.read, x.reading = <-x.reading, nil
	}
	return x.read
}

func (c *bounds) request(width int, task frontier.Task) fetch.Request {
	r := fetch.Request{URL: task.URL, MaxBody: c.cfg.MaxBody, Want: c.wanted(task), Lines: width}
	if task.Kind == frontier.KindMap {
		// The operator's media types do not apply to sitemaps, and the beginning of a too large one counts.
		r.Accept, r.Want, r.Partial = sitemapAccept, nil, true
		if r.MaxBody == 0 || r.MaxBody > sitemap.MaxSize {
			r.MaxBody = sitemap.MaxSize
		}
	}
	if c.isLeaf(task) {
		r.Head = c.cfg.Scope.External == scope.ExternalHead && untried(task)
		r.Want, r.Partial = nil, true
		if r.MaxBody == 0 || r.MaxBody > maxLeaf {
			r.MaxBody = maxLeaf
		}
	}
	return r
}

// maxLeaf bounds the bytes of a leaf: all of most pages, for conditional requests later.
const maxLeaf = 128 << 10

// isLeaf reports whether a task off the scope is requested without reading its links.
func (c *bounds) isLeaf(task frontier.Task) bool {
	external := c.cfg.Scope.External
	return external != "" && external != scope.ExternalNone && c.scope.Load().Judge(InScope(task.Candidate)).Rule == scope.RuleExternal
}

// wanted returns the fetch.Request.Want of a task.
func (c *bounds) wanted(task frontier.Task) func(int, http.Header) string {
	return func(status int, h http.Header) string {
		if status < 200 || status > 299 || found.SeedChain(task.Candidate) {
			return ""
		}
		if ok, rule := c.scope.Load().AcceptType(mediatype.Value(h), task.URL.Path()); !ok {
			return rule
		}
		return ""
	}
}

// fetchNow makes an exchange in a slot without regard to address and delay.
func (c *exchanger) fetchNow(ctx context.Context, slot *record.Slot, r fetch.Request) (*fetch.Exchange, error) {
	if ex := c.notAsked(r.URL); ex != nil {
		return ex, nil
	}
	if !c.windowGate.Open() {
		return nil, errNotYet
	}
	ctx, meter, landed := c.stopper.inFlight(ctx, r.URL.Authority(), slot)
	defer landed()
	r.Meter = meter
	for {
		ex, err := c.cfg.Fetcher.Do(ctx, c.windowGate.Within(r))
		if errors.Is(err, errShut) {
			return nil, errNotYet
		}
		if err != nil {
			return ex, err
		}
		wait, err := c.proxied(ex)
		if err == nil && wait <= 0 {
			return ex, nil
		}
		if err = errors.Join(err, ex.Close()); err != nil {
			return nil, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// errOutlasted cuts an exchange at the end of its lease, so that the received bytes are archived.
var errOutlasted = &fetch.Failure{Class: fetch.Stopped, Err: errLease}
