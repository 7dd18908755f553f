package crawler

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"time"

	"curtsy/crawler/explain"
	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/crawler/scope"
	"curtsy/crawler/status"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
)

// Status is the state of this run. It may be asked for often: single hosts in it may be some seconds old.
func (c *Crawl) Status(ctx context.Context) (status.Status, error) {
	s, err := c.live.Status(ctx)
	if err != nil {
		return s, err
	}
	if !c.counted.Load() {
		s.Runs++
	}
	c.addUncounted(&s)
	s.LimitedByIP = c.exchanger.pacer.Waiting()
	s.Elapsed = c.clock.Elapsed().Seconds()
	s.State, s.Killed = "running", false
	if s.Opens = c.windowGate.Until(); s.Opens != nil {
		s.State = status.OutsideWindow
	}
	if c.stopper.paused() {
		s.State = "paused"
	}
	if c.stopper.draining.Err() != nil {
		s.State = "draining"
	}
	return s, err
}

// addUncounted adds what the frontier does not count, because no turn was finished that could.
func (c *Crawl) addUncounted(s *status.Status) {
	counts := map[string]int64{}
	maps.Copy(counts, c.carried.All())
	c.pages.AddTo(counts, c.cfg.tagged)
	s.Add(counts)
}

// Estimate says how long the rest takes at least. Like Status it may be asked for often.
func (c *Crawl) Estimate(ctx context.Context) (status.Estimate, error) { return c.live.Estimate(ctx) }

// Live is what else there is to ask about this run.
func (c *Crawl) Live() *status.Live { return c.live }

// Pause has the run begin no turn until Pause(false): exchanges under way go on, and so does the time of Config.MaxTime.
func (c *Crawl) Pause(on bool) {
	if c.stopper.paused() == on {
		return
	}
	c.stopper.hold(byOperator, on)
	if on {
		c.cfg.Log("paused by the operator: no request starts")
	} else {
		c.cfg.Log("unpaused by the operator")
	}
}

// Met is what a run knows of a host.
type Met struct {
	frontier.Host              // its condition, and why; what is pending
	State         robots.State // of its robots.txt
	Rules         gate.Rules
	Own           bool
	Pace          host.Pace     // that it gets now, for itself
	Response      time.Duration // its usual response time
	Spot          netip.Prefix  // the address whose pace it shares; invalid for none
	Maps          int64         // exchanges for sitemaps
	Left          string        // why the run leaves it alone; empty for a host that it does not, or that a dry run is done with
}

// Met returns what the run knows of a host, and false for one that it does not know.
func (c *Crawl) Met(ctx context.Context, a canon.Authority) (Met, bool, error) {
	var k explain.Facts
	k.URL, _ = a.URL("/") // an authority has one
	if err := c.hostFacts(ctx, &k); err != nil || !k.Known {
		return Met{}, false, err
	}
	terms := host.Terms{Floor: k.Floor, Set: k.Set.Delay, Raised: k.Raised, Own: k.Own, Rules: k.Rules.Book}
	m := Met{
		Host: k.Host, State: k.State, Rules: k.Rules, Own: k.Own, Pace: terms.Pace(&k.Memory, c.clock.Micros(time.Now())),
		Response: k.Memory.Response(), Maps: int64(k.Memory.Sitemaps),
	}
	if !k.Own {
		m.Spot = k.Memory.Spot
	}
	if m.Condition != frontier.Open && m.Reason != reasonDryRun {
		m.Left = m.Reason
	}
	return m, true, nil
}

// Steer obeys an operator's command. What it closes is told by Frontier, which was opened with record.Closed.
func (c *Crawl) Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	defer c.live.Forget()
	return c.cfg.Frontier.Steer(ctx, s)
}

// Retry opens what was closed.
func (c *Crawl) Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error) {
	defer c.live.Forget()
	return c.cfg.Frontier.Retry(ctx, r)
}

