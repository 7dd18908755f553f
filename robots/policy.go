package robots

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Policy is a robots.txt as it binds one crawler. It is immutable and safe for concurrent use. Parse makes it.
type Policy struct {
	token    string
	standard Standard
	digest   [32]byte
	named    bool     // a group names the token; otherwise those of "*" bind, if any
	group    string   // the value of the first agent line of the groups that bind; empty when no group does
	names    []string // of the groups of rules
	rules    ruleset
	wait     delay
	rate     delay
	more     *records // nil without any
}

// records are the values of records that change no verdict, as written: of the groups that bind, and of the file.
type records struct {
	notes
	sitemaps, licenses []string
}

type notes struct{ visitTimes, usages, signals []string }

// records returns p.more, empty for nil.
func (p *Policy) records() records {
	if p.more == nil {
		return records{}
	}
	return *p.more
}

// The approximate memory of a policy and a rule, without their texts.
const (
	policySize = 480
	ruleSize   = 32
)

const ownPath = "/robots.txt"

// Match judges a target: path and query, exactly as on the request line.
//
// The target "/robots.txt", in any equivalent spelling, is always allowed (RFC 9309 2.2.2: "the /robots.txt URI"; 1996
// 3.2.2). With a query it is another URI, and the rules decide.
func (p *Policy) Match(target string) (v Verdict) {
	v.Allowed, v.Digest, v.Standard = true, p.digest, p.standard
	if target = canonicalTarget(target, p.standard); target == ownPath {
		v.Reason = RobotsItself
		return v
	}
	switch best, next := p.rules.decide(target); {
	case best != nil:
		if v.Reason = AllowRule; !best.allow {
			v.Reason, v.Allowed = DisallowRule, false
		}
		v.Line, v.Rule, v.Group = int(best.line), best.written.in(p.rules.text), p.names[best.group]
		if next != nil {
			v.RunnerUp = next.written.in(p.rules.text)
		}
	default:
		if v.Reason, v.Group = NoMatch, p.group; p.rules.empty() {
			v.Reason = NoRules
		}
	}
	return v
}

// CrawlDelay returns the delay between two requests that the site requests, at most a year; ok is false without one.
// The longest of several values counts; a crawler that is named in a group without one gets that of "*".
func (p *Policy) CrawlDelay() (d time.Duration, ok bool) { return p.wait.d, p.wait.ok }

// RequestRate returns the delay that follows from Request-rate, chosen like CrawlDelay.
func (p *Policy) RequestRate() (d time.Duration, ok bool) { return p.rate.d, p.rate.ok }

// AskedDelay returns the longer of CrawlDelay and RequestRate.
func (p *Policy) AskedDelay() (d time.Duration, ok bool) {
	return max(p.wait.d, p.rate.d), p.wait.ok || p.rate.ok
}

// Sitemaps returns the values of the Sitemap records as written, in order, each once.
func (p *Policy) Sitemaps() []string { return each(p.records().sitemaps) }

// ResolveSitemaps returns the sitemaps as absolute http and https URLs, each once, relative ones resolved against base,
// the URL of the robots.txt. Others are left out.
func (p *Policy) ResolveSitemaps(base string) []string {
	b, err := url.Parse(base)
	if err != nil {
		return nil
	}
	var out []string
	for _, s := range p.records().sitemaps {
		u, err := b.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			continue
		}
		out = append(out, u.String())
	}
	return each(out)
}

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

// VisitTimes returns the values of the Visit-time records of the groups that bind, as written, in order.
func (p *Policy) VisitTimes() []string { return slices.Clone(p.records().visitTimes) }

// ContentUsage returns the values of the Content-Usage records of the groups that bind, as written, in order
// (draft-ietf-aipref-attach). They restrict the use of fetched content, and change no verdict.
func (p *Policy) ContentUsage() []string { return slices.Clone(p.records().usages) }

