package main

import (
	"slices"

	"curtsy/crawler"
	"curtsy/frontier"
	"curtsy/storage/plainly"
)

// maxWorkers is the largest number of workers.
const maxWorkers = 10_000

// check refuses settings and seeds that cannot work, before anything is made or asked.
func (s *settings) check(seeds []frontier.Candidate) error {
	id := s.identity()
	if err := id.Validate(); err != nil {
		return usagef("%w", err)
	}
	if s.scope == "any" && s.maxPages == 0 && s.maxTime == 0 {
		return usagef("--scope any has no end: give --max-pages or --max-time")
	}
	if d := s.ipDelay; d < crawler.LeastIPDelay {
		return usagef("--ip-delay %v: hosts of others may share an address; %v is the least", plainly.Duration(s.ipDelay), crawler.LeastIPDelay)
	}
	if s.maxBody == 0 {
		return usagef("--max-body 0 keeps nothing of any page: leave it out for 100MiB")
	}
	if s.workers > maxWorkers {
		return usagef("--workers %d: each takes memory and a connection; %d is the most", s.workers, maxWorkers)
	}
	if err := s.own(&crawler.Config{}); err != nil {
		return err
	}
	if err := s.checkManners(); err != nil {
		return err
	}
	fc, err := s.fetchConfig(nil, "", world{})
	if err != nil {
		return err
	}
	if err := fc.Validate(); err != nil {
		return usagef("%w", err)
	}
	maps, err := s.sitemapConfig()
	if err != nil {
		return err
	}
	foreign := slices.ContainsFunc(seeds, func(c frontier.Candidate) bool { return !c.URL.Authority().Loopback() })
	if foreign || s.scope == "any" || s.requisites == "all" || mapsAbroad(maps) {
		if err := id.CheckContact(); err != nil {
			return usagef("%w", err)
		}
	}
	if _, err := s.newScope(seeds); err != nil {
		return usagef("%w", err)
	}
	return nil
}