// Add adds seeds to the run: its scope is extended to them.
func (c *Crawl) Add(ctx context.Context, seeds []frontier.Candidate) (frontier.Added, error) {
	for _, s := range seeds {
		c.scope.Load().Extend(s.URL)
	}
	defer c.live.Forget()
	added, err := c.settler.addGiven(ctx, seeds)
	if err == nil {
		c.cfg.Log("seeds added by the operator: %d; the scope includes them now", len(seeds))
	}
	return added, err
}

// Reaches reports whether this run may reach a: the network guard is settled when a run begins, for the addresses that it
// begins with.
func (c *Crawl) Reaches(a canon.Authority) bool { return !NotPublic(a) || c.reachable[a] }

// NotPublic reports whether a is written as an address that is not public.
func NotPublic(a canon.Authority) bool {
	addr, ok := a.Addr()
	return a.Host() == "localhost" || ok && (!addr.IsGlobalUnicast() || addr.IsPrivate())
}

// newLive returns the status of a crawl over c.Frontier; room is nil if it is not running.
func (c Config) newLive(room status.Exchanges) *status.Live {
	t := c.terms()
	return status.NewLive(c.Frontier, status.Settings{
		Workers: c.Workers, IPDelay: c.IPDelay, Pacing: c.pacing, Exchanges: room,
		Budget: t.budget(),
	})
}

// pacing is how a host is dealt with between two turns.
func (c Config) pacing(h frontier.Host, memory *host.State) status.Pacing {
	t := c.terms()
	p := status.Pacing{Pace: c.floor(h.Authority), By: string(storage.ByFloor)}
	if p.Own = c.own(h.Authority) || c.claimed(h.Authority) && memory.Proved; p.Own {
		p.Pace = c.Delay
	}
	if set := t.Hosts.Of(h.Authority).Delay; set > p.Pace {
		p.Pace, p.By = set, string(storage.ByHostSetting)
		if set > c.Hosts.Of(h.Authority).Delay {
			p.By = string(storage.ByOperator)
		}
	}
	if h.Pace > p.Pace {
		p.Pace, p.By = h.Pace, "required by the site"
		if memory.Due.Pause == h.Pace.Truncate(time.Microsecond) && memory.Due.By != "" { // perhaps a --delay of the run before
			p.By = string(memory.Due.By)
		}
	}
	return p
}

// need is how long what is left of the host takes at its pace. What the turn found there may be known already.
func (v *visit) need() time.Duration {
	h := v.turn.Host
	n := h.Queued + h.Deferred + int64(len(v.turn.Tasks)-len(v.result.Done))
	for _, next := range v.result.Found {
		if next.URL.Authority() == v.turn.Authority {
			n++
		}
	}
	return time.Duration(n) * v.pace.Pause
}

// Explain says all that decides about a URL now, in this run.
func (c *Crawl) Explain(ctx context.Context, q explain.Question) (explain.Explanation, error) {
	k, err := c.facts(ctx, q)
	if err != nil {
		return explain.Explanation{}, err
	}
	k.Crawl = "running"
	if c.stopper.draining.Err() != nil {
		k.Crawl = "draining"
	}
	k.Elapsed = c.clock.Elapsed()
	return explain.Explain(k), nil
}

// ExplainStopped says the same of a crawl that is not running: as if a run began now. It reads f, and of cfg it needs neither
// frontier nor fetcher, recorder nor ledger.
func ExplainStopped(ctx context.Context, cfg Config, f frontier.Reader, q explain.Question) (explain.Explanation, error) {
	cfg.Frontier = readable{Reader: f}
	c := &Crawl{cfg: cfg.withDefaults(), clock: record.Start()}
	c.live = c.cfg.newLive(nil)
	c.cfg.Scope.Sitemaps = c.cfg.Sitemaps.any()
	var err error
	if c.scope, err = newArea(c.cfg.Scope); err != nil {
		return explain.Explanation{}, err
	}
	for s, err := range c.cfg.Frontier.AllSeeds(ctx) {
		if err != nil {
			return explain.Explanation{}, err
		}
		c.scope.Load().Extend(s.URL)
	}
	if c.quotas, err = newQuotas(ctx, &c.cfg, nil, nil); err != nil {
		return explain.Explanation{}, err
	}
	c.gate = c.cfg.Gate()
	k, err := c.facts(ctx, q)
	if err != nil {
		return explain.Explanation{}, err
	}
	k.Crawl = "stopped"
	if k.Stats.Queued+k.Stats.InFlight+k.Stats.Deferred == 0 {
		k.Crawl = "finished"
	}
	return explain.Explain(k), nil
}

