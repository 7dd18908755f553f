package crawler

import (
	"context"

	"curtsy/crawler/budget"
	"curtsy/crawler/sitemap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
)

// listing takes what a sitemap lists.
type listing struct {
	c        *linker
	v        *visit
	f        *findings
	task     frontier.Task
	noFollow bool

	in    int                      // entries that became candidates, new or not
	maps  int                      // other sitemaps that were listed
	hosts map[canon.Authority]bool // whether the sitemap speaks for these
}

// maxHosts is how many hosts a sitemap may speak for; what it lists of others is refused.
const maxHosts = 1000

// take judges one entry.
func (l *listing) take(ctx context.Context, e sitemap.Entry) error {
	next := frontier.Candidate{URL: e.URL, Kind: frontier.KindSitemap, Via: l.task.URL.String(), Depth: 1, Seed: l.task.Seed, Tag: l.task.Tag}
	if e.Map {
		next.Kind, next.Via, next.Depth = frontier.KindMap, rootSitemap(l.task.Candidate), l.task.Depth+1
		l.maps++
	}
	speaks, err := l.speaks(ctx, e.URL.Authority())
	reason := ""
	switch {
	case err != nil:
		return err
	case !speaks:
		reason = reasonOtherHost
	case e.Map && next.Depth > maxIndexDepth:
		reason = reasonIndexDepth
	case e.Map && l.maps > maxSitemaps:
		reason = reasonSitemaps
	}
	if reason != "" {
		l.f.count(budget.PrefixLinks+reason, 1)
		return nil
	}
	if l.c.cfg.DryRun && !e.Map {
		judged := l.c.bounds.scope.Load().Judge(InScope(next))
		if judged.In {
			judged.Rule = ""
			l.in++
		}
		if l.c.cfg.DryListed != nil {
			l.c.cfg.DryListed(e.URL, judged.Rule)
		}
		return nil
	}
	before := len(l.f.urls)
	l.c.bounds.discover(l.f, next, l.noFollow)
	l.in += len(l.f.urls) - before
	if len(l.f.urls)+len(l.f.refused) < sitemapBatch {
		return nil
	}
	return l.flush(ctx)
}

// flush makes what was taken so far durable.
func (l *listing) flush(ctx context.Context) error {
	if err := l.c.settler.refuse(ctx, l.v, l.f); err != nil {
		return err
	}
	added, err := l.c.cfg.Frontier.Add(ctx, l.f.urls)
	if err == nil {
		err = l.c.settler.recordBarred(ctx, l.v, l.f.urls, added)
	}
	if err != nil {
		return err
	}
	l.f.urls = nil
	l.f.added += added.New
	return nil
}

// speaks reports whether the sitemap speaks for a host: its own, or that of the robots.txt or the sitemap that led to
// it, or one whose robots.txt, as it is known now, names either sitemap (sitemaps.org, "Sitemaps & Cross Submits").
func (l *listing) speaks(ctx context.Context, a canon.Authority) (bool, error) {
	if a.HostPort() == l.task.URL.Authority().HostPort() {
		return true, nil
	}
	if yes, known := l.hosts[a]; known {
		return yes, nil
	}
	if len(l.hosts) == maxHosts {
		return false, nil
	}
	yes, err := l.named(ctx, a)
	if via, bad := canon.Parse(l.task.Via); bad == nil && a.HostPort() == via.Authority().HostPort() {
		yes = true
	}
	l.hosts[a] = yes
	return yes, err
}

// named reports whether the robots.txt of a names the sitemap, or the one that led to it.
func (l *listing) named(ctx context.Context, a canon.Authority) (bool, error) {
	h, ok, err := l.c.cfg.Frontier.Host(ctx, a)
	if err != nil || !ok || len(h.Robots) == 0 {
		return false, err
	}
	var state robots.State
	if err := state.UnmarshalBinary(h.Robots); err != nil {
		return false, err
	}
	r, err := l.c.gate.Of(ctx, state)
	if err != nil {
		return false, err
	}
	root, err := canon.Parse(rootSitemap(l.task.Candidate))
	if err != nil {
		root = l.task.URL
	}
	maps, _ := namedSitemaps(r, a)
	for _, u := range maps {
		if u.Key() == l.task.URL.Key() || u.Key() == root.Key() {
			return true, nil
		}
	}
	return false, nil
}
