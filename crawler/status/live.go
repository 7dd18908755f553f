package status

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Pacing is the delay between two turns of a host, by the settings and the host's state.
type Pacing struct {
	Pace time.Duration // between two turns
	By   string        // its source
	Own  bool          // the operator's own host, which has no delay of its address
}

// Settings are the settings of a crawl that affect its duration.
type Settings struct {
	Workers int
	IPDelay time.Duration // between two starts at one address
	Pacing  func(h frontier.Host, memory *host.State) Pacing
	// Exchanges counts active exchanges; may be nil.
	Exchanges Exchanges
	Budget
}

type Exchanges interface {
	Exchanges() int64
	With(a canon.Authority) int64 // of one host
}

// Live is the status of a running crawl. It is safe for concurrent use.
type Live struct {
	frontier frontier.Reader
	settings Settings

	standing cached[standing]
	estimate cached[Estimate]
	sharing  cached[Sharing]
	waits    cached[Waits]
	table    cached[[]Row]

	began time.Time // of the run, for Budget.MaxTime

	mu      sync.Mutex
	longest longest
	curves  map[canon.Authority]*growthCurve
}

// longest is the host that takes longest, by Note.
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

// Status returns the status from the frontier. Data of single hosts may be some seconds old.
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
	s.Longest = slices.Clone(s.Longest) // others have the cached slice
	for i, q := range s.Longest {
		s.Longest[i].Pace = max(q.Pace, all.pause(q.Addr).Seconds())
	}
	return s, err
}

// Host returns a host of the frontier, with only active requests in flight.
func (l *Live) Host(ctx context.Context, a canon.Authority) (frontier.Host, bool, error) {
	h, ok, err := l.frontier.Host(ctx, a)
	if l.settings.Exchanges != nil {
		h.Queued, h.InFlight = underWay(h.Queued, h.InFlight, l.settings.Exchanges.With(a))
	}
	return h, ok, err
}

// underWay divides leased URLs into queued and active ones: a lease has several URLs, of which at most one is active.
func underWay(queued, leased, exchanges int64) (q, f int64) {
	f = min(leased, exchanges)
	return queued + leased - f, f
}

// Rebudget replaces the budget.
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

// Forget discards cached data of hosts, after an operator has changed them.
func (l *Live) Forget() {
	l.standing.forget()
	l.waits.forget()
	l.table.forget()
}

// Workers returns the maximum number of concurrent exchanges.
func (l *Live) Workers() int { return l.settings.Workers }

// Sharing returns which of the first hosts of the crawl share addresses.
func (l *Live) Sharing(ctx context.Context) (Sharing, error) {
	return l.sharing.get(ctx, l.findSharing)
}

// Note records the time for the pending URLs of a host. URLs may count twice, which makes the estimate longer.
func (l *Live) Note(a canon.Authority, need time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a == l.longest.authority || need > l.longest.need {
		l.longest = longest{a, need}
	}
}

// mostLooked bounds the hosts that a query of a running crawl examines, because examining a million would slow the crawl.
const mostLooked = 10_000

// cached keeps a result for fifty times as long as computing it took, so that frequent queries do not slow the crawl either.
type cached[T any] struct {
	turn chan struct{} // held while a goroutine computes or reads the result
	last *given[T]
}

type given[T any] struct {
	answer T
	at     time.Time
	took   time.Duration
}

func newCached[T any]() cached[T] {
	return cached[T]{turn: make(chan struct{}, 1), last: new(given[T])}
}

// forget discards the result.
func (l cached[T]) forget() {
	l.turn <- struct{}{} // holders always return it
	*l.last = given[T]{}
	<-l.turn
}

// get returns the cached result, or a new one from find.
func (l cached[T]) get(ctx context.Context, find func(context.Context) (T, error)) (T, error) {
	var none T
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	defer func() { <-l.turn }()
	begin := time.Now()
	if begin.Sub(l.last.at) < 50*l.last.took {
		return l.last.answer, nil
	}
	answer, err := find(ctx)
	if err != nil {
		return none, err
	}
	*l.last = given[T]{answer, time.Now(), time.Since(begin)}
	return answer, nil
}

