package crawler

import (
	"context"
	"fmt"
	"strings"
	"time"

	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/crawler/optout"
	"curtsy/crawler/scope"
	"curtsy/crawler/status"
	"curtsy/crawler/steady"
	"curtsy/crawler/totals"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
)

// Question is a URL to be explained.
type Question struct {
	URL     canon.URL
	Written string // as it was asked for; empty means the URL
	// Found says how the URL was found, if the frontier should not know: of refused ones it keeps no more than that they
	// were met. Its zero Kind means that nobody knows, and it is judged as a link of a seed's page.
	Found frontier.Candidate
}

// Explain says all that decides about a URL now, in this run.
func (c *Crawl) Explain(ctx context.Context, q Question) (Explanation, error) {
	k, err := c.facts(ctx, q)
	if err != nil {
		return Explanation{}, err
	}
	k.crawl = "running"
	if c.draining.Err() != nil {
		k.crawl = "draining"
	}
	k.elapsed = c.clock.Elapsed()
	return explain(c.cfg, k), nil
}

// ExplainStopped says the same of a crawl that is not running: as if a run began now. Of cfg it needs neither fetcher nor
// recorder nor ledger.
func ExplainStopped(ctx context.Context, cfg Config, q Question) (Explanation, error) {
	c := &Crawl{cfg: cfg.withDefaults(), clock: steady.Start()}
	c.live = c.cfg.newLive()
	c.cfg.Scope.Sitemaps = c.cfg.Sitemaps.any()
	var err error
	if c.scope, err = scope.New(c.cfg.Scope, nil); err != nil {
		return Explanation{}, err
	}
	for s, err := range c.cfg.Frontier.AllSeeds(ctx) {
		if err != nil {
			return Explanation{}, err
		}
		c.scope.Extend(s.URL)
	}
	c.gate = gate.New(c.cfg.Frontier, c.cfg.Identity.Token, c.cfg.Standard)
	k, err := c.facts(ctx, q)
	if err != nil {
		return Explanation{}, err
	}
	k.crawl = "stopped"
	if k.stats.Queued+k.stats.InFlight+k.stats.Deferred == 0 {
		k.crawl = "finished"
	}
	return explain(c.cfg, k), nil
}

// facts are all that an explanation is made of.
type facts struct {
	Question
	crawl   string
	now     time.Time
	elapsed time.Duration // of this run

	seen  bool
	entry *frontier.Entry // nil when the URL never became a task

	stats   frontier.Stats
	host    frontier.Host
	known   bool // the host is
	memory  host.State
	history trap.History
	own     bool
	floor   time.Duration
	micros  int64 // now, on the steady clock
	state   robots.State
	rules   gate.Rules
	gate    *gate.Gate
	sharing status.Sharing // who is at the host's address

	scope  scope.Verdict
	asked  []scope.Opinion
	optOut *optout.Hit
}

// facts gathers what there is to know about a URL.
func (c *Crawl) facts(ctx context.Context, q Question) (*facts, error) {
	if q.Written == "" {
		q.Written = q.URL.String()
	}
	k := &facts{Question: q, now: time.Now().UTC(), gate: c.gate}
	k.micros = c.clock.Micros(k.now)
	seen, err := c.cfg.Frontier.Seen(ctx, []canon.URL{q.URL})
	if err != nil {
		return nil, err
	}
	k.seen = seen[0]
	if k.seen {
		x, found, err := c.cfg.Frontier.Entry(ctx, q.URL)
		if err != nil {
			return nil, err
		}
		if found {
			k.entry, k.Found = &x, x.Candidate
		}
	}
	if k.stats, err = c.cfg.Frontier.Stats(ctx); err != nil {
		return nil, err
	}
	if err := c.hostFacts(ctx, k); err != nil {
		return nil, err
	}
	k.optOut = c.cfg.OptOut.URL(q.URL)
	k.scope, k.asked = c.scope.Explain(inScope(k.candidate()))
	return k, nil
}

// hostFacts are those about the host.
func (c *Crawl) hostFacts(ctx context.Context, k *facts) (err error) {
	a := k.URL.Authority()
	if k.host, k.known, err = c.cfg.Frontier.Host(ctx, a); err != nil {
		return err
	}
	if k.memory, err = host.Read(k.host.Memory); err != nil {
		return fmt.Errorf("%s: %w", a, err)
	}
	if k.history, err = trap.Read(k.memory.History); err != nil {
		return fmt.Errorf("crawler: %s: %w", a, err)
	}
	if len(k.host.Robots) > 0 {
		if err := k.state.UnmarshalBinary(k.host.Robots); err != nil {
			return fmt.Errorf("crawler: %s: robots state: %w", a, err)
		}
	}
	v := &visit{turn: frontier.Turn{Lease: frontier.Lease{Authority: a}}, site: site{memory: k.memory}}
	c.owns(v)
	k.own, k.floor = v.own, v.floor
	if !k.own && k.memory.Spot.IsValid() {
		if k.sharing, err = c.live.Sharing(ctx); err != nil {
			return err
		}
	}
	k.rules, err = c.gate.Of(ctx, k.state)
	return err
}

