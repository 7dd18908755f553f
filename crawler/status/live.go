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
	// Exchanges counts those under way; nil for none.
	Exchanges Exchanges
	Budget
}

// Exchanges counts the exchanges that are under way.
type Exchanges interface {
	Exchanges() int64
	With(a canon.Authority) int64 // with one host
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
	if l.settings.Exchanges != nil {
		s.Queued, s.InFlight = underWay(s.Queued, s.InFlight, l.settings.Exchanges.Exchanges())
	}
	all, err := l.Sharing(ctx)
	s.Longest = all.paced(s.Longest)
	return s, err
}

// Host is what the frontier keeps of a host. Its URLs in flight are those that are being requested.
func (l *Live) Host(ctx context.Context, a canon.Authority) (frontier.Host, bool, error) {
	h, ok, err := l.frontier.Host(ctx, a)
	if l.settings.Exchanges != nil {
		h.Queued, h.InFlight = underWay(h.Queued, h.InFlight, l.settings.Exchanges.With(a))
	}
	return h, ok, err
}

// underWay divides leased URLs into queued ones and those in flight: a lease takes several URLs from the queue, of which the
// exchanges under way have one each.
func underWay(queued, leased, exchanges int64) (q, f int64) {
	f = min(leased, exchanges)
	return queued + leased - f, f
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
