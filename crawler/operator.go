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

// Status returns the state of this run. It is cheap: data on single hosts may be some seconds old.
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
	if s.Opens = c.windowGate.until.Load(); s.Opens != nil {
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

// addUncounted adds totals that no turn has counted in the frontier yet.
func (c *Crawl) addUncounted(s *status.Status) {
	counts := map[string]int64{}
	maps.Copy(counts, c.carried.All())
	c.pages.AddTo(counts, c.cfg.tagged)
	s.Add(counts)
}

// Estimate returns how long the rest takes at least. It is cheap.
func (c *Crawl) Estimate(ctx context.Context) (status.Estimate, error) { return c.live.Estimate(ctx) }

// Live returns further data about this run.
func (c *Crawl) Live() *status.Live { return c.live }

// Pause stops the run from beginning turns until Pause(false). Exchanges under way and the time of Config.MaxTime continue.
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

// Met is the state of a host in a run.
type Met struct {
	frontier.Host
	State    robots.State // of its robots.txt
	Rules    gate.Rules
	Own      bool
	Pace     host.Pace     // without that of its address
	Response time.Duration // its usual response time
	Spot     netip.Prefix  // the address whose delay it shares; may be invalid
	Maps     int64         // exchanges for sitemaps
	Left     string        // why the run leaves it alone; empty if it does not, or if a dry run has finished it
}

// Met returns the state of a host, and false for an unknown one.
func (c *Crawl) Met(ctx context.Context, a canon.Authority) (Met, bool, error) {
	var k explain.Facts
	k.URL, _ = a.URL("/")
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

// Steer obeys an operator's command. Frontier, opened with record.Closed, records its closings.
func (c *Crawl) Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	defer c.live.Forget()
	return c.cfg.Frontier.Steer(ctx, s)
}

// Retry opens closed URLs and hosts.
func (c *Crawl) Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error) {
	defer c.live.Forget()
	return c.cfg.Frontier.Retry(ctx, r)
}

// Add adds seeds, and extends the scope to them.
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

// Reaches reports whether the network guard, which is fixed when a run begins, lets this run reach a.
func (c *Crawl) Reaches(a canon.Authority) bool { return !NotPublic(a) || c.reachable[a] }

// NotPublic reports whether a is localhost or a private address.
func NotPublic(a canon.Authority) bool {
	addr, ok := a.Addr()
	return a.Host() == "localhost" || ok && (!addr.IsGlobalUnicast() || addr.IsPrivate())
}

func (c Config) newLive(room status.Exchanges) *status.Live {
	t := c.terms()
	return status.NewLive(c.Frontier, status.Settings{
		Workers: c.Workers, IPDelay: c.IPDelay, Pacing: c.pacing, Exchanges: room,
		Budget: t.budget(),
	})
}

// pacing returns the delay of a host between two turns.
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
		if memory.Due.Pause == h.Pace.Truncate(time.Microsecond) && memory.Due.By != "" { // perhaps --delay of an earlier run
			p.By = string(memory.Due.By)
		}
	}
	return p
}

// need returns how long the pending URLs of the host take at its delay. The turn's new ones may be known already.
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

// Explain returns everything that now decides about a URL.
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

// ExplainStopped explains as if a run of a stopped crawl began now. It only reads f; cfg needs no frontier, fetcher, recorder
// or ledger.
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

// readable is a frontier without an engine, for reading. engineless is one level deeper, so that Reader's methods apply.
type readable struct {
	frontier.Reader
	engineless
}

type engineless struct{ frontier.Frontier }

func (c *Crawl) facts(ctx context.Context, q explain.Question) (*explain.Facts, error) {
	if q.Written == "" {
		q.Written = q.URL.String()
	}
	t := c.cfg.terms()
	k := &explain.Facts{Question: q, Now: time.Now().UTC(), Gate: c.gate, Settings: explain.Settings{
		Traps: c.cfg.Traps, Depth: c.cfg.Scope.Depth, IPDelay: c.cfg.IPDelay, MaxPages: t.MaxPages, MaxPerHost: c.cfg.maxPerHost(q.URL.Authority()),
		MaxPerDomain: t.MaxPerDomain, MaxPerTag: t.MaxPerTag, MaxBytes: t.MaxBytes, MaxTime: t.MaxTime,
	}}
	k.Micros = c.clock.Micros(k.Now)
	seen, err := c.cfg.Frontier.Seen(ctx, []canon.URL{q.URL})
	if err != nil {
		return nil, err
	}
	if k.Seen = seen[0]; k.Seen {
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
