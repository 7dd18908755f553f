package crawler

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/crawler/record"
	"curtsy/frontier"
	"curtsy/storage/hostrule"
)

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
