package main

import (
	"slices"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// check refuses settings and seeds that cannot work, before anything is made or asked.
func (s *settings) check(seeds []frontier.Candidate) error {
	id := s.identity()
	if err := id.Validate(); err != nil {
		return usagef("%w", err)
	}
	if s.scope == "any" && s.maxPages.n == 0 && s.maxTime == 0 {
		return usagef("--scope any has no end: give --max-pages or --max-time")
	}
	if s.maxBody == 0 {
		return usagef("--max-body 0 keeps nothing of any page: leave it out for 100MiB")
	}
	if _, err := s.loopbackForeign(); err != nil {
		return err
	}
	fc, err := s.fetchConfig(nil, "", world{})
	if err != nil {
		return err
	}
	if err := fc.Validate(); err != nil {
		return usagef("%w", err)
	}
	foreign := slices.ContainsFunc(seeds, func(c frontier.Candidate) bool { return !loopback(c.URL.Authority()) })
	if foreign || s.scope == "any" || s.requisites == "all" {
		if err := id.CheckContact(); err != nil {
			return usagef("%w", err)
		}
	}
	if _, err := s.newScope(seeds); err != nil {
		return usagef("%w", err)
	}
	return nil
}

// loopback reports whether an authority is written as a loopback address or localhost.
func loopback(a canon.Authority) bool {
	addr, ok := a.Addr()
	return ok && addr.IsLoopback() || a.Host() == "localhost"
}
