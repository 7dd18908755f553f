package scope

import (
	"strings"

	"curtsy/frontier/canon"
)

// The names of rules: by Config.Requisites, and by Config.External.
const (
	RuleRequisites = "scope:requisites"
	RuleExternal   = "scope:external"
)

const RuleScript = "scope:script"

const (
	maxAway   = 3 // requisite steps in a row off the scope
	maxEmbeds = 8 // requisite steps in a row that do not count as depth: style sheets import each other five deep
)

type opinion uint8

const (
	none opinion = iota
	accept
	refuse
)

func refuseIf(bad bool) opinion {
	if bad {
		return refuse
	}
	return none
}

func acceptIf(good bool) opinion {
	if good {
		return accept
	}
	return none
}

type rule struct {
	name     string
	active   bool // it can have an opinion in this configuration
	timeless bool // its refusals hold for every later candidate with the URL
	judge    func(Candidate) opinion
}

// table returns all rules in order. The last one always has an opinion.
func (s *Scope) table() []rule {
	return []rule{
		{"scope:exclude", len(s.exclude) > 0, true, func(c Candidate) opinion {
			return refuseIf(anyMatch(s.exclude, c.URL.String()))
		}},
		{"scope:host-exclude", len(s.hosts) > 0, true, func(c Candidate) opinion { return refuseIf(s.excludedThere(c.URL)) }},
		{ruleReject, len(s.reject.extensions) > 0, true, func(c Candidate) opinion {
			return refuseIf(s.reject.extension(c.URL.Path()))
		}},
		{RuleSample, s.cfg.Sample.Seeds, false, func(c Candidate) opinion {
			return refuseIf(c.Seed && !s.cfg.Sample.Holds(c.URL))
		}},
		{"scope:seed", true, false, func(c Candidate) opinion {
			return acceptIf(c.Seed && !c.Redirect)
		}},
		s.shape("segments", func(u canon.URL, n int) bool { return segments(keyPath(u)) > n }),
		s.shape("percent", func(u canon.URL, n int) bool { return encodings(u.RequestURI(), n) }),
		s.shape("repeat", func(u canon.URL, n int) bool { return cycles(keyPath(u), 1, n) }),
		s.shape("cycle", func(u canon.URL, n int) bool {
			path := keyPath(u)
			return cycles(path, 2, n) || cycles(path, 3, n) || cycles(path, 4, n)
		}),
		{"scope:nofollow", true, false, func(c Candidate) opinion {
			return refuseIf(c.NoFollow && !c.Embed)
		}},
		{"scope:sitemap", true, false, func(c Candidate) opinion {
			switch {
			case !c.Map:
				return none
			case s.cfg.Sitemaps:
				return accept
			}
			return refuse
		}},
		{"scope:seed-redirect", true, false, func(c Candidate) opinion {
			return acceptIf(c.Seed)
		}},
		{RuleScript, s.cfg.Scripts, false, func(c Candidate) opinion {
			return refuseIf(c.Script && !s.holds(c.URL))
		}},
		{RuleExternal, s.cfg.External != ExternalNone, false, s.external},
		{"scope:depth", s.cfg.Depth != nil, false, func(c Candidate) opinion {
			return refuseIf(c.depth() > *s.cfg.Depth)
		}},
		{"trap:depth", s.trap["depth"] > 0, false, func(c Candidate) opinion {
			return refuseIf(c.depth() > s.trap["depth"])
		}},
		{ruleAccept, len(s.accept.extensions) > 0 && len(s.accept.types) == 0, false, func(c Candidate) opinion {
			path := c.URL.Path()
			return refuseIf(!s.accept.extension(path) && !mayBePage(path))
		}},
		{RuleRequisites, s.cfg.Requisites == RequisitesNone, false, func(c Candidate) opinion {
			return refuseIf(c.Embed)
		}},
		{RuleRequisites, s.cfg.Requisites == RequisitesAll, false, func(c Candidate) opinion {
			switch {
			case !c.Embed:
				return none
			case c.Away <= maxAway:
				return accept
			}
			return refuseIf(!s.holds(c.URL))
		}},
		{RuleRequisites, s.cfg.Requisites == RequisitesHost, false, func(c Candidate) opinion {
			switch {
			case !c.Embed:
				return none
			case s.seedsHost(c.URL):
				return accept
			}
			return refuseIf(!s.holds(c.URL))
		}},
		{RuleSample, s.cfg.Sample.Of != "", false, s.cfg.Sample.judge},
		{"scope:include", len(s.include) > 0, false, func(c Candidate) opinion {
			return refuseIf(!anyMatch(s.include, c.URL.String()))
		}},
		{"scope:host-include", len(s.hosts) > 0, false, func(c Candidate) opinion { return refuseIf(!s.includedThere(c.URL)) }},
		{"scope:" + string(s.cfg.Mode), true, false, func(c Candidate) opinion {
			if s.holds(c.URL) {
				return accept
			}
			return refuse
		}},
	}
}

// external accepts URLs off the scope as leaves, except requisites that another rule covers.
func (s *Scope) external(c Candidate) opinion {
	if c.Embed && s.cfg.Requisites != RequisitesScope {
		return none
	}
	return acceptIf(!s.holds(c.URL))
}

// shape is the rule of a trap in the URL's shape.
func (s *Scope) shape(name string, trapped func(u canon.URL, n int) bool) rule {
	n := s.trap[name]
	return rule{"trap:" + name, n > 0, true, func(c Candidate) opinion { return refuseIf(trapped(c.URL, n)) }}
}

// depth includes requisite steps in a row beyond maxEmbeds.
func (c Candidate) depth() int { return c.Depth + max(0, c.Embeds-maxEmbeds) }

func keyPath(u canon.URL) string {
	root := len(u.String()) - len(u.RequestURI()) // key and fetch URL differ only behind it
	path, _, _ := strings.Cut(u.Key()[root:], "?")
	return path
}
