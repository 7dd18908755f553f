package robots

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Policy is what a robots.txt says to one crawler. It is immutable and may be shared without a lock. Parse makes it.
type Policy struct {
	token    string
	standard Standard
	digest   [32]byte
	named    bool     // a group names the token; otherwise those of "*" bind, if any
	group    string   // the value of the first agent line of the groups that bind; empty when no group does
	names    []string // of the groups that rules stand in
	rules    ruleset
	wait     delay
	rate     delay
	sitemaps []string
}

// What a policy and a rule cost in memory beside what they refer to, about.
const (
	policySize = 320
	ruleSize   = 32
)

const ownPath = "/robots.txt"

// Match judges a target: path and query, octet for octet as they will stand on the request line.
//
// The target "/robots.txt", in any equivalent spelling, is always allowed (RFC 9309 2.2.2: "the /robots.txt URI").
// With a query it is another URI, and the rules decide.
func (p *Policy) Match(target string) Verdict {
	v := Verdict{Digest: p.digest, Standard: p.standard, Allowed: true}
	target = canonicalTarget(target)
	if target == ownPath {
		v.Reason = RobotsItself
		return v
	}
	v.Group = p.group
	best, next := p.rules.decide(target)
	switch {
	case best != nil && best.allow:
		v.Reason = AllowRule
	case best != nil:
		v.Reason, v.Allowed = DisallowRule, false
	case p.rules.empty():
		v.Reason = NoRules
		return v
	default:
		v.Reason = NoMatch
		return v
	}
	v.Line, v.Rule, v.Group = int(best.line), best.written.in(p.rules.text), p.names[best.group]
	if next != nil {
		v.RunnerUp = next.written.in(p.rules.text)
	}
	return v
}

// CrawlDelay returns the pause that the site asks for between two requests, at most a year; ok is false when it asks
// for none. Of several values the longest counts; a crawler that is named in a group without one gets that of "*".
func (p *Policy) CrawlDelay() (d time.Duration, ok bool) { return p.wait.d, p.wait.ok }

// RequestRate returns the pause that follows from Request-rate, chosen like CrawlDelay.
func (p *Policy) RequestRate() (d time.Duration, ok bool) { return p.rate.d, p.rate.ok }

// Sitemaps returns the values of the Sitemap records as written, in order, each once.
func (p *Policy) Sitemaps() []string { return each(p.sitemaps) }

// ResolveSitemaps returns the sitemaps as absolute URLs, each once. What is not absolute is resolved against base,
// the URL of the robots.txt; what is no http or https URL is left out.
func (p *Policy) ResolveSitemaps(base string) []string {
	b, err := url.Parse(base)
	if err != nil {
		return nil
	}
	var out []string
	for _, s := range p.sitemaps {
		u, err := b.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			continue
		}
		out = append(out, u.String())
	}
	return each(out)
}

// each returns a copy of s without repetitions.
func each(s []string) []string {
	seen := make(map[string]bool, len(s))
	var out []string
	for _, v := range s {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// Digest returns the SHA-256 of the body that was parsed, all of it.
func (p *Policy) Digest() [32]byte { return p.digest }

// Token returns the product token that the policy was read for.
func (p *Policy) Token() string { return p.token }

// Standard returns the standard that the policy was read by.
func (p *Policy) Standard() Standard { return p.standard }

// Size returns about how many octets of memory the policy holds, for caches that are bounded in octets.
func (p *Policy) Size() int {
	return policySize + len(p.rules.text) + len(p.rules.plain)*(ruleSize+8) + len(p.rules.wild)*ruleSize + (len(p.names)+len(p.sitemaps))*16
}

// String returns the policy as a robots.txt that says the same to the same crawler and nothing else: one group, its
// rules in canonical spelling and in the order of the file, then the delays and the sitemaps.
func (p *Policy) String() string {
	var b strings.Builder
	switch {
	case p.named:
		b.WriteString("user-agent: " + p.token + "\n")
	case p.group != "":
		b.WriteString("user-agent: *\n")
	}
	rules := slices.Concat(p.rules.plain, p.rules.wild)
	slices.SortFunc(rules, func(a, b rule) int { return int(a.line - b.line) })
	for _, r := range rules {
		if r.allow {
			b.WriteString("allow: ")
		} else {
			b.WriteString("disallow: ")
		}
		b.WriteString(r.pattern.in(p.rules.text) + "\n")
	}
	if p.wait.ok {
		b.WriteString("crawl-delay: " + seconds(p.wait.d) + "\n")
	}
	if p.rate.ok {
		b.WriteString("request-rate: 1/" + seconds(p.rate.d) + "\n")
	}
	for _, s := range p.Sitemaps() {
		b.WriteString("sitemap: " + s + "\n")
	}
	return b.String()
}

// seconds writes d in seconds, as exactly as it is.
func seconds(d time.Duration) string {
	s := strconv.FormatInt(int64(d/time.Second), 10)
	if f := d % time.Second; f > 0 {
		n := strconv.FormatInt(int64(time.Second+f), 10) // a one and nine digits
		s += "." + strings.TrimRight(n[1:], "0")
	}
	return s
}
