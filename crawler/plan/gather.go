package plan

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/host"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/hostrule"
	"curtsy/storage/plainly"
)

// gathering is what a dry run learns of.
type gathering struct {
	settings *crawldir.Settings
	seeds    []canon.URL // each once
	scope    *scope.Scope

	mu        sync.Mutex
	keys      map[string]bool // of seeds, and of what was listed
	urls      []canon.URL     // that sitemaps list, in scope, each once
	elsewhere int64
	uncounted int64
}

func newGathering(s *crawldir.Settings, seeds []frontier.Candidate) (*gathering, error) {
	g := &gathering{settings: s, keys: map[string]bool{}}
	for _, c := range seeds {
		if !g.keys[c.URL.Key()] {
			g.keys[c.URL.Key()] = true
			g.seeds = append(g.seeds, c.URL)
		}
	}
	c, err := s.ScopeConfig()
	if err != nil {
		return nil, err
	}
	g.scope, err = scope.New(c, g.seeds)
	return g, err
}

// listed takes in a URL that a sitemap lists.
func (g *gathering) listed(u canon.URL, rule string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.keys[u.Key()]:
	case rule != "":
		g.elsewhere++
	case len(g.urls) == MaxListed:
		g.uncounted++
	default:
		g.keys[u.Key()] = true
		g.urls = append(g.urls, u)
	}
}

// met is a host as it is being planned for.
type met struct {
	Host
	it    crawler.Met
	asked bool // what its robots.txt means is known
	maps  int  // sitemaps that its robots.txt names on it
	set   hostrule.Overrides
}

// plan is what comes of the run.
func (g *gathering) plan(ctx context.Context, c *crawler.Crawl, s crawler.Summary, o Options) (*Plan, error) {
	p := &Plan{
		Made: time.Now().UTC(), Seeds: int64(len(g.seeds)), Requests: s.Status.Exchanges, Forbidden: []Forbidden{},
		Elsewhere: g.elsewhere, Uncounted: g.uncounted,
	}
	if s.EndedBy != crawler.EndedDrained && s.EndedBy != crawler.EndedWaiting {
		p.Ended = s.EndedBy
	}
	hosts := map[canon.Authority]*met{}
	of := func(u canon.URL) (*met, error) {
		h := hosts[u.Authority()]
		if h != nil {
			return h, nil
		}
		h, err := g.host(ctx, c, u.Authority(), o.Maps)
		hosts[u.Authority()] = h
		return h, err
	}
	for _, u := range g.seeds {
		h, err := of(u)
		if err != nil {
			return nil, err
		}
		h.Seeds++
		f, no := g.forbids(u, h)
		switch {
		case !no:
			h.Pages++
			continue
		case len(p.Forbidden) < MaxForbidden:
			p.Forbidden = append(p.Forbidden, f)
		default:
			p.More++
		}
		h.Forbidden++
	}
	for _, u := range g.urls {
		h, err := of(u)
		if err != nil {
			return nil, err
		}
		h.Listed++
		switch {
		case h.Left != "" || g.settings.Lists().URL(u) != nil:
		case !h.judge(u).Allowed:
			h.Disallow++
		default:
			h.Pages++
		}
	}
	all := make([]*met, 0, len(hosts))
	for _, h := range hosts {
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b *met) int { return cmp.Compare(a.Host.Host, b.Host.Host) })
	p.Estimate = estimate(g.settings, all, p, o)
	for _, h := range all {
		p.Hosts = append(p.Hosts, h.Host)
	}
	return p, nil
}

// host is what the run knows of one.
func (g *gathering) host(ctx context.Context, c *crawler.Crawl, a canon.Authority, maps int) (*met, error) {
	h := &met{Host: Host{Host: a.Origin(), Robots: notAsked, Pace: g.floor().Seconds(), PaceBy: storage.ByFloor}, set: g.settings.Hosts.Of(a)}
	m, ok, err := c.Met(ctx, a)
	if err != nil || !ok {
		return h, err
	}
	h.it = m
	h.Own, h.Pace, h.PaceBy, h.Response = m.Own, m.Pace.Pause.Seconds(), m.Pace.By, m.Response.Seconds()
	h.Left, h.Status, h.Maps = m.Left, m.State.Status(), m.Maps
	if m.Spot.IsValid() {
		h.Address = m.Spot.Addr().String()
	}
	h.asked, h.Robots = meaning(m.State)
	if book := m.Rules.Book; book != nil {
		base, err := a.URL("/robots.txt")
		if err != nil {
			return h, err
		}
		for _, ref := range book.Policies()[0].Sitemaps() {
			if u, err := base.Resolve(ref); err == nil && u.Authority() == a {
				h.maps++
			}
		}
	}
	h.MapsLeft = int64(h.maps) > m.Maps || m.Maps > 0 && m.Maps == int64(maps)
	return h, nil
}

// floor is the pause of a host that is not known.
func (g *gathering) floor() time.Duration { return max(g.settings.Delay, crawler.Floor) }

const notAsked = "not requested"

// meaning says in words what a robots state means, and whether it means anything.
func meaning(s robots.State) (known bool, words string) {
	if v, ok := s.Verdict(); ok {
		if v.Allowed {
			return true, "none: everything is allowed"
		}
		return true, "unavailable, so nothing is allowed: " + plainly.Reason(host.WhyUnreachable(s))
	}
	if _, ok := s.Body(); ok {
		return true, "rules"
	}
	return false, notAsked
}

// judge is the verdict of a host's robots.txt; one that nobody asked for forbids nothing yet.
func (h *met) judge(u canon.URL) robots.Verdict {
	if !h.asked {
		return robots.Verdict{Allowed: true}
	}
	return h.it.Rules.Judge(u.RequestURI())
}

// forbids says who forbids a seed, if anybody does.
func (g *gathering) forbids(u canon.URL, h *met) (f Forbidden, no bool) {
	f.URL = u.String()
	if hit := g.settings.Lists().URL(u); hit != nil {
		f.By, f.Reason, f.Rule = ByOptOut, hit.Reason, hit.Text
		return f, true
	}
	if judged := g.scope.Judge(scope.Candidate{URL: u, Seed: true}); !judged.In {
		f.By, f.Reason = ByScope, judged.Rule
		return f, true
	}
	if v := h.judge(u); !v.Allowed {
		f.By, f.Reason, f.Rule, f.Line, f.Group = ByRobots, string(v.Reason), v.Rule, v.Line, v.Group
		return f, true
	}
	if h.Left != "" {
		f.By, f.Reason = ByHost, h.Left
		return f, true
	}
	return f, false
}
