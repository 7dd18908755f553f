package scope

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"curtsy/frontier/canon"
)

// The names of rules: by Config.Requisites, and by Config.External.
const (
	RuleRequisites = "scope:requisites"
	RuleExternal   = "scope:external"
)

// RuleScript is the name of the rule for what scripts name.
const RuleScript = "scope:script"

const (
	// maxAway is how many steps of a row of requisites may lead to what is off the scope.
	maxAway = 3
	// maxEmbeds is how many requisite steps in a row do not count as depth. A theme's style sheets import one another
	// four and five times over, and the last one names fonts.
	maxEmbeds = 8
)

// opinion is what a rule has to say.
type opinion uint8

const (
	none opinion = iota
	accept
	refuse
)

// refuseIf is the opinion of a rule that only ever refuses.
func refuseIf(bad bool) opinion {
	if bad {
		return refuse
	}
	return none
}

// acceptIf is the opinion of a rule that only ever accepts.
func acceptIf(good bool) opinion {
	if good {
		return accept
	}
	return none
}

// rule is a line of the table.
type rule struct {
	name     string
	active   bool // the configuration gives it something to say
	timeless bool // its refusals hold for every later candidate with the URL
	judge    func(Candidate) opinion
}

// table returns all rules in order. The first opinion decides, and the last rule always has one.
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

// external accepts what is off the scope as a leaf. Requisites that another rule speaks of are left to that.
func (s *Scope) external(c Candidate) opinion {
	if c.Embed && s.cfg.Requisites != RequisitesScope {
		return none
	}
	return acceptIf(!s.holds(c.URL))
}

// shape is the rule of a trap that shows in the URL alone.
func (s *Scope) shape(name string, trapped func(u canon.URL, n int) bool) rule {
	n := s.trap[name]
	return rule{"trap:" + name, n > 0, true, func(c Candidate) opinion { return refuseIf(trapped(c.URL, n)) }}
}

// depth is how deep a candidate counts as: requisite steps in a row beyond maxEmbeds count like links, so that a page
// that embeds a page that embeds a page comes to an end.
func (c Candidate) depth() int { return c.Depth + max(0, c.Embeds-maxEmbeds) }

// keyPath returns the path of the key, in which two spellings of a segment are one.
func keyPath(u canon.URL) string {
	root := len(u.String()) - len(u.RequestURI()) // key and fetch URL differ behind it alone
	path, _, _ := strings.Cut(u.Key()[root:], "?")
	return path
}

// RuleSample is the name of the rule by Config.Sample.
const RuleSample = "scope:sample"

// A Sample is of one of these.
const (
	SampleHosts = "hosts" // hosts, "www." ignored, with all their pages
	SamplePages = "pages" // URLs, with what they show
)

// DefaultSampleKey is the key of a Sample that names none.
const DefaultSampleKey = "curtsy"

// sampleWhole is all, in the parts that a share is counted in.
const sampleWhole = 1_000_000_000

// Sample is a share of what a crawl could fetch: the same for everybody who knows Of, Share and Key. The smaller of two
// samples with the same Key is part of the larger one. The zero Sample is everything.
type Sample struct {
	Of    string // SampleHosts or SamplePages; empty for no sample
	parts uint64 // of sampleWhole
	Key   string // empty means DefaultSampleKey
	Seeds bool   // seeds, and what they redirect to, are sampled, too; else they are in
}

// ParseSample reads a sample as people write it: "1%", "hosts:1%" or "pages:0.25%". An empty text is no sample.
func ParseSample(text string) (Sample, error) {
	if text == "" {
		return Sample{}, nil
	}
	of, share, told := strings.Cut(text, ":")
	if !told {
		of, share = SampleHosts, text
	}
	if of != SampleHosts && of != SamplePages {
		return Sample{}, fmt.Errorf("%q: write a share of hosts or of pages: hosts:1%% or pages:1%%", text)
	}
	parts, err := partsOf(share)
	if err != nil {
		return Sample{}, fmt.Errorf("%q: %w", text, err)
	}
	return Sample{Of: of, parts: parts}, nil
}

// partsOf reads a percentage with up to 7 decimal places.
func partsOf(share string) (uint64, error) {
	number, ok := strings.CutSuffix(share, "%")
	whole, decimals, point := strings.Cut(number, ".")
	if !ok || whole == "" || point && decimals == "" || strings.Trim(whole+decimals, "0123456789") != "" {
		return 0, errors.New("write a percentage, as 1% or 0.25%")
	}
	if len(whole) > 3 || len(decimals) > 7 {
		return 0, errors.New("at most 100%, and at most 7 decimal places")
	}
	parts, err := strconv.ParseUint(whole+decimals+strings.Repeat("0", 7-len(decimals)), 10, 64)
	switch {
	case err != nil:
		return 0, err
	case parts == 0:
		return 0, errors.New("nothing would be left; leave the sample out for everything")
	case parts > sampleWhole:
		return 0, errors.New("more than 100%")
	}
	return parts, nil
}

// String is the sample as ParseSample reads it.
func (s Sample) String() string {
	if s.Of == "" {
		return ""
	}
	text := fmt.Sprintf("%d.%07d", s.parts/1e7, s.parts%1e7)
	return s.Of + ":" + strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "%"
}

// Holds reports whether a URL is in the sample.
func (s *Sample) Holds(u canon.URL) bool {
	if s.Of == "" {
		return true
	}
	return s.draw(s.name(u)) < s.parts
}

// name is what is drawn of a URL: the name of its host without "www.", or its key.
func (s *Sample) name(u canon.URL) string {
	if s.Of == SamplePages {
		return u.Key()
	}
	return strings.TrimPrefix(u.Authority().Host(), "www.")
}

// draw puts a name into one of sampleWhole parts: the first 8 bytes of its HMAC-SHA-256, as a number, over all that such
// a number may be. docs/guides/research-crawl.md documents it.
func (s *Sample) draw(name string) (part uint64) {
	key := s.Key
	if key == "" {
		key = DefaultSampleKey
	}
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(name))
	part, _ = bits.Mul64(binary.BigEndian.Uint64(h.Sum(nil)), sampleWhole)
	return part
}

// judge is the rule for candidates that are no seeds. A sample of pages lets pass what a page in it shows, and where it
// redirects to.
func (s *Sample) judge(c Candidate) opinion {
	if s.Of == SamplePages && (c.Embed || c.Redirect) {
		return none
	}
	return refuseIf(!s.Holds(c.URL))
}
