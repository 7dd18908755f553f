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

// mostLooked is how many hosts a question about a running crawl looks at. Going through all of a million takes the
// frontier's time from the crawl; a crawl of so many hosts has more of each kind than anybody reads.
const mostLooked = 10_000

// cached keeps the answer to such a question, so that asking often does not cost the crawl either: an answer is given
// again until fifty times as long has passed as it took to find.
type cached[T any] struct {
	turn chan struct{} // holds a token while somebody finds or reads the answer
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

// forget has the next question answered anew: what it is about has just been changed by whoever will ask.
func (l cached[T]) forget() {
	l.turn <- struct{}{} // whoever holds it gives it back, cancelled or not
	*l.last = given[T]{}
	<-l.turn
}

// get returns the answer that is kept, or the one that find gives now.
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

// sharers are what is known of the hosts at one address that have something pending: they share its pace (politeness rule 10).
type sharers struct {
	pending int64           // URLs
	paces   []time.Duration // of the hosts, each for itself
}

// Sharing says who shares each address.
type Sharing struct {
	every time.Duration // between two starts at one address
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

// add takes in a host. One that has nothing pending, or whose address is not known, shares none.
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

// longest is the address that takes longest until all that is pending there has had its start.
func (all Sharing) longest() (addr netip.Prefix, need time.Duration) {
	for s, x := range all.at {
		if d := time.Duration(x.pending) * all.every; len(x.paces) > 1 && (d > need || d == need && s.String() < addr.String()) {
			addr, need = s, d
		}
	}
	return addr, need
}

// pause is the time between two turns of a host at an address where each other host gets as many as it, or as its own pace
// lets it have; zero where the hosts' own paces leave turns over.
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

// paced are the queues with the paces that the hosts' addresses leave to them.
func (all Sharing) paced(queues []Queue) []Queue {
	queues = slices.Clone(queues) // who asked at the same time has them, too
	for i, q := range queues {
		queues[i].Pace = max(q.Pace, all.pause(q.Addr).Seconds())
	}
	return queues
}

// word names the hosts at an address.
func (all Sharing) word(addr netip.Prefix) string {
	name := addr.String()
	if addr.IsSingleIP() {
		name = addr.Addr().String()
	}
	return fmt.Sprintf("%d hosts of %s", len(all.at[addr].paces), name)
}

// Term is the pause that an address asks of the hosts that share it, with how it comes about; false where nothing is to
// share.
func (all Sharing) Term(addr netip.Prefix) (pause time.Duration, note string, ok bool) {
	pause = all.pause(addr)
	if pause == 0 || len(all.at[addr].paces) < 2 {
		return 0, "", false
	}
	return pause, fmt.Sprintf("one request in %v for the %s", all.every, all.word(addr)), true
}

// pacing is Settings.Pacing, or what the frontier itself has where nobody says more.
func (s Settings) pacing(h frontier.Host, memory *host.State) Pacing {
	if s.Pacing == nil {
		return Pacing{Pace: h.Pace}
	}
	return s.Pacing(h, memory)
}
