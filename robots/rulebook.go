package robots

import (
	"time"
)

// Rulebook judges by every document and for every product token that binds a crawler. It is immutable.
type Rulebook struct{ policies []*Policy }

// Parse reads a body for each token by the standard of the terms and, when they are strict and it is another, by RFC
// 9309 first. Without a token the groups of "*" bind.
func (t Terms) Parse(body []byte, tokens ...string) *Rulebook {
	standards := []Standard{t.Standard}
	if t.Strict && t.Standard != RFC9309 {
		standards = []Standard{RFC9309, t.Standard}
	}
	if len(tokens) == 0 {
		tokens = []string{""}
	}
	b := &Rulebook{policies: make([]*Policy, 0, len(standards)*len(tokens))}
	for _, s := range standards {
		for _, token := range tokens {
			b.policies = append(b.policies, Parse(body, Options{Token: token, Standard: s}))
		}
	}
	return b
}

// Match judges a target, as Policy.Match does. The verdict is the first refusal, or else that for the first token.
func (b *Rulebook) Match(target string) Verdict {
	first := b.policies[0].Match(target)
	if !first.Allowed {
		return first
	}
	for _, p := range b.policies[1:] {
		if v := p.Match(target); !v.Allowed {
			return v
		}
	}
	return first
}

// Allowed reports whether a target may be fetched, as Policy.Allowed does: whether all policies allow it.
func (b *Rulebook) Allowed(target string) bool {
	for _, p := range b.policies {
		if !p.Allowed(target) {
			return false
		}
	}
	return true
}

// Policies returns the policies that the rulebook consists of: by each document in turn, for each token in turn. The
// slice is the rulebook's own.
func (b *Rulebook) Policies() []*Policy { return b.policies }

// CrawlDelay returns the longest of the policies' delays; ok is false when none has one.
func (b *Rulebook) CrawlDelay() (d time.Duration, ok bool) {
	return b.longest(func(p *Policy) delay { return p.wait })
}

// RequestRate returns the longest of the pauses that follow from the policies' Request-rates.
func (b *Rulebook) RequestRate() (d time.Duration, ok bool) {
	return b.longest(func(p *Policy) delay { return p.rate })
}

func (b *Rulebook) longest(of func(*Policy) delay) (time.Duration, bool) {
	var all delay
	for _, p := range b.policies {
		all = all.longer(of(p))
	}
	return all.d, all.ok
}

// Size returns about how many octets of memory the rulebook holds, for caches that are bounded in octets.
func (b *Rulebook) Size() (n int) {
	for _, p := range b.policies {
		n += p.Size()
	}
	return n
}

// Verdict is the answer to whether a target may be fetched, and why. It says enough for anyone who holds the file
// to check it.
type Verdict struct {
	Allowed  bool
	Reason   Reason
	Line     int      // of the deciding rule in the file, from 1; 0 when no rule decided
	Rule     string   // the deciding rule as written, e.g. "Disallow: /private/"; empty when no rule decided
	Group    string   // the value of the user-agent line whose group decided, as written; empty when no group is concerned
	RunnerUp string   // the next best matching rule as written; empty when there is none
	Digest   [32]byte // SHA-256 of the file; zero when there is none
	Standard Standard
}

// Reason says in stable words what decided. The words stand in ledger and reports.
type Reason string

// The reasons.
const (
	// no group applies, or the group that does has no rules: allowed (RFC 9309 2.2.1, 2.2.2)
	NoRules      Reason = "no rules"
	NoMatch      Reason = "no match"          // no rule of the group matches: allowed (2.2.2)
	AllowRule    Reason = "allow rule"        // the most specific match is an Allow
	DisallowRule Reason = "disallow rule"     // the most specific match is a Disallow
	RobotsItself Reason = "robots.txt itself" // always allowed (2.2.2)
	Unavailable  Reason = "unavailable"       // the server says that there is no robots.txt for us: allowed (2.3.1.3)
	Unreachable  Reason = "unreachable"       // robots.txt could not be had: disallowed (2.3.1.4)
	Restricted   Reason = "restricted"        // robots.txt is forbidden, and so is all else (1996 3.1; Terms.Forbidden)
)