// readable is the frontier of a crawl that does not run: it is only read, and has no engine.
type readable struct {
	frontier.Reader
	engineless
}

// engineless is one level below Reader, whose methods are therefore those of a readable frontier.
type engineless struct{ frontier.Frontier }

// facts gathers what there is to know about a URL.
func (c *Crawl) facts(ctx context.Context, q explain.Question) (*explain.Facts, error) {
	if q.Written == "" {
		q.Written = q.URL.String()
	}
	k := &explain.Facts{Question: q, Settings: c.cfg.explained(), Now: time.Now().UTC(), Gate: c.gate}
	k.Micros = c.clock.Micros(k.Now)
	seen, err := c.cfg.Frontier.Seen(ctx, []canon.URL{q.URL})
	if err != nil {
		return nil, err
	}
	k.Seen = seen[0]
	if k.Seen {
		x, found, err := c.cfg.Frontier.Entry(ctx, q.URL)
		if err != nil {
			return nil, err
		}
		if found {
			k.Entry, k.Found = &x, x.Candidate
		}
	}
	if k.Stats, err = c.cfg.Frontier.Stats(ctx); err != nil {
		return nil, err
	}
	if err := c.hostFacts(ctx, k); err != nil {
		return nil, err
	}
	k.Settings.MaxPerHost = c.cfg.maxPerHost(q.URL.Authority())
	k.Domain = c.quotas.domains.Pages(q.URL.Authority().RegistrableDomain())
	k.OptOut = c.cfg.OptOut.URL(q.URL)
	area := c.scope.Load()
	k.Scope, k.Asked = area.Explain(InScope(k.Candidate()))
	if k.Found.Kind == 0 {
		needed := scope.Candidate{URL: q.URL, Embeds: 1, Embed: true}
		if !area.Covers(q.URL) {
			needed.Away = 1
		}
		k.Requisite = area.Judge(needed)
	}
	return k, nil
}

// hostFacts are those about the host.
func (c *Crawl) hostFacts(ctx context.Context, k *explain.Facts) (err error) {
	a := k.URL.Authority()
	if k.Host, k.Known, err = c.live.Host(ctx, a); err != nil {
		return err
	}
	if k.Memory, err = host.Read(k.Host.Memory); err != nil {
		return fmt.Errorf("%s: %w", a, err)
	}
	if k.History, err = trap.Read(k.Memory.History); err != nil {
		return fmt.Errorf("crawler: %s: %w", a, err)
	}
	if len(k.Host.Robots) > 0 {
		if err := k.State.UnmarshalBinary(k.Host.Robots); err != nil {
			return fmt.Errorf("crawler: %s: robots state: %w", a, err)
		}
	}
	v := &visit{turn: frontier.Turn{Lease: frontier.Lease{Authority: a}}, site: site{memory: k.Memory}}
	v.owns(&c.cfg)
	k.Own, k.Floor, k.Set, k.Raised = v.own, v.floor, v.set, v.raised
	if !k.Own && k.Memory.Spot.IsValid() {
		if k.Sharing, err = c.live.Sharing(ctx); err != nil {
			return err
		}
	}
	k.Rules, err = c.gate.Of(ctx, k.State)
	return err
}

// explained are the settings that an explanation names.
func (c Config) explained() explain.Settings {
	t := c.terms()
	return explain.Settings{
		Traps: c.Traps, Depth: c.Scope.Depth, IPDelay: c.IPDelay,
		MaxPages: t.MaxPages, MaxPerHost: t.MaxPerHost, MaxPerDomain: t.MaxPerDomain, MaxPerTag: t.MaxPerTag, MaxBytes: t.MaxBytes, MaxTime: t.MaxTime,
	}
}
