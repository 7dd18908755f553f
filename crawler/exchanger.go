package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
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

// hostLocks keeps other crawls of this user on this machine from talking to a host while we do, and keeps the pace
// between us and them (politeness rule 17). *hostlock.Locks is one.
type hostLocks interface {
	host.Locks
	// Take makes a ours and returns zero, or returns how long to wait before asking again. Should this process be killed,
	// others wait for pace from now.
	Take(a canon.Authority, pace time.Duration) (wait time.Duration, err error)
	// Release gives a up; nobody may take it before rest is over.
	Release(a canon.Authority, rest time.Duration) error
	// Rest tells others, and those that come after a kill, that a asked to be left alone from an instant on.
	Rest(a canon.Authority, end time.Time, w hostlock.Wish) error
	// Resting is what is left of the time for which a asked anybody to be left alone.
	Resting(a canon.Authority) (hostlock.Wish, error)
}

// errNotYet says that the exchange has to wait for its address, or for another crawl: the turn ends without one, its wait
// is noted, and nothing has happened to its tasks.
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
	patient    *atomic.Bool // something had to wait that was no fault of its host
}

// ask makes the turn's exchange. The error is errNotYet, or that of fetch.Fetcher.Do; even so the exchange may have begun.
//
// Config.Window, the hours that are set for the host, and Config.Daily may make it wait. A host of the operator's own is
// asked at once. Any other is looked up, its address picked, its lock taken, and its place taken in the queue before that
// address; then that address is dialled and no other. One that cannot be reached gives way to the next one, under the same
// lock, and the host counts as out of reach when none could be.
func (c *exchanger) ask(ctx context.Context, v *visit, r fetch.Request) (*fetch.Exchange, error) {
	if ex := c.notAsked(r.URL); ex != nil {
		return ex, nil
	}
	if !c.windowGate.Open() {
		return nil, c.later(v, aMoment, nil)
	}
	// By the dates that the archive has, so that an audit can tell, be the clock set back meanwhile.
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

// askNow is ask, whatever was asked of the host today.
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
		if len(among) == 0 { // a proxy looks the name up: no address has a pace that anybody here could keep
			return c.do(ctx, v, r)
		}
		r.Addr = c.chooser.Pick(a, among)
		wait, due := c.pacer.Take(a, r.Addr.Addr())
		if wait > 0 {
			return nil, c.later(v, wait, nil)
		}
		v.keptFor(due, c.cfg.IPDelay)
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
		if another := c.chooser.Used(a, r.Addr.Addr(), !unreached(ex), len(among)); !another || c.stopper.draining.Err() != nil {
			return ex, nil
		}
		if err := ex.Close(); err != nil {
			return nil, err
		}
	}
}

// do is fetch.Fetcher.Do, but that an exchange which was cut short counts for the pace, and that one which failed at a proxy
// waits, with all others, where that is the proxy's fault.
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