// candidate is the URL as it was found; when nobody knows how, as a link of a seed's page.
func (k *facts) candidate() frontier.Candidate {
	c := k.Found
	if c.URL.IsZero() {
		c.URL = k.URL
	}
	if c.Kind == 0 {
		c.Kind, c.Depth = frontier.KindLink, 1
	}
	return c
}

// explain makes an explanation of facts. It asks nobody.
func explain(cfg Config, k *facts) Explanation {
	e := Explanation{
		Schema: ExplanationSchema, Crawl: k.crawl, Now: k.now, Generation: totals.GenerationOf(k.stats.Counts).Number,
		URL:   explainURL(k.Written, k.URL),
		Scope: ExplainedScope{In: k.scope.In, Rule: k.scope.Rule, ForGood: !k.scope.In && k.scope.Timeless, Asked: []ExplainedRule{}},
		State: k.explainState(), Host: k.explainHost(), Traps: k.traps(cfg.Traps),
		Robots: robotsOf(k.gate, PolicyCrawl, k.URL, k.state, k.rules, k.memory.Source.Record, k.now),
		Pace:   k.explainPace(cfg), Budgets: k.budgets(cfg), NotFollowed: notFollowed(k.stats.Counts),
	}
	for _, o := range k.asked {
		e.Scope.Asked = append(e.Scope.Asked, ExplainedRule{o.Rule, o.Says})
	}
	if hit := k.optOut; hit != nil {
		e.OptOut = &ExplainedEntry{File: hit.File, Line: hit.Line, Entry: hit.Text, Reason: hit.Reason, SHA256: hit.SHA256()}
	}
	e.Conclude()
	return e
}

// ExplainPolicy puts another policy in the place of the one that the crawl knows: one that was asked for just now, or was
// valid at an instant of the past. source is PolicyLive or PolicyArchive; body is the file that the state names, if it
// names one. Of cfg it needs the identity and the standard.
func (e *Explanation) ExplainPolicy(cfg Config, source string, u canon.URL, s robots.State, body []byte, record string, now time.Time) {
	cfg = cfg.withDefaults()
	g := gate.New(nil, cfg.Identity.Token, cfg.Standard)
	var r gate.Rules
	if all, ok := s.Verdict(); ok {
		r.All = all
	} else if digest, ok := s.Body(); ok {
		r.Book = g.Learn(digest, body)
	}
	e.Robots = robotsOf(g, source, u, s, r, record, now.UTC())
	e.Pace.ask(storage.ByCrawlDelay, e.Robots.delay)
	e.Pace.ask(storage.ByRequestRate, e.Robots.rate)
	e.Conclude()
}

// notFollowed are the links that the crawl did not follow, by rule.
func notFollowed(counts map[string]int64) map[string]int64 {
	links := map[string]int64{}
	for name, n := range counts {
		if rule, ok := strings.CutPrefix(name, totals.PrefixLinks); ok && n > 0 {
			links[rule] = n
		}
	}
	return links
}

// Past makes e one about an instant that is over: what is known of now alone is left out. How the URL and the policy stood
// is said by ExplainLine, ExplainPolicy and ExplainResponses then.
func (e *Explanation) Past(at time.Time) {
	at = at.UTC()
	e.At = &at
	e.Pace.ask(storage.ByAddress, nil)
	e.Host = ExplainedHost{Known: e.Host.Known, Own: e.Host.Own}
	e.Budgets = []Budget{}
	e.State.Seen, e.State.State, e.State.Reason = false, stateUnknown, ""
	e.State.Attempts, e.State.Due, e.State.Stops, e.State.Replaced = 0, nil, 0, ""
	for i := range e.Traps {
		if e.Traps[i].Says == trapHolds {
			e.Traps[i].Says = scope.SaysNothing
		}
	}
	e.Notes = append(e.Notes, "scope, opt-out lists and settings are those of now; what the host was owed, and the budgets, are not told for the past")
	e.Conclude()
}

// ExplainLine says what became of the URL by a line of the ledger: the last one up to the instant that e is about.
func (e *Explanation) ExplainLine(l storage.Line) {
	e.State.Seen, e.State.State, e.State.Reason, e.State.Attempts = true, string(l.Outcome), l.Reason, l.Attempt
	switch {
	case l.Outcome == "": // a refusal that never became a task
		e.State.State = frontier.Dropped.String()
	case l.Outcome == storage.OutcomeFetched && l.Change != storage.ChangeFresh, l.Outcome == storage.OutcomeRedirected:
		// its reason is why robots.txt allows it
		e.State.Reason = ""
	}
	e.Conclude()
}
