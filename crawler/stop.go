package crawler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/hostrule"
)

// Grace is the time for exchanges under way after the last one begins (politeness rule 25). Then they are cut: the
// bytes received so far are archived, and the URL stays pending.
const Grace = 10 * time.Second

// The causes of cut exchanges. errStopped does not concern the host, errCrowded counts as its failure.
var (
	errStopped = &fetch.Failure{Class: fetch.Stopped, Err: errors.New("the crawl ended")}
	errCrowded = &fetch.Failure{Class: fetch.Timeout, Err: fmt.Errorf("%w, and others waited", fetch.ErrSlow)}
)

// stopper ends a run: no exchange begins, and after Grace those under way are cut.
type stopper struct {
	draining context.Context // done when no new exchange may begin
	drain    context.CancelCauseFunc
	stopping context.Context // done Grace after draining, when exchanges are cut
	stop     context.CancelFunc

	member frontier.Member // nil if the frontier is not shared

	interrupted atomic.Bool // the run was asked to end

	mu      sync.Mutex
	going   context.Context // done when no turn may be claimed: draining, or a pause
	pause   context.CancelFunc
	holds   hold          // the pauses in force
	resumed chan struct{} // closed at the end of a pause; nil without one
}

// hold is a reason for a pause: the operator, or Config.Window.
type hold uint8

const (
	byOperator hold = 1 << iota
	byWindow
)

// How long a shared frontier may take to commit the rest after the first request to end, and after the second.
const (
	patienceInDrain = 10 * time.Second
	patienceInAbort = time.Second
)

func newStopper() *stopper {
	e := &stopper{}
	e.draining, e.drain = context.WithCancelCause(context.Background())
	e.stopping, e.stop = context.WithCancel(context.Background())
	e.going, e.pause = context.WithCancel(e.draining)
	return e
}

// hold begins or ends a pause, in which no turn is claimed. Exchanges under way continue.
func (c *stopper) hold(by hold, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds &^= by; on {
		c.holds |= by
	}
	switch {
	case c.holds != 0 && c.resumed == nil:
		c.pause()
		c.resumed = make(chan struct{})
	case c.holds == 0 && c.resumed != nil:
		c.going, c.pause = context.WithCancel(c.draining)
		close(c.resumed)
		c.resumed = nil
	}
}

// nudge restarts waiting claims, so that they check the budgets again.
func (c *stopper) nudge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resumed == nil {
		c.pause()
		c.going, c.pause = context.WithCancel(c.draining)
	}
}

func (c *stopper) endOutside(l windowLeft, missed bool) {
	switch {
	case missed:
		c.end(EndedWaiting)
	case l.Queued == 0:
		c.end(EndedDrained)
	default:
		c.end(l.Spent)
	}
}

// left implements windowGate.Left for a run.
func (c *Config) left(b *budget.Tickets) func(context.Context) (windowLeft, error) {
	return func(ctx context.Context) (windowLeft, error) {
		st, err := c.Frontier.Stats(ctx)
		return windowLeft{InFlight: st.InFlight, Queued: st.Queued + st.Deferred, Spent: b.Spent()}, err
	}
}

// paused reports whether the operator pauses the run.
func (c *stopper) paused() bool { return c.held()&byOperator != 0 }

func (c *stopper) held() hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holds
}

// mayClaim waits for the end of a pause, and returns the context for claims, which is over when the run ends.
func (c *stopper) mayClaim(ctx context.Context) context.Context {
	for {
		c.mu.Lock()
		going, resumed := c.going, c.resumed
		c.mu.Unlock()
		if resumed == nil {
			return going
		}
		select {
		case <-resumed:
		case <-c.draining.Done():
			return c.draining
		case <-ctx.Done():
			return ctx
		}
	}
}

