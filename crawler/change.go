package crawler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/scope"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage/hostrule"
)

// Terms are the settings that an operator may change while a run goes on, as Config has them. Whoever needs one asks for
// it when it is needed, and keeps none.
type Terms struct {
	MaxPages, MaxPerHost, MaxPerDomain, MaxPerTag, MaxBytes int64
	MaxTime                                                 time.Duration
	StopWhen                                                []budget.Condition
	Window                                                  hostrule.Spans
	Hosts                                                   hostrule.Rules
	Include, Exclude                                        []string // of Config.Scope
}

// terms are those in force.
func (c *Config) terms() Terms {
	if c.changed != nil {
		if t := c.changed.Load(); t != nil {
			return *t
		}
	}
	return Terms{
		MaxPages: c.MaxPages, MaxPerHost: c.MaxPerHost, MaxPerDomain: c.MaxPerDomain, MaxPerTag: c.MaxPerTag,
		MaxBytes: c.MaxBytes, MaxTime: c.MaxTime, StopWhen: c.StopWhen, Window: c.Window,
		Hosts: c.Hosts, Include: c.Scope.Include, Exclude: c.Scope.Exclude,
	}
}

// ErrLessPolite refuses a change that would have hosts asked more often.
var ErrLessPolite = errors.New("politeness can be raised, never lowered, while a crawl runs")

// check refuses what is no change of t.
func (t *Terms) check(next *Terms) error {
	if min(next.MaxPages, next.MaxPerHost, next.MaxPerDomain, next.MaxPerTag, next.MaxBytes, int64(next.MaxTime)) < 0 {
		return errors.New("crawler: a budget is negative; zero is for no limit")
	}
	if !next.Window.Within(t.Window, time.Now()) {
		return fmt.Errorf("crawler: a window of %s is open when one of %s is not: %w", cmp.Or(next.Window.String(), hostrule.NoWindow), t.Window, ErrLessPolite)
	}
	for i, was := range t.Hosts { // a rule only asks for more consideration: none may go or shrink, and further ones may come
		if i >= len(next.Hosts) {
			return fmt.Errorf("crawler: [[host]] %d would go: %w", i+1, ErrLessPolite)
		}
		is := next.Hosts[i]
		if is.Delay < was.Delay {
			return fmt.Errorf("crawler: a delay of %v for %s is less than %v: %w", is.Delay, is.Match, was.Delay, ErrLessPolite)
		}
		if is.Delay = was.Delay; !is.Equal(was) {
			return fmt.Errorf("crawler: [[host]] %d would be another: %w", i+1, ErrLessPolite)
		}
	}
	if err := next.Hosts.Check(Floor); err != nil {
		return fmt.Errorf("crawler: %w", err)
	}
	return nil
}

// Check refuses what Change would.
func (c *Crawl) Check(next Terms) error {
	was := c.cfg.terms()
	return cmp.Or(was.check(&next), next.checkTags(c.cfg.tagged))
}

// Change has other terms hold from now on. What is queued and lies outside of a narrower scope is closed when its turn
// comes, before anybody is asked, with its line in the ledger; a page under way is finished. A host that was left
// alone because it, or its domain, had all its pages gets turns again if there may be more now, and what was held because
// its tag had is queued again. A budget of domains that is the first of the run may count pages of turns under way twice, or
// not at all.
func (c *Crawl) Change(ctx context.Context, next Terms) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	was := c.cfg.terms()
	if err := c.Check(next); err != nil {
		return err
	}
	narrowed, err := c.scope.Load().With(next.Include, next.Exclude)
	if err != nil {
		return err
	}
	if err := c.quotas.change(ctx, c.cfg.Frontier, &next); err != nil {
		return err
	}
	next.Hosts = slices.Clone(next.Hosts)
	c.cfg.changed.Store(&next)
	c.scope.Store(narrowed)
	c.budget.Limit(next.MaxPages, next.MaxBytes)
	if next.MaxTime != was.MaxTime {
		c.limit.move(next.MaxTime)
	}
	if !slices.Equal(next.Window.Texts(), was.Window.Texts()) {
		c.windowGate.Move(next.Window)
	}
	if rises(was.MaxPerTag, next.MaxPerTag) {
		c.quotas.held.Store(false)
	}
	err = Reopen(ctx, c.cfg.Frontier, was, next)
	c.live.Rebudget(next.budget())
	c.endIfMet()
	c.stopper.nudge()
	c.live.Forget()
	return err
}

// budget is what of the terms an estimate reckons with.
func (t *Terms) budget() status.Budget {
	return status.Budget{MaxPages: t.MaxPages, MaxPerHost: t.MaxPerHost, MaxBytes: t.MaxBytes, MaxTime: t.MaxTime, Window: t.Window}
}

// rises reports whether a budget, of which zero is none, becomes a larger one.
func rises(was, is int64) bool { return was > 0 && (is == 0 || is > was) }

// Reopen opens what a budget had closed that becomes larger: hosts that had all their pages, and URLs whose tag had.
func Reopen(ctx context.Context, f frontier.Frontier, was, is Terms) error {
	larger := map[string]bool{
		reasonMaxPerHost: rises(was.MaxPerHost, is.MaxPerHost), reasonMaxPerDomain: rises(was.MaxPerDomain, is.MaxPerDomain),
	}
	var err error
	if rises(was.MaxPerTag, is.MaxPerTag) {
		_, err = f.Retry(ctx, frontier.Retrial{Outcome: frontier.Held, Reason: reasonMaxPerTag})
	}
	if err != nil || !larger[reasonMaxPerHost] && !larger[reasonMaxPerDomain] {
		return err
	}
	var all []canon.Authority
	err = status.EachHost(ctx, f, 0, func(h frontier.Host) bool {
		if h.Condition == frontier.Retired && larger[h.Reason] && h.Hold.Act == 0 {
			all = append(all, h.Authority)
		}
		return true
	})
	for _, a := range all {
		if err == nil {
			_, err = f.Steer(ctx, frontier.Steering{Act: frontier.Resume, Authority: a})
		}
	}
	return err
}

// area is the scope in force.
type area struct{ atomic.Pointer[scope.Scope] }

func newArea(c scope.Config) (*area, error) {
	s, err := scope.New(c, nil)
	if err != nil {
		return nil, err
	}
	a := &area{}
	a.Store(s)
	return a, nil
}

// timeLimit ends a run that lasts too long. The zero value has not begun.
type timeLimit struct {
	mu    sync.Mutex
	began time.Time
	timer *time.Timer
	over  func()
}

// begin calls over when most has passed; zero is for no limit.
func (l *timeLimit) begin(most time.Duration, over func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began, l.over = time.Now(), over
	l.set(most)
}

// move sets another limit, which counts from the beginning, too.
func (l *timeLimit) move(most time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(most)
}

// set is move; called with mu held.
func (l *timeLimit) set(most time.Duration) {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	if most > 0 && l.over != nil {
		l.timer = time.AfterFunc(most-time.Since(l.began), l.over)
	}
}

// end has no limit end the run any more, be it moved at the same time.
func (l *timeLimit) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = nil
	l.set(0)
}
