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

// Terms are the settings of Config that the operator may change during a run. Read them when needed, and keep no copy.
type Terms struct {
	MaxPages, MaxPerHost, MaxPerDomain, MaxPerTag, MaxBytes int64
	MaxTime                                                 time.Duration
	StopWhen                                                []budget.Condition
	Window                                                  hostrule.Spans
	Hosts                                                   hostrule.Rules
	Include, Exclude                                        []string // of Config.Scope
}

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

// ErrLessPolite rejects a change that would allow more requests to a host.
var ErrLessPolite = errors.New("politeness can be raised, never lowered, while a crawl runs")

func (t *Terms) check(next *Terms) error {
	if min(next.MaxPages, next.MaxPerHost, next.MaxPerDomain, next.MaxPerTag, next.MaxBytes, int64(next.MaxTime)) < 0 {
		return errors.New("crawler: a budget is negative; zero is for no limit")
	}
	if !next.Window.Within(t.Window, time.Now()) {
		return fmt.Errorf("crawler: a window of %s is open when one of %s is not: %w", cmp.Or(next.Window.String(), hostrule.NoWindow), t.Window, ErrLessPolite)
	}
	for i, was := range t.Hosts { // rules only restrict: they may be added, none removed or relaxed
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

// Check returns the error with which Change would reject next.
func (c *Crawl) Check(next Terms) error {
	was := c.cfg.terms()
	return cmp.Or(was.check(&next), next.checkTags(c.cfg.tagged))
}

// Change sets the terms from now on. Queued URLs outside a narrower scope are closed when their turn comes, with a line in
// the ledger; a page under way is finished. Hosts and URLs that a budget had closed are opened if it becomes larger. The
// first budget of domains in a run may count pages of turns under way twice, or not at all.
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

func (t *Terms) budget() status.Budget {
	return status.Budget{MaxPages: t.MaxPages, MaxPerHost: t.MaxPerHost, MaxBytes: t.MaxBytes, MaxTime: t.MaxTime, Window: t.Window}
}

// rises reports whether a budget becomes larger; zero is unlimited.
func rises(was, is int64) bool { return was > 0 && (is == 0 || is > was) }

// Reopen opens the hosts, and the URLs of tags, that had all the pages of a budget which becomes larger.
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

// begin calls over when most has passed; zero means no limit.
func (l *timeLimit) begin(most time.Duration, over func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began, l.over = time.Now(), over
	l.set(most)
}

// move sets another limit, which also counts from the beginning.
func (l *timeLimit) move(most time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(most)
}

// set is move with mu held.
func (l *timeLimit) set(most time.Duration) {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	if most > 0 && l.over != nil {
		l.timer = time.AfterFunc(most-time.Since(l.began), l.over)
	}
}

// end cancels the limit for good, also if it is moved at the same time.
func (l *timeLimit) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = nil
	l.set(0)
}