// EachHost calls fn for the first most hosts, or all when most is zero, until it returns false.
func EachHost(ctx context.Context, f frontier.Reader, most int, fn func(frontier.Host) bool) error {
	const page = 10_000 // an engine may have no index in this order, and pay for each page with a walk over all hosts
	var after canon.Authority
	for n := 0; most == 0 || n < most; {
		limit := page
		if most > 0 {
			limit = min(page, most-n)
		}
		hosts, err := f.Hosts(ctx, after, limit)
		if err != nil || len(hosts) == 0 {
			return err
		}
		for _, h := range hosts {
			if !fn(h) {
				return nil
			}
		}
		n += len(hosts)
		if len(hosts) < limit {
			return nil
		}
		after = hosts[len(hosts)-1].Authority
	}
	return nil
}

// sharers are the hosts with pending URLs at one address, which share its delay (politeness rule 10).
type sharers struct {
	pending int64           // URLs
	paces   []time.Duration // of each host
}

// Sharing is which hosts share addresses.
type Sharing struct {
	every time.Duration // delay of an address
	at    map[netip.Prefix]*sharers
}

func (l *Live) findSharing(ctx context.Context) (Sharing, error) {
	all := newSharing(l.settings.IPDelay)
	err := EachHost(ctx, l.frontier, mostLooked, func(h frontier.Host) bool {
		n, err := host.Read(h.Memory)
		if p := l.settings.Pacing(h, &n); err == nil && !p.Own && !isResting(h, p.Pace) {
			all.add(n.Spot, h.Pending(), p.Pace)
		}
		return true
	})
	return all, err
}

func newSharing(every time.Duration) Sharing {
	return Sharing{every: every, at: map[netip.Prefix]*sharers{}}
}

// add adds a host, if it has pending URLs and a known address.
func (all *Sharing) add(addr netip.Prefix, pending int64, pace time.Duration) {
	if !addr.IsValid() || pending == 0 {
		return
	}
	x := all.at[addr]
	if x == nil {
		x = &sharers{}
		all.at[addr] = x
	}
	x.pending += pending
	x.paces = append(x.paces, pace)
}

// longest returns the shared address whose queue takes longest.
func (all Sharing) longest() (addr netip.Prefix, need time.Duration) {
	for s, x := range all.at {
		if d := time.Duration(x.pending) * all.every; len(x.paces) > 1 && (d > need || d == need && s.String() < addr.String()) {
			addr, need = s, d
		}
	}
	return addr, need
}

// pause returns the delay of a host at an address, if every other host there gets as many turns, or as many as its own delay
// allows; zero if the hosts' own delays leave turns unused.
func (all Sharing) pause(addr netip.Prefix) time.Duration {
	x := all.at[addr]
	if x == nil || all.every <= 0 {
		return 0
	}
	paces := slices.Sorted(slices.Values(x.paces))
	slices.Reverse(paces)
	left := 1 / all.every.Seconds() // starts a second
	for i, p := range paces {
		share := left / float64(len(paces)-i)
		if p <= 0 || 1/p.Seconds() > share*(1+1e-9) {
			return time.Duration(float64(time.Second) / share).Round(time.Microsecond)
		}
		left -= 1 / p.Seconds()
	}
	return 0
}

func (all Sharing) word(addr netip.Prefix) string {
	name := addr.String()
	if addr.IsSingleIP() {
		name = addr.Addr().String()
	}
	return fmt.Sprintf("%d hosts of %s", len(all.at[addr].paces), name)
}

// Term returns the delay that a shared address causes, with a description; false if it is not shared.
func (all Sharing) Term(addr netip.Prefix) (pause time.Duration, note string, ok bool) {
	pause = all.pause(addr)
	if pause == 0 || len(all.at[addr].paces) < 2 {
		return 0, "", false
	}
	return pause, fmt.Sprintf("one request in %v for the %s", all.every, all.word(addr)), true
}

// pacing returns Settings.Pacing, or the frontier's delay by default.
func (s Settings) pacing(h frontier.Host, memory *host.State) Pacing {
	if s.Pacing == nil {
		return Pacing{Pace: h.Pace}
	}
	return s.Pacing(h, memory)
}
