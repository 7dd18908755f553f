package crawltest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"curtsy/storage/plainly"
)

// Trial is one judgement: the log, sorted out, and the rules.
type Trial struct {
	web    *Web
	Rules  Rules
	tokens []string
	all    []*Exchange            // in order of arrival
	hosts  map[string][]*Exchange // likewise, by authority
	held   map[string][]policy
	start  time.Time
}

// Judge holds the log against rules.
func (r *Referee) Judge(rules Rules) Report {
	t := r.Trial(rules)
	report := Report{Requests: len(t.all), Elapsed: t.Elapsed()}
	for _, rule := range t.judges() {
		report.Rows = append(report.Rows, rule.judge())
	}
	report.Rows = append(report.Rows, t.Hostile()...)
	for _, h := range r.web.order {
		report.Hosts = append(report.Hosts, t.Summary(h.name))
	}
	return report
}

// judge is a rule and who judges by it.
type judge struct {
	rule  Rule
	judge func() Row
}

// judges are the rules in the order of a Report.
func (t *Trial) judges() []judge {
	return []judge{
		{RobotsFirst, t.robotsFirst}, {RobotsObeyed, t.robotsObeyed}, {RobotsDown, t.robotsDown},
		{RobotsFresh, t.robotsFresh},
		{Pace, t.pace}, {CrawlDelay, t.crawlDelay}, {InFlight, t.inFlight}, {RetryAfter, t.retryAfter},
		{Identity, t.identity}, {Signatures, t.signatures},
		{Manners, t.manners}, {NoFollow, t.noFollow}, {Traps, t.traps}, {Scope, t.scope}, {Coverage, t.coverage},
		{Once, t.once},
	}
}

// Judge judges by one of the referee's own rules.
func (t *Trial) Judge(rule Rule) Row {
	for _, j := range t.judges() {
		if j.rule == rule {
			return j.judge()
		}
	}
	return Row{Rule: rule, Verdict: Unshown}
}

// All are the requests in order of arrival.
func (t *Trial) All() []*Exchange { return t.all }

// Host are those to one authority.
func (t *Trial) Host(name string) []*Exchange { return t.hosts[name] }

// Hosts are the authorities of the web, in its order.
func (t *Trial) Hosts() []string { return t.web.Hosts() }

// Asked is how many of them were asked for anything.
func (t *Trial) Asked() int { return len(t.hosts) }

// Elapsed is the time from the first request to the end of the last exchange.
func (t *Trial) Elapsed() (d time.Duration) {
	for _, x := range t.all {
		d = max(d, x.End.Sub(t.start))
	}
	return d
}

// Only returns the trial of some authorities alone.
func (t *Trial) Only(hosts ...string) *Trial {
	part := *t
	part.all, part.hosts, part.held = nil, map[string][]*Exchange{}, map[string][]policy{}
	for _, x := range t.all {
		if slices.Contains(hosts, x.Host) {
			part.all = append(part.all, x)
		}
	}
	for _, h := range hosts {
		part.hosts[h], part.held[h] = t.hosts[h], t.held[h]
	}
	return &part
}

// Forbids says which rule of robots.txt forbids what x asked for: of the file that was had then, or else of the one
// that the host has. It is empty if none does.
func (t *Trial) Forbids(x *Exchange) string {
	if by := at(t.held[x.Host], x).disallows(t.tokens, x.Target); by != "" {
		return by
	}
	if t.web.configured(t.web.hosts[x.Host], nil).disallows(t.tokens, x.Target) != "" {
		return "the robots.txt, which had not been fetched, disallows it"
	}
	return ""
}

// HadRobots reports whether, when x began, its host's robots.txt had been answered with something that lasts, or was
// still on its way.
func (t *Trial) HadRobots(x *Exchange) bool { return at(t.held[x.Host], x).had() }

// Trial sorts out the log, to be judged by rules.
func (r *Referee) Trial(rules Rules) *Trial {
	if rules.Width == 0 {
		rules.Width = 1
	}
	if rules.Token == "" {
		rules.Token = DefaultToken
	}
	t := &Trial{web: r.web, Rules: rules, tokens: tokensOf(rules.Token), all: r.exchanges(),
		hosts: map[string][]*Exchange{}}
	for _, x := range t.all {
		t.hosts[x.Host] = append(t.hosts[x.Host], x)
	}
	if len(t.all) > 0 {
		t.start = t.all[0].Start
	}
	t.held = r.web.policies(t.all)
	return t
}

// Sum sums a rule up. checked is how many facts were held against it; evidence says what they show.
func Sum(rule Rule, checked int, evidence string, findings []Finding) Row {
	r := Row{Rule: rule, Verdict: Kept, Checked: checked, Evidence: evidence, Findings: findings}
	switch {
	case len(findings) > 0:
		r.Verdict, r.Evidence = Broken, plainly.Count(len(findings), "finding")+", the first: "+findings[0].String()
	case checked == 0:
		r.Verdict, r.Evidence = Unshown, "the crawl met nothing to judge it by"
	}
	return r
}

// Find makes a finding on a request.
func (t *Trial) Find(x *Exchange, format string, args ...any) Finding {
	return Finding{
		Host: x.Host, Target: x.Target, At: x.Start,
		Text: fmt.Sprintf("%s at %s ", x.Method, t.When(x.Start)) + fmt.Sprintf(format, args...),
	}
}

