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
	"curtsy/storage"
)

// Plan is what is known of a crawl before it is begun.
type Plan struct {
	Made      time.Time   `json:"made"`
	Seeds     int64       `json:"seeds"`
	Hosts     []Host      `json:"hosts"`               // of the seeds, and of what sitemaps list
	Forbidden []Forbidden `json:"forbidden"`           // seeds that the crawl will not ask for, at most MaxForbidden
	More      int64       `json:"forbidden_more"`      // those beyond
	Requests  int64       `json:"requests_made"`       // for this plan
	Ended     string      `json:"ended_by,omitempty"`  // what ended the asking before every host was done; empty for nothing
	Elsewhere int64       `json:"listed_out_of_scope"` // URLs that sitemaps list and the scope leaves out
	Uncounted int64       `json:"listed_not_judged"`   // URLs that sitemaps list beyond MaxListed
	Estimate  Estimate    `json:"estimate"`
}

// Bounds of a plan.
const (
	DefaultMaps  = 10      // sitemaps of a host that are read
	MaxListed    = 200_000 // URLs of sitemaps that are told apart
	MaxForbidden = 1000    // seeds that are named
)

// Host is a host of the crawl to come.
type Host struct {
	Host     string         `json:"host"`             // its origin
	Robots   string         `json:"robots"`           // what its robots.txt means, in words
	Status   int            `json:"status,omitempty"` // of the answer for it
	Pace     float64        `json:"pace_s"`
	PaceBy   storage.PaceBy `json:"pace_by"`
	Response float64        `json:"response_s,omitempty"` // usual response time
	Own      bool           `json:"own,omitempty"`
	Address  string         `json:"address,omitempty"` // whose pace it shares with other hosts
	Left     string         `json:"left,omitempty"`    // why it is left alone: nothing is asked of it

	Seeds     int64 `json:"seeds"`           // of the operator's
	Forbidden int64 `json:"seeds_forbidden"` // of these
	Maps      int64 `json:"sitemaps_read"`
	MapsLeft  bool  `json:"sitemaps_left,omitempty"` // it may have more than were read
	Listed    int64 `json:"listed"`                  // URLs in scope that sitemaps list here, seeds not counted
	Disallow  int64 `json:"listed_forbidden"`        // of these, by robots.txt

	Pages    int64   `json:"pages"`    // known, allowed and within the budgets
	Requests int64   `json:"requests"` // that these take, robots.txt and sitemaps among them
	Takes    float64 `json:"takes_s"`  // at the host's pace
}

// Forbidden is a seed that the crawl will not ask for, with who says so.
type Forbidden struct {
	URL    string `json:"url"`
	By     string `json:"by"`     // one of the words below
	Reason string `json:"reason"` // the scope's rule, the robots verdict's reason, or the entry of the opt-out list
	Rule   string `json:"rule,omitempty"`
	Line   int    `json:"line,omitempty"` // of that rule in robots.txt
	Group  string `json:"group,omitempty"`
}

// Who forbids a seed.
const (
	ByOptOut = "opt-out"
	ByScope  = "scope"
	ByRobots = "robots.txt"
	ByHost   = "host" // it is left alone: see Host.Left
)

// Estimate is how long a crawl takes, as far as it is known.
type Estimate struct {
	Requests int64   `json:"requests"`
	Pages    int64   `json:"pages"`
	Bytes    int64   `json:"bytes"`
	Takes    float64 `json:"takes_s"`
	By       string  `json:"decided_by"` // one of the words below
	Host     string  `json:"host,omitempty"`

	Basis   []string `json:"basis"`   // what it reckons with
	Unknown []string `json:"unknown"` // what it cannot know
}

// What decides how long a crawl takes.
const (
	DecidedByHost    = "host"
	DecidedByAddress = "address"
	DecidedByWorkers = "workers"
	DecidedByRate    = "max-rate"
	DecidedByDaily   = "per-host-per-day"
	DecidedByPages   = "max-pages"
	DecidedByTime    = "max-time"
)

// Duration is how long the crawl takes.
func (e Estimate) Duration() time.Duration { return time.Duration(e.Takes * float64(time.Second)) }

// Expect is what the operator expects where nothing is known.
type Expect struct {
	Pages int64 // of a host whose sitemaps name none; 0 for no more than the seeds
	Files int64 // images, styles, scripts and the like with each page
	Size  int64 // bytes of a page; 0 for DefaultSize
}

// DefaultSize is what a page is taken for in bytes where nobody says otherwise: an assumption, not a measurement.
const DefaultSize = 32 << 10

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
