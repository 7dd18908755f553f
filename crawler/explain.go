package crawler

import (
	"context"
	"fmt"
	"time"

	"curtsy/crawler/explain"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/crawler/scope"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

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

// ExplainStopped says the same of a crawl that is not running: as if a run began now. Of cfg it needs neither fetcher nor
// recorder nor ledger.
func ExplainStopped(ctx context.Context, cfg Config, q explain.Question) (explain.Explanation, error) {
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
