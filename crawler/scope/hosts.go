package scope

import (
	"regexp"

	"curtsy/crawler/host"
	"curtsy/frontier/canon"
)

// hostPatterns are the patterns of a rule for some hosts alone.
type hostPatterns struct {
	rule             host.Rule
	include, exclude []*regexp.Regexp
}

func compileHosts(rules host.Rules) (all []hostPatterns, err error) {
	for _, r := range rules {
		p := hostPatterns{rule: r}
		if p.include, err = compile("include of host "+r.Match, r.Include); err != nil {
			return nil, err
		}
		if p.exclude, err = compile("exclude of host "+r.Match, r.Exclude); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// excludedThere reports whether a rule for the host of u keeps it out.
func (s *Scope) excludedThere(u canon.URL) bool {
	for _, p := range s.hosts {
		if len(p.exclude) > 0 && p.rule.Matches(u.Host()) && anyMatch(p.exclude, u.String()) {
			return true
		}
	}
	return false
}

// includedThere reports whether all rules for the host of u that have an Include let it in.
func (s *Scope) includedThere(u canon.URL) bool {
	for _, p := range s.hosts {
		if len(p.include) > 0 && p.rule.Matches(u.Host()) && !anyMatch(p.include, u.String()) {
			return false
		}
	}
	return true
}