// stopAfterGrace cuts the exchanges after Grace, unless the run ends first.
func (c *stopper) stopAfterGrace(over <-chan struct{}) error {
	defer c.stop()
	select {
	case <-c.draining.Done():
	case <-over:
		return nil
	}
	grace := time.NewTimer(Grace)
	defer grace.Stop()
	select {
	case <-grace.C:
	case <-over:
	}
	return nil
}

// abortable returns a context that ends with ctx, with the cause that cuts exchanges as Grace does. Call release after the run.
func (c *stopper) abortable(ctx context.Context) (whole context.Context, release func()) {
	whole, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	unwatch := context.AfterFunc(ctx, func() {
		c.interrupt()
		cut(errStopped)
		if c.member != nil {
			c.member.Hurry(patienceInAbort)
		}
	})
	return whole, func() {
		unwatch()
		cut(nil)
	}
}

// inFlight returns the meter of an exchange and its context, which ends early after Grace, when others need its slot, or when the
// member may not send requests. Call end after the exchange.
func (c *stopper) inFlight(ctx context.Context, a canon.Authority, seat *record.Slot) (flying context.Context, m *fetch.Meter, end func()) {
	flying, cancel := context.WithCancelCause(ctx)
	m = &fetch.Meter{}
	landed := seat.Begin(a, m, func() { cancel(errCrowded) })
	stopping, done := c.stopping, func() {}
	if c.member != nil {
		stopping, done = c.member.Asking(stopping)
	}
	unwatch := context.AfterFunc(stopping, func() { cancel(errStopped) })
	return flying, m, func() {
		unwatch()
		done()
		landed()
		cancel(nil)
	}
}

// dialled reports whether there was more than a lookup, so that the host may have noticed the exchange.
func dialled(ex *fetch.Exchange) bool { return ex.Addr.IsValid() || len(ex.Request) > 0 }

// outlasted reports whether the end of the lease cut an exchange.
func outlasted(ex *fetch.Exchange) bool { return stopped(ex) && errors.Is(ex.Failure, errLease) }

// stopped reports whether the end of the crawl or lease cut an exchange.
func stopped(ex *fetch.Exchange) bool { return ex.Failure != nil && ex.Failure.Class == fetch.Stopped }

// writeStopped records a cut exchange that is not for a task, after exchanged has counted it.
func (c *settler) writeStopped(ctx context.Context, v *visit, line storage.Line, ex *fetch.Exchange, exchanged func()) error {
	if !dialled(ex) {
		return nil
	}
	exchanged()
	line.Time, line.Reason = ex.End, host.Aborted
	v.noteRest(&line)
	e := record.Evidence{Exchange: ex}
	e.Describe(&line)
	_, err := c.record.Write(ctx, line, e)
	return err
}

// heedsRetryAfter reports whether Retry-After counts with the status of a cut exchange.
func heedsRetryAfter(ex *fetch.Exchange) bool {
	whole := *ex
	whole.Failure = nil
	a, _ := host.Classify(&whole)
	return host.ObeysRetryAfter(a, ex.Status)
}

// errShut means that no request may be sent: the window is closed, or another member may own the host.
var errShut = errors.New("crawler: outside of the window, or without the frontier's server")

// aMoment delays a turn that the end of the window interrupts; no turn is claimed before it opens.
const aMoment = time.Second

// windowGate pauses a run outside its window, or ends it. Set the exported fields before use.
type windowGate struct {
	Member  frontier.Member                               // nil if the frontier is not shared
	MaxWait time.Duration                                 // for an opening
	Dates   *record.Dates                                 // of the archive, which an audit checks, even if the clock was set back
	Hold    func(on bool)                                 // begins or ends the pause
	Left    func(ctx context.Context) (windowLeft, error) // the rest of the run
	End     func(l windowLeft, missed bool)               // ends it: no URL is pending, a budget is spent, or the opening is too far away
	Log     func(format string, args ...any)

	window atomic.Pointer[hostrule.Spans]
	moved  chan struct{} // has a value after Move

	busy   bool                      // there were exchanges at the last Look
	until  atomic.Pointer[time.Time] // the opening that the run waits for
	missed atomic.Pointer[time.Time] // the opening that the run ended instead of waiting for
}

