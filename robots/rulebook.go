package robots

import "time"

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