// When writes a time as seconds since the first request.
func (t *Trial) When(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return Seconds(at.Sub(t.start))
}

// pages calls f for each request that is not for a robots.txt, with the policy that held when it arrived.
func (t *Trial) pages(f func(x *Exchange, p policy)) {
	for _, x := range t.all {
		if !x.robots {
			f(x, at(t.held[x.Host], x))
		}
	}
}

func (t *Trial) robotsFirst() Row {
	var found []Finding
	t.pages(func(x *Exchange, p policy) {
		switch p.kind {
		case unasked:
			found = append(found, t.Find(x, "before any robots.txt of the host was there"))
		case underway:
			found = append(found, t.Find(x, "while robots.txt was %s at %s and that not answered", p.why, t.When(p.by.End)))
		}
	})
	return Sum(RobotsFirst, len(t.hosts), "the first thing at each of "+plainly.Count(len(t.hosts), "host"), found)
}

func (t *Trial) robotsObeyed() Row {
	var found []Finding
	ruledBy := map[string]bool{}
	checked := 0
	t.pages(func(x *Exchange, p policy) {
		if p.kind != ruled {
			return
		}
		ruledBy[x.Host] = true
		checked++
		if why := p.disallows(t.tokens, x.Target); why != "" {
			found = append(found, t.Find(x, "though %s (served at %s)", why, t.When(p.since)))
		}
	})
	return Sum(RobotsObeyed, checked, fmt.Sprintf("%s at %s with rules, all allowed", plainly.Count(checked, "request"),
		plainly.Count(len(ruledBy), "host")), found)
}

func (t *Trial) robotsDown() Row {
	var found []Finding
	hosts := 0
	for _, held := range t.held {
		if slices.ContainsFunc(held, func(p policy) bool { return p.kind == down }) {
			hosts++
		}
	}
	t.pages(func(x *Exchange, p policy) {
		if p.kind == down {
			found = append(found, t.Find(x, "though robots.txt %s at %s", p.why, t.When(p.by.End)))
		}
	})
	return Sum(RobotsDown, hosts, plainly.Count(hosts, "host")+" not contacted", found)
}

func (t *Trial) robotsFresh() Row {
	var found []Finding
	checked, oldest := 0, time.Duration(0)
	t.pages(func(x *Exchange, p policy) {
		if p.kind != ruled && p.kind != open {
			return
		}
		checked++
		age := x.Start.Sub(p.since)
		oldest = max(oldest, age)
		if age > policyLife {
			found = append(found, t.Find(x, "on a robots.txt of %s, %v old", t.When(p.since), age.Round(time.Second)))
		}
	})
	return Sum(RobotsFresh, checked, "the oldest in use was "+Seconds(oldest)+" old", found)
}

func (t *Trial) identity() Row {
	var found []Finding
	var first *Exchange
	for _, x := range t.all {
		switch {
		case !carries(x.UserAgent, t.Rules.Token):
			found = append(found, t.Find(x, "as %s, which does not carry the token %s", Quote(x.UserAgent), t.Rules.Token))
		case first == nil:
			first = x
		case x.UserAgent != first.UserAgent:
			found = append(found,
				t.Find(x, "as %s, but at %s as %s", Quote(x.UserAgent), t.When(first.Start), Quote(first.UserAgent)))
		}
	}
	evidence := ""
	if first != nil {
		evidence = "always " + Quote(first.UserAgent)
	}
	return Sum(Identity, len(t.all), evidence, found)
}

func (t *Trial) manners() Row {
	var found []Finding
	for _, x := range t.all {
		if x.Method != "GET" && x.Method != "HEAD" {
			found = append(found, t.Find(x, "is neither GET nor HEAD"))
		}
		for _, field := range []string{"Cookie", "Authorization", "Proxy-Authorization"} {
			if x.Header.Get(field) != "" {
				found = append(found, t.Find(x, "with a %s field", field))
			}
		}
	}
	return Sum(Manners, len(t.all), "GET and HEAD only; no cookies, no credentials", found)
}

// carries reports whether a User-Agent contains a product token, in any case.
func carries(userAgent, token string) bool {
	return strings.Contains(strings.ToLower(userAgent), strings.ToLower(token))
}

// signatures leaves out requests that are not signed. Where nobody knows the keys, nothing is shown, and the row says why.
func (t *Trial) signatures() Row {
	var found []Finding
	verified, unverified, why := 0, 0, ""
	for _, x := range t.all {
		v := t.Rules.Keys.Check(request{
			Method: x.Method, Scheme: "http", Authority: x.by, Target: x.Target, Header: x.Header, At: x.Start,
		})
		switch v.Outcome {
		case Invalid:
			found = append(found, t.Find(x, "with a signature that does not count: %s", v.Why))
		case Unverified:
			unverified, why = unverified+1, v.Why
		case botauthVerified:
			verified++
		}
	}
	evidence := fmt.Sprintf("%d of %s signed, and right", verified, plainly.Count(len(t.all), "request"))
	if unverified > 0 {
		evidence += fmt.Sprintf("; %d not verified: %s", unverified, why)
	}
	row := Sum(Signatures, verified, evidence, found)
	if row.Verdict == Unshown && unverified > 0 {
		row.Evidence = fmt.Sprintf("%s signed, and not verified: %s", plainly.Count(unverified, "request"), why)
	}
	return row
}
