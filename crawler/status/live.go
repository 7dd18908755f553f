package status

import (
	"context"
	"sync"
	"time"

	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Pacing is how a crawl deals with a host between two turns, by its settings and by what is remembered of the host.
type Pacing struct {
	Pace time.Duration // between two turns
	By   string        // who asks for it
	Own  bool          // the host is the operator's own: it has no pace of its address
}

// Settings are those of a crawl that say how long it takes.
type Settings struct {
	Workers int
	IPDelay time.Duration // between two starts at one address
	Pacing  func(h frontier.Host, memory *host.State) Pacing
	Budget
}

// Live is the status of a crawl that runs. Its methods may be called concurrently.
type Live struct {
	frontier frontier.Reader
	settings Settings

	standing cached[standing]
	estimate cached[Estimate]
	sharing  cached[Sharing]
	waits    cached[Waits]
	table    cached[[]Row]

	began time.Time // with the run, of which Budget.MaxTime is the time

	mu      sync.Mutex
	longest longest
	curves  map[canon.Authority]*growthCurve
}

// longest is the host that takes longest to be done, of those that turns told of.
type longest struct {
	authority canon.Authority
	need      time.Duration
}

// NewLive returns the status of a crawl over f.
func NewLive(f frontier.Reader, s Settings) *Live {
	return &Live{
		frontier: f, settings: s, began: time.Now(),
		standing: newCached[standing](), estimate: newCached[Estimate](), sharing: newCached[Sharing](),
		waits: newCached[Waits](), table: newCached[[]Row](), curves: map[canon.Authority]*growthCurve{},
	}
}

// Status is the status as far as the frontier knows it. Its single hosts may be some seconds old.
func (l *Live) Status(ctx context.Context) (Status, error) {
	s, err := withoutHosts(ctx, l.frontier)
	if err != nil {
		return s, err
	}
	o, err := l.standing.get(ctx, func(ctx context.Context) (standing, error) { return standingOut(ctx, l.frontier) })
	if err != nil {
		return s, err
	}
	o.into(&s)
	all, err := l.Sharing(ctx)
	s.Longest = all.paced(s.Longest)
	return s, err
}

// Rebudget says that the budgets are others from now on.
func (l *Live) Rebudget(b Budget) {
	l.mu.Lock()
	l.settings.Budget = b
	l.mu.Unlock()
	l.estimate.forget()
}

func (l *Live) budget() Budget {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.settings.Budget
}

// Forget has the next Status look at the hosts anew: an operator has changed them.
func (l *Live) Forget() {
	l.standing.forget()
	l.waits.forget()
	l.table.forget()
}

// Workers is how many exchanges there may be at a time.
func (l *Live) Workers() int { return l.settings.Workers }

// Sharing says who shares addresses, among the first hosts of the crawl.
func (l *Live) Sharing(ctx context.Context) (Sharing, error) {
	return l.sharing.get(ctx, l.findSharing)
}

// Note takes in that the pending URLs of a host take so long. It may count some twice: the estimate errs towards the
// longer.
func (l *Live) Note(a canon.Authority, need time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a == l.longest.authority || need > l.longest.need {
		l.longest = longest{a, need}
	}
}
