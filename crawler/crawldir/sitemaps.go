package crawldir

import (
	"context"
	"slices"

	"curtsy/crawler"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// The words of --sitemaps that are no URLs.
const (
	SitemapsNone   = "none"
	SitemapsRobots = "robots" // those that robots.txt names
)

// SitemapConfig reads --sitemaps: none, or robots and any number of URLs. A site's sitemaps are not read unless asked
// for: a crawl is of what links lead to from its seeds, and a list of all the site has is another, often larger, crawl.
func (s *Settings) SitemapConfig() (crawler.Sitemaps, error) {
	var maps crawler.Sitemaps
	for _, value := range s.Sitemaps {
		switch value {
		case SitemapsNone:
			if len(s.Sitemaps) > 1 {
				return maps, misuse("--sitemaps none excludes other values: leave out the others, or none")
			}
		case SitemapsRobots:
			maps.Robots = true
		default:
			c, err := Seed(value, "")
			if err != nil {
				return maps, misuse("--sitemaps %s: write none, robots or a URL: https://host/sitemap.xml", Quoted(value))
			}
			maps.URLs = append(maps.URLs, c.URL)
		}
	}
	return maps, nil
}

// mapsAbroad reports whether sitemaps may lead to hosts that are not on this machine.
func mapsAbroad(maps crawler.Sitemaps) bool {
	return maps.Robots || slices.ContainsFunc(maps.URLs, func(u canon.URL) bool { return !u.Authority().Loopback() })
}

// AsksForMore reports whether a sitemap is named that a crawl has not met: it is not finished then.
func (s *Settings) AsksForMore(ctx context.Context, f frontier.Reader) (bool, error) {
	maps, err := s.SitemapConfig()
	if err != nil || len(maps.URLs) == 0 {
		return false, err
	}
	seen, err := f.Seen(ctx, maps.URLs)
	return slices.Contains(seen, false), err
}
