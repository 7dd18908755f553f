package scope

import "curtsy/frontier/canon"

// Covers reports whether u is in by its place and by Include, as a link would be. A requisite that it does not cover is
// a step off the scope.
func (s *Scope) Covers(u canon.URL) bool {
	return s.holds(u) && (len(s.include) == 0 || anyMatch(s.include, u.String()))
}

// Reaches reports whether a page of the host of u, found as a link or in a sitemap, may be in by its place, and by a sample of hosts. With
// ModeSeeds nothing is that is found.
func (s *Scope) Reaches(u canon.URL) bool {
	if s.cfg.Sample.Of == SampleHosts && !s.cfg.Sample.Holds(u) {
		return false
	}
	s.places.mu.RLock()
	defer s.places.mu.RUnlock()
	switch s.places.mode {
	case ModeSeeds:
		return false
	case ModePrefix:
		return len(s.places.dirs[HostOf(u)]) > 0
	}
	return s.places.hold(u)
}