// ContentSignals returns the values of the Content-Signal records of the groups that bind, as written, in order. They
// change no verdict.
func (p *Policy) ContentSignals() []string { return slices.Clone(p.records().signals) }

// Licenses returns the values of the License records of the file (Really Simple Licensing), as written, each once.
func (p *Policy) Licenses() []string { return each(p.records().licenses) }

// Named reports whether a group names the policy's token. Otherwise those of "*" bind, if there are any.
func (p *Policy) Named() bool { return p.named }

// Standard returns the standard that the policy was read by.
func (p *Policy) Standard() Standard { return p.standard }

// Size returns the approximate memory of the policy in bytes, for bounded caches.
func (p *Policy) Size() int {
	more := p.records()
	values := len(p.names) + len(more.sitemaps) + len(more.licenses) + len(more.visitTimes) + len(more.usages) +
		len(more.signals)
	return policySize + len(p.rules.text) + (len(p.rules.plain)+len(p.rules.wild))*ruleSize + values*16
}

// String returns the policy as an equivalent robots.txt for the same crawler and standard: one group, its rules in
// canonical spelling and in the order of the file, then the other records.
func (p *Policy) String() string {
	var b strings.Builder
	put := func(key string, values ...string) {
		for _, v := range values {
			b.WriteString(key + ": " + v + "\n")
		}
	}
	if p.named {
		put("user-agent", p.token)
	} else if p.group != "" || p.wait.ok || p.rate.ok {
		put("user-agent", "*")
	}
	if p.group != "" && p.rules.empty() && p.standard.inRecords() {
		put("disallow", "") // a record needs a rule
	}
	rules := slices.Concat(p.rules.plain, p.rules.wild)
	slices.SortFunc(rules, func(a, b rule) int { return int(a.line - b.line) })
	for _, r := range rules {
		key := "disallow"
		if r.allow {
			key = "allow"
		}
		put(key, r.pattern.in(p.rules.text))
	}
	if p.wait.ok {
		put("crawl-delay", seconds(p.wait.d))
	}
	if p.rate.ok {
		put("request-rate", "1/"+seconds(p.rate.d))
	}
	put("visit-time", p.records().visitTimes...)
	put("content-usage", p.records().usages...)
	put("content-signal", p.records().signals...)
	put("sitemap", p.Sitemaps()...)
	put("license", p.Licenses()...)
	return b.String()
}

// seconds formats d in seconds, exactly.
func seconds(d time.Duration) string {
	s := strconv.FormatInt(int64(d/time.Second), 10)
	if f := d % time.Second; f > 0 {
		n := strconv.FormatInt(int64(time.Second+f), 10) // a one and nine digits
		s += "." + strings.TrimRight(n[1:], "0")
	}
	return s
}

// Rulebook judges by all documents and product tokens that bind a crawler. It is immutable.
type Rulebook struct{ policies []*Policy }

// Parse reads a body for each token by the standard of the terms; strict terms of another standard also read it by RFC
// 9309, first. Without a token the groups of "*" bind.
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

// Match judges a target, as Policy.Match does. It returns the first refusal, or else the verdict for the first token.
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

// Policies returns the rulebook's policies: by each document in turn, for each token in turn. Do not change the slice.
func (b *Rulebook) Policies() []*Policy { return b.policies }

// CrawlDelay returns the longest of the policies' delays; ok is false without one.
func (b *Rulebook) CrawlDelay() (d time.Duration, ok bool) {
	return b.longest(func(p *Policy) delay { return p.wait })
}

// RequestRate returns the longest of the delays that follow from the policies' Request-rates.
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

// Size returns the approximate memory of the rulebook in bytes, for bounded caches.
func (b *Rulebook) Size() (n int) {
	for _, p := range b.policies {
		n += p.Size()
	}
	return n
}

