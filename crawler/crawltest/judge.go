package crawltest

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"curtsy/storage/plainly"
)

// trial is one judgement: the log, sorted out, and the rules.
type trial struct {
	web    *Web
	rules  Rules
	tokens []string
	all    []*exchange            // in order of arrival
	hosts  map[string][]*exchange // likewise, by authority
	held   map[string][]policy
	start  time.Time
}

// Judge holds the log against rules.
func (r *Referee) Judge(rules Rules) Report {
	t := r.trial(rules)
	report := Report{Requests: len(t.all)}
	for _, x := range t.all {
		report.Elapsed = max(report.Elapsed, x.End.Sub(t.start))
	}
	for _, rule := range []func() Row{
		t.robotsFirst, t.robotsObeyed, t.robotsDown, t.robotsFresh, t.pace, t.crawlDelay, t.inFlight, t.retryAfter,
		t.identity, t.manners, t.noFollow, t.traps, t.scope, t.coverage, t.once,
	} {
		row := rule()
		report.Rows = append(report.Rows, row)
		report.Violations += len(row.Findings)
	}
	for _, row := range t.hostile() {
		report.Rows = append(report.Rows, row)
		report.Violations += len(row.Findings)
	}
	for _, h := range r.web.order {
		report.Hosts = append(report.Hosts, t.host(h.name))
	}
	return report
}

// trial sorts out the log, to be judged by rules.
func (r *Referee) trial(rules Rules) *trial {
	if rules.Width == 0 {
		rules.Width = 1
	}
	if rules.Token == "" {
		rules.Token = ours
	}
	t := &trial{web: r.web, rules: rules, tokens: tokensOf(rules.Token), all: r.exchanges(), hosts: map[string][]*exchange{}}
	for _, x := range t.all {
		t.hosts[x.Host] = append(t.hosts[x.Host], x)
	}
	if len(t.all) > 0 {
		t.start = t.all[0].Start
	}
	t.held = r.web.policies(t.all)
	return t
}

// row sums a rule up. checked is how many facts were held against it; evidence says what they show.
func row(rule Rule, checked int, evidence string, findings []Finding) Row {
	r := Row{Rule: rule, Verdict: Kept, Checked: checked, Evidence: evidence, Findings: findings}
	switch {
	case len(findings) > 0:
		r.Verdict, r.Evidence = Broken, plainly.Count(len(findings), "finding")+", the first: "+findings[0].String()
	case checked == 0:
		r.Verdict, r.Evidence = Unshown, "the crawl met nothing to judge it by"
	}
	return r
}

// find makes a finding on a request.
func (t *trial) find(x *exchange, format string, args ...any) Finding {
	return Finding{
		Host: x.Host, Target: x.Target, At: x.Start,
		Text: fmt.Sprintf("%s at %s ", x.Method, t.when(x.Start)) + fmt.Sprintf(format, args...),
	}
}

// when writes a time as seconds since the first request.
func (t *trial) when(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return seconds(at.Sub(t.start))
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + "s" }

// pages calls f for each request that is not for a robots.txt, with the policy that held when it arrived.
func (t *trial) pages(f func(x *exchange, p policy)) {
	for _, x := range t.all {
		if !x.robots {
			f(x, at(t.held[x.Host], x))
		}
	}
}

func (t *trial) robotsFirst() Row {
	var found []Finding
	t.pages(func(x *exchange, p policy) {
		switch p.kind {
		case unasked:
			found = append(found, t.find(x, "before any robots.txt of the host was there"))
		case underway:
			found = append(found, t.find(x, "while robots.txt was %s at %s and that not answered", p.why, t.when(p.by.End)))
		}
	})
	return row(RobotsFirst, len(t.hosts), "the first thing at each of "+plainly.Count(len(t.hosts), "host"), found)
}

func (t *trial) robotsObeyed() Row {
	var found []Finding
	ruledBy := map[string]bool{}
	checked := 0
	t.pages(func(x *exchange, p policy) {
		if p.kind != ruled {
			return
		}
		ruledBy[x.Host] = true
		checked++
		if why := p.disallows(t.tokens, x.Target); why != "" {
			found = append(found, t.find(x, "though %s (served at %s)", why, t.when(p.since)))
		}
	})
	return row(RobotsObeyed, checked, fmt.Sprintf("%s at %s with rules, all allowed", plainly.Count(checked, "request"), plainly.Count(len(ruledBy), "host")), found)
}

func (t *trial) robotsDown() Row {
	var found []Finding
	hosts := 0
	for _, held := range t.held {
		if slices.ContainsFunc(held, func(p policy) bool { return p.kind == down }) {
			hosts++
		}
	}
	t.pages(func(x *exchange, p policy) {
		if p.kind == down {
			found = append(found, t.find(x, "though robots.txt %s at %s", p.why, t.when(p.by.End)))
		}
	})
	return row(RobotsDown, hosts, plainly.Count(hosts, "host")+" left alone", found)
}

func (t *trial) robotsFresh() Row {
	var found []Finding
	checked, oldest := 0, time.Duration(0)
	t.pages(func(x *exchange, p policy) {
		if p.kind != ruled && p.kind != open {
			return
		}
		checked++
		age := x.Start.Sub(p.since)
		oldest = max(oldest, age)
		if age > policyLife {
			found = append(found, t.find(x, "on a robots.txt of %s, %v old", t.when(p.since), age.Round(time.Second)))
		}
	})
	return row(RobotsFresh, checked, "the oldest in use was "+seconds(oldest)+" old", found)
}

func (t *trial) identity() Row {
	var found []Finding
	var first *exchange
	for _, x := range t.all {
		switch {
		case !carries(x.UserAgent, t.rules.Token):
			found = append(found, t.find(x, "as %s, which does not carry the token %s", quote(x.UserAgent), t.rules.Token))
		case first == nil:
			first = x
		case x.UserAgent != first.UserAgent:
			found = append(found, t.find(x, "as %s, but at %s as %s", quote(x.UserAgent), t.when(first.Start), quote(first.UserAgent)))
		}
	}
	evidence := ""
	if first != nil {
		evidence = "always " + quote(first.UserAgent)
	}
	return row(Identity, len(t.all), evidence, found)
}

func (t *trial) manners() Row {
	var found []Finding
	for _, x := range t.all {
		if x.Method != "GET" && x.Method != "HEAD" {
			found = append(found, t.find(x, "is neither GET nor HEAD"))
		}
		for _, field := range []string{"Cookie", "Authorization", "Proxy-Authorization"} {
			if x.Header.Get(field) != "" {
				found = append(found, t.find(x, "with a %s field", field))
			}
		}
	}
	return row(Manners, len(t.all), "GET and HEAD only; no cookies, no credentials", found)
}