// windowLeft describes the rest of a run.
type windowLeft struct {
	InFlight, Queued int64
	Spent            string // the budget that is used up; may be empty
}

func newWindowGate(w hostrule.Spans) *windowGate {
	s := &windowGate{moved: make(chan struct{}, 1)}
	s.window.Store(&w)
	return s
}

// Move sets another window, at once.
func (s *windowGate) Move(w hostrule.Spans) {
	s.window.Store(&w)
	select {
	case s.moved <- struct{}{}:
	default:
	}
}

func (s *windowGate) spans() hostrule.Spans { return *s.window.Load() }

func (s *windowGate) now() time.Time { return s.Dates.Of(time.Now()) }

// Open reports whether an exchange may begin now.
func (s *windowGate) Open() bool {
	w := s.spans()
	return (len(w) == 0 || w.Open(s.now())) && (s.Member == nil || s.Member.MayAsk() == nil)
}

// Within returns r with a last check before it is sent, after the waits for address and connection. Its error is errShut.
func (s *windowGate) Within(r fetch.Request) fetch.Request {
	if len(s.spans()) == 0 && s.Member == nil {
		return r
	}
	begin, begun := r.Begin, r.Begun
	r.Begin = func(ctx context.Context) error {
		if begin != nil {
			if err := begin(ctx); err != nil {
				return err
			}
		}
		if s.Open() {
			return nil
		}
		if begun != nil {
			begun() // it will not, so that others need not wait for it
		}
		return errShut
	}
	return r
}

// Keep calls Look when the window closes, opens or moves, and each minute, since a computer may sleep, until a channel is closed.
func (s *windowGate) Keep(ctx context.Context, over, draining <-chan struct{}) error {
	for {
		again := time.NewTimer(s.next())
		select {
		case <-again.C:
		case <-s.moved:
		case <-over:
		case <-draining:
		}
		again.Stop()
		select {
		case <-over:
			return nil
		case <-draining:
			return nil
		default:
		}
		if err := s.Look(ctx); err != nil {
			return err
		}
	}
}

func (s *windowGate) next() time.Duration {
	w, now, until := s.spans(), s.now(), s.until.Load()
	switch {
	case until != nil && s.busy:
		return aMoment
	case until == nil:
		at, ok := w.Closes(now)
		if !ok {
			return time.Hour
		}
		until = &at
	}
	return min(max(until.Sub(now), time.Millisecond), time.Minute)
}

// Look begins or ends the pause. When no exchange is under way, the run ends if no URL is queued, a budget is
// spent, or the next opening is too far away.
func (s *windowGate) Look(ctx context.Context) error {
	w := s.spans()
	if len(w) == 0 {
		return nil
	}
	now := s.now()
	at, ok := w.Opens(now)
	at = at.UTC()
	if ok && !at.After(now) {
		if s.Hold(false); s.until.Swap(nil) != nil {
			s.Log("within its window (%s): the crawl continues", w)
		}
		return nil
	}
	s.Hold(true)
	first := s.until.Swap(&at) == nil
	left, err := s.Left(ctx)
	if err != nil {
		return err
	}
	s.busy = left.InFlight > 0
	waits := ok && at.Sub(now) <= s.MaxWait
	if first && (s.busy || left.Queued > 0) {
		then := "continues at " + w.Clock(at)
		if !waits {
			then = "the crawl ends, because it opens at " + w.Clock(at) + ", later than --max-wait"
		}
		s.Log("outside its window (%s): no request starts; %s", w, then)
	}
	switch {
	case s.busy:
	case left.Queued == 0 || left.Spent != "":
		s.End(left, false)
	case !waits:
		s.missed.Store(&at)
		s.End(left, true)
	}
	return nil
}