// Verdict is whether a target may be fetched, and why, with enough detail to check it against the file.
type Verdict struct {
	Allowed  bool
	Reason   Reason
	Line     int      // of the deciding rule, from 1; 0 when no rule decided
	Rule     string   // the deciding rule as written, e.g. "Disallow: /private/"; empty when no rule decided
	Group    string   // the value of the user-agent line whose group decided, as written; empty without one
	RunnerUp string   // the next best matching rule as written; empty without one
	Digest   [32]byte // SHA-256 of the file; zero without one
	Standard Standard
}

// Reason names the deciding rule or response, in stable words for ledger and reports.
type Reason string

// The reasons.
const (
	// no group applies, or the group that does has no rules: allowed (RFC 9309 2.2.1, 2.2.2)
	NoRules      Reason = "no rules"
	NoMatch      Reason = "no match"          // no rule of the group matches: allowed (2.2.2)
	AllowRule    Reason = "allow rule"        // the most specific match is an Allow
	DisallowRule Reason = "disallow rule"     // the most specific match is a Disallow
	RobotsItself Reason = "robots.txt itself" // always allowed (2.2.2)
	Unavailable  Reason = "unavailable"       // the server reports no robots.txt for the crawler: allowed (2.3.1.3)
	Unreachable  Reason = "unreachable"       // robots.txt cannot be fetched: disallowed (2.3.1.4)
	Restricted   Reason = "restricted"        // access to robots.txt is forbidden, and so to all else (1996 3.1)
)

// Explanation is a verdict with its derivation.
type Explanation struct {
	Verdict Verdict
	Token   string // the product token that the policy was read for
	Named   bool   // a group names that token; otherwise those of "*" bind, if there are any
	Group   string // the value of the first user-agent line of the groups that bind; empty when none does
	Target  string // in the spelling that rules are compared with
	Rules   int    // number of rules that bind, without repetitions

	// Candidates are the matching rules, the deciding one first, each before the one that would decide without it: by
	// length under RFC 9309 (2.2.2), by place in the file under the older standards. There are none for the robots.txt
	// itself.
	Candidates []Candidate
}

// Candidate is a rule that matches a target.
type Candidate struct {
	Line    int
	Rule    string // as written
	Group   string // the value of its group's user-agent line, as written
	Pattern string // in the spelling that is compared with targets
	Length  int    // bytes of Pattern, "*" and "$" counted: the longest match decides (2.2.2)
	Allow   bool
}

// Explain judges a target as Match does and returns all matching rules. It costs more than Match: it is for people.
func (p *Policy) Explain(target string) Explanation {
	e := Explanation{
		Verdict: p.Match(target), Token: p.token, Named: p.named, Group: p.group,
		Target: canonicalTarget(target, p.standard), Rules: len(p.rules.plain) + len(p.rules.wild),
	}
	if e.Verdict.Reason == RobotsItself {
		return e
	}
	for _, r := range p.rules.matching(e.Target) {
		e.Candidates = append(e.Candidates, Candidate{
			Line: int(r.line), Rule: r.written.in(p.rules.text), Group: p.names[r.group],
			Pattern: r.pattern.in(p.rules.text), Length: r.pattern.len(), Allow: r.allow,
		})
	}
	return e
}

// matching returns all rules that match a canonical target, the deciding one first.
func (s *ruleset) matching(target string) []*rule {
	var all []*rule
	for i := s.longest(target); i >= 0; i = int(s.plain[i].parent) {
		all = append(all, &s.plain[i])
	}
	for i := range s.wild {
		if w := &s.wild[i]; matches(w.pattern.in(s.text), target) {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b *rule) int {
		if s.inOrder {
			return cmp.Compare(a.line, b.line)
		}
		return byRank(*a, *b)
	})
	return all
}

// Explain returns the explanation of each policy, in the order of Policies.
func (b *Rulebook) Explain(target string) []Explanation {
	all := make([]Explanation, len(b.policies))
	for i, p := range b.policies {
		all[i] = p.Explain(target)
	}
	return all
}
