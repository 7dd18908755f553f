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

// Grace is how long the exchanges under way may go on once no new one may begin (politeness rule 25). What is not over
// then is cut: archived as far as it came, and its URL stays pending.
const Grace = 10 * time.Second

// Why an exchange is ended from outside. The one says nothing of the host, the other counts as its failure.
var (
	errStopped = &fetch.Failure{Class: fetch.Stopped, Err: errors.New("the crawl ended")}
	errCrowded = &fetch.Failure{Class: fetch.Timeout, Err: fmt.Errorf("%w, and others waited", fetch.ErrSlow)}
)

// stopper ends a run: first no exchange is begun, and after Grace those under way are cut.
type stopper struct {
	draining context.Context // done when no new exchange may begin
	drain    context.CancelCauseFunc
	stopping context.Context // done when those under way are to end: Grace after draining
	stop     context.CancelFunc

	member frontier.Member // nil when the frontier is not shared

	interrupted atomic.Bool // somebody has asked for the end

	mu      sync.Mutex
	going   context.Context // done when no turn may be claimed: draining, or a pause
	pause   context.CancelFunc
	holds   hold          // who has the run pause
	resumed chan struct{} // closed when a pause ends; nil while there is none
}

// hold is who has a run pause: the operator, or Config.Window.
type hold uint8

const (
	byOperator hold = 1 << iota
	byWindow
)

// How long a shared frontier may take to commit what is left, once somebody asks for the end, and asks again.
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

// hold begins somebody's pause, or ends it: exchanges under way go on, and no turn is claimed while there is one.
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

// nudge has those who wait for a turn begin anew, so that each takes another look at the budgets.
func (c *stopper) nudge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resumed == nil {
		c.pause()
		c.going, c.pause = context.WithCancel(c.draining)
	}
}

// endOutside ends a run outside of its window, of which that is left.
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

// left returns what is left of the run, for a windowGate.
func (c *Config) left(b *budget.Tickets) func(context.Context) (windowLeft, error) {
	return func(ctx context.Context) (windowLeft, error) {
		st, err := c.Frontier.Stats(ctx)
		return windowLeft{InFlight: st.InFlight, Queued: st.Queued + st.Deferred, Spent: b.Spent()}, err
	}
}

// paused reports whether there is a pause of the operator's.
func (c *stopper) paused() bool { return c.held()&byOperator != 0 }

// held is who has the run pause now.
func (c *stopper) held() hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holds
}

// mayClaim waits for the end of a pause, if there is one, and returns the context within which a turn may be claimed. It is
// over at once when the run ends.
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

// stopAfterGrace ends what is under way when the grace is over, unless the run is first.
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

// abortable returns a context that is over when ctx is, for the reason that the crawl ended: what is under way then is cut as
// at the end of the grace. release is called when the run is over.
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

// inFlight returns the context of an exchange, which ends early when the grace is over, others need the place of a slow one or
// the member may send no more requests, and its meter. end is called when the exchange is over.
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

// dialled reports whether it came to more than a look-up: then the host may know of it, and its pace counts from there.
func dialled(ex *fetch.Exchange) bool { return ex.Addr.IsValid() || len(ex.Request) > 0 }

// outlasted reports whether the end of the lease's time cut an exchange short.
func outlasted(ex *fetch.Exchange) bool { return stopped(ex) && errors.Is(ex.Failure, errLease) }

// stopped reports whether the end of the crawl cut an exchange short: then nothing is decided by it.
func stopped(ex *fetch.Exchange) bool { return ex.Failure != nil && ex.Failure.Class == fetch.Stopped }

// writeStopped writes down what came, until the crawl ended, of an exchange that is no task's. Nothing is learned from it but
// what exchanged notes.
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

// heedsRetryAfter reports whether the head of an exchange that was cut off is of those with which Retry-After counts.
func heedsRetryAfter(ex *fetch.Exchange) bool {
	whole := *ex
	whole.Failure = nil
	a, _ := host.Classify(&whole)
	return host.ObeysRetryAfter(a, ex.Status)
}

// errShut says that no request may be sent any more: the window closed, or other members may own the host by now.
var errShut = errors.New("crawler: outside of the window, or without the frontier's server")

// aMoment is how long a turn is put off that the window's end came upon: no turn is claimed before it opens.
const aMoment = time.Second

// windowGate pauses a run outside its window, or ends it. Begin with newWindowGate, and set the fields before it is used.
type windowGate struct {
	Member  frontier.Member                               // nil when the frontier is not shared
	MaxWait time.Duration                                 // the longest that an opening is waited for
	Dates   *record.Dates                                 // of the archive, so that an audit can tell, be the clock set back meanwhile
	Hold    func(on bool)                                 // begins the pause, or ends it
	Left    func(ctx context.Context) (windowLeft, error) // what is left of the run
	End     func(l windowLeft, missed bool)               // ends it: nothing is left, a budget is spent, or the opening is too far away
	Log     func(format string, args ...any)

	window atomic.Pointer[hostrule.Spans]
	moved  chan struct{} // has a value after Move

	busy   bool // something was under way at the last look
	until  atomic.Pointer[time.Time]
	missed atomic.Pointer[time.Time]
}

// windowLeft is what is left of a run.
type windowLeft struct {
	InFlight, Queued int64
	Spent            string // the budget that is used up; empty for none
}

// newWindowGate returns the gate of a window; its fields are not set.
func newWindowGate(w hostrule.Spans) *windowGate {
	s := &windowGate{moved: make(chan struct{}, 1)}
	s.window.Store(&w)
	return s
}

// Move sets another window. It counts at once; Keep looks at it next.
func (s *windowGate) Move(w hostrule.Spans) {
	s.window.Store(&w)
	select {
	case s.moved <- struct{}{}:
	default:
	}
}

func (s *windowGate) spans() hostrule.Spans { return *s.window.Load() }

// Until is when the window opens that the run waits for; nil while it does not.
func (s *windowGate) Until() *time.Time { return s.until.Load() }

// Missed is when the window opens that the run ended instead of waiting for; nil for none.
func (s *windowGate) Missed() *time.Time { return s.missed.Load() }

func (s *windowGate) now() time.Time { return s.Dates.Of(time.Now()) }

// Open reports whether an exchange may begin now.
func (s *windowGate) Open() bool {
	w := s.spans()
	return (len(w) == 0 || w.Open(s.now())) && (s.Member == nil || s.Member.MayAsk() == nil)
}

// Within is r, sent within the window, and while the member may send requests, or not at all: an address may have been waited
// for, or a connection. The error is errShut then.
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
			begun() // it will not, and whoever waits for it goes on
		}
		return errShut
	}
	return r
}

// Keep looks again when the window closes, opens or moves, and each minute: a computer may sleep. It returns when one of the
// channels is closed.
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

// next is how long to wait for the next look.
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

// Look begins the pause or ends it. What is under way goes on; when that is over, the run ends if there is nothing to wait for, or
// the next opening is too far away.
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
		s.Log("outside its window (%s): no request starts; %s", w, afterClosing(w, waits, at))
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

// afterClosing is what comes after the window has closed.
func afterClosing(w hostrule.Spans, waits bool, at time.Time) string {
	if waits {
		return "continues at " + w.Clock(at)
	}
	return "the crawl ends, because it opens at " + w.Clock(at) + ", later than --max-wait"
}
