package plan

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
)

// Options are what a plan meets beside the settings of its crawl.
type Options struct {
	Maps   int // sitemaps of a host that are read at most; 0 for none
	Expect Expect

	// Crawl is what the dry run meets, as any crawl does. Its Attend is called around the run; settings and what is dry
	// are the plan's.
	Crawl crawldir.Options
}

// How long the asking goes on: a host whose next turn is further away than longestWait is left as it is known by then.
const (
	longestWait = 20 * time.Second
	longestPlan = 10 * time.Minute
)

// Make makes the plan of a crawl from seeds. It asks their hosts, and nothing is left of that.
func Make(ctx context.Context, s *crawldir.Settings, seeds []frontier.Candidate, o Options) (p *Plan, err error) {
	tmp, err := os.MkdirTemp("", "curtsy-plan-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	dir := filepath.Join(tmp, "crawl")
	dry := asking(s, o.Maps)
	if err := crawldir.Create(ctx, dir, dry, crawldir.Given(seeds)); err != nil {
		return nil, err
	}
	if s.Lists() == nil {
		if err := s.OpenLists("", nil); err != nil {
			return nil, err
		}
	}
	g, err := newGathering(s, seeds)
	if err != nil {
		return nil, err
	}
	co := o.Crawl
	co.Settings, co.DryRun, co.DryMaps, co.DryListed, co.Unheard = dry, true, o.Maps, g.listed, true
	attend := co.Attend
	if attend == nil {
		attend = func(ctx context.Context, start crawldir.Start) (crawler.Summary, error) { return start.Crawl.Run(ctx) }
	}
	co.Attend = func(ctx context.Context, start crawldir.Start) (crawler.Summary, error) {
		summary, err := attend(ctx, start)
		if err == nil {
			p, err = g.plan(context.WithoutCancel(ctx), start.Crawl, summary, o)
		}
		return summary, err
	}
	if _, err := crawldir.Run(ctx, dir, co); err != nil {
		return nil, err
	}
	return p, nil
}

// asking are the settings of the dry run: those of the crawl, without what ends it or keeps something.
func asking(s *crawldir.Settings, maps int) *crawldir.Settings {
	dry := *s
	dry.Order = frontier.DepthFirst // sitemaps are found after the seeds, and asked for before them
	dry.MaxWait, dry.MaxTime = longestWait, longestPlan
	dry.MaxPages, dry.MaxBytes, dry.MaxDBSize, dry.StopWhen, dry.Dedup, dry.Mirror = 0, 0, 0, nil, nil, false
	id := s.Identity()
	switch none := !reads(s); {
	case maps == 0:
		dry.Sitemaps = nil
	case none && id.CheckContact() == nil: // without a contact nobody but this machine is asked, and a sitemap may be anywhere
		dry.Sitemaps = []string{crawldir.SitemapsRobots}
	}
	return &dry
}

// reads reports whether the crawl itself reads sitemaps.
func reads(s *crawldir.Settings) bool {
	return len(s.Sitemaps) > 0 && s.Sitemaps[0] != crawldir.SitemapsNone
}