// proxied says what an exchange means for the proxy that it went through: for how long nothing is to be asked, or the error
// that ends the run.
func (c *exchanger) proxied(ex *fetch.Exchange) (wait time.Duration, err error) {
	if ex.Proxy == "" {
		return 0, nil
	}
	fault := proxyFault(ex)
	if fault == nil {
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

// proxyFault is why an exchange failed at a proxy; nil when it did not.
func proxyFault(ex *fetch.Exchange) (fault *fetch.Fault) {
	if ex.Failure != nil && ex.Failure.Class == fetch.Proxy {
		errors.As(ex.Failure, &fault)
	}
	return fault
}

// unreached reports whether no connection came about.
func unreached(ex *fetch.Exchange) bool {
	if ex.Failure == nil || len(ex.Request) > 0 {
		return false
	}
	class := ex.Failure.Class
	return class == fetch.Connect || class == fetch.NoRoute || class == fetch.Timeout
}

// later ends the turn for now.
func (c *exchanger) later(v *visit, wait time.Duration, err error) error {
	if err != nil {
		return err
	}
	v.rest.Wait = max(v.rest.Wait, wait)
	c.patient.Store(true)
	c.redirects.SkipOnce(v.turn.Authority)
	return errNotYet
}

// keptFor notes what the ledger says of the pace, when the host had to wait for its address until due: the time from the
// end of its own last exchange to that, or, before its first one, the pace of the address.
func (v *visit) keptFor(due time.Time, every time.Duration) {
	switch {
	case due.IsZero():
	case v.memory.LastEnd == 0:
		v.kept = host.Pace{Pause: every, By: storage.ByAddress}
	default:
		v.kept = v.kept.AtLeast(v.since(due), storage.ByAddress)
	}
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
	return c.resting(v) // under the lock nobody else can be asked for a rest
}

// resting returns what is left of the time for which the host asked another crawl or command of this user to be left alone, and
// has the host wait for it. What it asked this run for, the frontier knows.
func (c *exchanger) resting(v *visit) (wait time.Duration, err error) {
	if v.locks == nil {
		return 0, nil
	}
	wish, err := v.locks.Resting(v.turn.Authority)
	switch {
	case err != nil || wish.Wait == 0 || wish.Ours:
		return 0, err
	case wish.Wait < Floor: // a pause like any other
		return wish.Wait, nil
	}
	v.rest.Condition, v.rest.Reason = frontier.Parked, wish.String()
	if wish.Wait > host.Day {
		v.rest.Condition = frontier.Retired // politeness rule 11
	} else { // else it is said when the turn ends
		c.cfg.Log("%s: %s", v.turn.Authority.Origin(), v.rest.Reason)
	}
	return wish.Wait, nil
}

// AskedAnother reports whether reason says that a host asked another crawl or command of this user to leave it alone.
func AskedAnother(reason string) bool { return strings.HasPrefix(reason, hostlock.AskedAnother) }

// unlock gives the host's lock back, if the turn has it: others may have the host when our pace is over. It fails where others
// do not know what the host asked for.
func (c *exchanger) unlock(v *visit) error {
	if !v.locked {
		return v.untold
	}
	v.locked = false
	rest := time.Duration(0)
	if !v.end.IsZero() {
		rest = v.pace.Pause - time.Since(v.end)
	}
	return errors.Join(v.untold, c.cfg.HostLocks.Release(v.turn.Authority, rest))
}

// What follows decides whether a failure of a proxy is that of one host or of the proxy, and what a crawl does then. A
// crawl whose only way out is gone must not fail ten thousand URLs: it rests, all hosts alike, and ends when that does
// not help. What a proxy cannot do for one host alone is that host's failure, or the crawl would never end.
//
// It has no clock and makes no connection.

// How many hosts in a row, with no answer through the proxy in between, make a failure that of the proxy.
const (
	hostsOdd  = 3
	hostsSaid = 10
)

// The rests: the first one, doubled each time, and how many there are before the crawl ends: five minutes in all.
const (
	firstRest   = time.Second
	longestRest = time.Minute
	maxRests    = 10
)

// watch knows how a proxy has done. The zero value has seen nothing. Its methods may be called concurrently.
type watch struct {
	mu     sync.Mutex
	served bool // something has come through
	row    map[canon.Authority]bool
	rests  int
	began  time.Time // of the last rest
	until  time.Time // its end
}

// A Verdict is what a failure means.
type verdict uint8

// The verdicts.
const (
	ofHost     verdict = iota // it is that of the host
	resting                   // it is the proxy's: nothing is asked until Closed says so
	first                     // likewise, and this failure has begun the rest
	wayoutOver                // the proxy cannot be used: the crawl ends
)

// Closed is for how long nothing is to be asked.
func (w *watch) Closed(now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(0, w.until.Sub(now))
}

// Served notes that something came through the proxy.
func (w *watch) Served() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.served, w.row, w.rests, w.until = true, nil, 0, time.Time{}
}

// Failed notes that an exchange with a, begun at a time, failed at the proxy.
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
		return wayoutOver // whoever mistyped a proxy wants to know it now
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

// attempt is a task on its way through one exchange, and what that brought.
type attempt struct {
	task    frontier.Task      // as its exchange treats it: what somebody names as a sitemap is one
	found   frontier.Candidate // as it was found
	verdict robots.Verdict
	due     host.Pace // before the exchange
	slot    *record.Slot
	shape   bool // of its page is worth knowing

	own canon.Authority // that may be told who we are; zero for none

	before   before
	ex       *fetch.Exchange
	err      error
	panicked *panicked

	// reading, if not nil, yields the page as it is read while other exchanges are handled, or nil if it is to be read then.
	reading chan *digested
	read    *digested // what that brought
}

// before is the archived answer of a task, as its request has to do with it. The zero value is none.
type before struct {
	*record.Earlier
	conditional bool // the request was
}

// panicked is what a panic said, and where it was.
type panicked struct {
	value any
	stack []byte
}

// attempt begins the attempt at a task.
func (c *Crawl) attempt(v *visit, task frontier.Task, verdict robots.Verdict, slot *record.Slot) *attempt {
	return &attempt{
		task: c.bounds.asSitemap(v, task), found: task.Candidate, verdict: verdict, due: v.due(), slot: slot, shape: v.watched(task, c.cfg.Traps),
		own: v.trusted(),
	}
}

// exchange makes the exchange of an attempt, by way of do. Whatever becomes of it is for handle to say.
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
	// An exchange that the end of the lease's time cuts is one that was cut, as at the end of the crawl. Robots.txt and proofs
	// do without: what became of them is learned of what their errors say.
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

// readAhead waits until the page was read that an attempt brought, if that is read beside others.
func (x *attempt) readAhead() *digested {
	if x.reading != nil {
		x.read, x.reading = <-x.reading, nil
	}
	return x.read
}

// request is what to ask for in a turn of some width.
func (c *bounds) request(width int, task frontier.Task) fetch.Request {
	r := fetch.Request{URL: task.URL, MaxBody: c.cfg.MaxBody, Want: c.wanted(task), Lines: width}
	if task.Kind == frontier.KindMap {
		// Media types that are wanted or not are those of what is kept; and the beginning of one that is too large counts.
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

// maxLeaf is how many bytes are read of what is off the scope: all of most pages, which then can be asked for on condition.
const maxLeaf = 128 << 10

// isLeaf reports whether a task lies off the scope, and is asked for all the same: nothing is read of it.
func (c *bounds) isLeaf(task frontier.Task) bool {
	switch c.cfg.Scope.External {
	case "", scope.ExternalNone:
		return false
	}
	return c.scope.Load().Judge(InScope(task.Candidate)).Rule == scope.RuleExternal
}

// wanted looks at a head before its body is asked for.
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

// fetchNow makes an exchange in a slot, without a look at address or pace.
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

// errOutlasted ends a task's exchange with the time of its lease, so that what came until then is archived.
var errOutlasted = &fetch.Failure{Class: fetch.Stopped, Err: errLease}
