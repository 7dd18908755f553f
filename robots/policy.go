package robots

import (
	"cmp"
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
	more     *records // nil when there are none
}

// records are the values of records that change no verdict, as written: of the groups that bind, and of the file.
type records struct {
	notes
	sitemaps, licenses []string
}

// notes are those of a group.
type notes struct{ visitTimes, usages, signals []string }

// records returns them, none if there are none.
func (p *Policy) records() records {
	if p.more == nil {
		return records{}
	}
	return *p.more
}

// The memory that a policy and a rule take, about, beside the texts that they refer to.
const (
	policySize = 480
	ruleSize   = 32
)

const ownPath = "/robots.txt"

// Match judges a target: path and query, octet for octet as they will stand on the request line.
//
// The target "/robots.txt", in any equivalent spelling, is always allowed (RFC 9309 2.2.2: "the /robots.txt URI"; 1996
// 3.2.2). With a query it is another URI, and the rules decide.
func (p *Policy) Match(target string) (v Verdict) {
	best, next, own := p.decide(target)
	v.Allowed, v.Digest, v.Standard = true, p.digest, p.standard
	switch {
	case own:
		v.Reason = RobotsItself
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

// decide returns the rule that decides and the one that would without it; own is true when the target is that of the
// robots.txt itself, and no rule matters.
func (p *Policy) decide(target string) (best, next *rule, own bool) {
	target = canonicalTarget(target, p.standard)
	if target == ownPath {
		return nil, nil, true
	}
	best, next = p.rules.decide(target)
	return best, next, false
}

// CrawlDelay returns the pause that the site asks for between two requests, at most a year; ok is false when it asks
// for none. The longest of several values counts; a crawler that is named in a group without one gets that of "*".
func (p *Policy) CrawlDelay() (d time.Duration, ok bool) { return p.wait.d, p.wait.ok }

// RequestRate returns the pause that follows from Request-rate, chosen like CrawlDelay.
func (p *Policy) RequestRate() (d time.Duration, ok bool) { return p.rate.d, p.rate.ok }

// AskedDelay returns the pause that a site asks for, by Crawl-delay or Request-rate; the longer of the two.
func (p *Policy) AskedDelay() (d time.Duration, ok bool) {
	return max(p.wait.d, p.rate.d), p.wait.ok || p.rate.ok
}

// Sitemaps returns the values of the Sitemap records as written, in order, each once.
func (p *Policy) Sitemaps() []string { return each(p.records().sitemaps) }

// ResolveSitemaps returns the sitemaps as absolute URLs, each once. Relative ones are resolved against base,
// the URL of the robots.txt; what is no http or https URL is left out.
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

// VisitTimes returns the values of the Visit-time records of the groups that bind, as written, in order.
func (p *Policy) VisitTimes() []string { return slices.Clone(p.records().visitTimes) }

// ContentUsage returns the values of the Content-Usage records of the groups that bind, as written, in order
// (draft-ietf-aipref-attach). They say what may be done with what is fetched, and change no verdict.
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

// Size returns about how many octets of memory the policy holds, for caches that are bounded in octets.
func (p *Policy) Size() int {
	more := p.records()
	values := len(p.names) + len(more.sitemaps) + len(more.licenses) + len(more.visitTimes) + len(more.usages) +
		len(more.signals)
	return policySize + len(p.rules.text) + (len(p.rules.plain)+len(p.rules.wild))*ruleSize + values*16
}

// String returns the policy as a robots.txt that says the same to the same crawler, by the same standard, and nothing
// else: one group, its rules in canonical spelling and in the order of the file, then the other records.
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
		put("disallow", "") // without a rule it would be no record
	}
	rules := slices.Concat(p.rules.plain, p.rules.wild)
	slices.SortFunc(rules, func(a, b rule) int { return int(a.line - b.line) })
	for _, r := range rules {
		put(r.key(), r.pattern.in(p.rules.text))
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

// key returns the field of the rule.
func (r rule) key() string {
	if r.allow {
		return "allow"
	}
	return "disallow"
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
	Restricted   Reason = "restricted"        // robots.txt is forbidden, and so is all else (1996 3.1)
)

// Explanation is all that a policy has to say about a target: the verdict, and how it came about.
type Explanation struct {
	Verdict Verdict
	Token   string // the product token that the policy was read for
	Named   bool   // a group names that token; otherwise those of "*" bind, if there are any
	Group   string // the value of the first user-agent line of the groups that bind; empty when none does
	Target  string // the target in the spelling that rules are compared with
	Rules   int    // how many rules bind, repetitions left out

	// Candidates are the rules that match, the one that decides first, then each by what would decide without those
	// before it: by length under RFC 9309 (2.2.2), by their place in the file under the older standards. There are none
	// when the target is that of the robots.txt itself.
	Candidates []Candidate
}

// Candidate is a rule that matches a target.
type Candidate struct {
	Line    int
	Rule    string // as written
	Group   string // the value of the user-agent line of its group, as written
	Pattern string // in the spelling that is compared with targets
	Length  int    // octets of Pattern, "*" and "$" counted: the most specific match is the one with the most (2.2.2)
	Allow   bool
}

// Explain judges a target as Match does and tells everything that spoke for or against. It costs more than Match: it is
// for people.
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

// matching returns all rules that match a canonical target, the one that decides first.
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

// Explain has each policy of the rulebook explain itself, in the order of Policies.
func (b *Rulebook) Explain(target string) []Explanation {
	all := make([]Explanation, len(b.policies))
	for i, p := range b.policies {
		all[i] = p.Explain(target)
	}
	return all
}
