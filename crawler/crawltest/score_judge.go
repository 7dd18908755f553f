package crawltest

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"curtsy/storage/audit/pauses"
	"curtsy/storage/plainly"
)

// everywhere are the rules that each site gives occasion for.
func everywhere() exhibit {
	afterRobots := func(g gap) bool { return g.before.robots }
	afterRedirect := func(g gap) bool { return !g.before.robots && g.before.redirected() }
	return exhibit{rows: []scoreRow{
		{1, "identity", "RFC 9309 2.2.1", (*trial).identity},
		{2, "contact", "RFC 9110 10.1.2, 10.1.5", (*trial).contact},
		{4, RobotsFirst, "RFC 9309 2.3", (*trial).robotsFirst},
		{4, "robots.txt cached", "RFC 9309 2.4", (*trial).robotsCached},
		{9, "one exchange at a time", "cbcp", (*trial).inFlight},
		{9, "pace of 1 s", "curtsy", func(t *trial) Row {
			return t.spaced(t.everyGap(), t.rules.Pace, func(g gap) bool { return !afterRobots(g) && !afterRedirect(g) })
		}},
		{9, "pace: after robots.txt", "curtsy", func(t *trial) Row { return t.spaced(t.everyGap(), t.rules.Pace, afterRobots) }},
		{9, "pace: after a redirect", "curtsy", func(t *trial) Row { return t.spaced(t.everyGap(), t.rules.Pace, afterRedirect) }},
	}}
}

// reached are the rules about what is fetched in all.
func (b *Board) reached() exhibit {
	return exhibit{rows: []scoreRow{
		{0, Scope, "curtsy", (*trial).scope},
		{0, Once, "curtsy", func(t *trial) Row {
			return t.only(slices.DeleteFunc(slices.Sorted(maps.Keys(t.hosts)), func(h string) bool { return h == spelled })...).once()
		}},
		{0, Coverage, "curtsy", func(t *trial) Row { return t.coverageBut(b.spared) }},
	}}
}

// links judges by what was asked for of a host: all of must, where it was answered without an error, and none of not.
func links(host string, must, not []string) func(t *trial) Row {
	return func(t *trial) Row {
		var found []Finding
		asked := map[string][]*exchange{}
		for _, x := range t.hosts[host] {
			asked[x.key] = append(asked[x.key], x)
		}
		for _, target := range not {
			for _, x := range asked[key(target)] {
				why := "the page or the link asks not to follow"
				if by := at(t.held[host], x).disallows(t.tokens, x.Target); by != "" {
					why = by
				} else if t.web.configured(t.web.hosts[host], nil).disallows(t.tokens, x.Target) != "" {
					why = "the robots.txt, which had not been fetched, disallows it"
				}
				found = append(found, t.find(x, "though %s", why))
			}
		}
		for _, target := range must {
			if !t.rules.Partial && !slices.ContainsFunc(asked[key(target)], func(x *exchange) bool { return x.Status >= 200 && x.Status < 400 }) {
				found = append(found, Finding{Host: host, Target: target, Text: "never fetched, though it may be"})
			}
		}
		if len(t.hosts[host]) == 0 {
			return row("", 0, "", nil)
		}
		return row("", len(must)+len(not), fmt.Sprintf("%d allowed fetched, %d others left alone", len(must), len(not)), inOrder(found))
	}
}

// nothing judges that nothing but robots.txt was asked of a host.
func nothing(host string) func(t *trial) Row {
	return func(t *trial) Row {
		var found []Finding
		tries := 0
		why := "was not asked for"
		for _, x := range t.hosts[host] {
			switch {
			case x.robots:
				tries++
				why = policyOf(x.Status, nil, x.Cut).why
			default:
				found = append(found, t.find(x, "though robots.txt %s", why))
			}
		}
		return row("", tries+len(found), plainly.Count(tries, "request")+" for robots.txt, and nothing else", found)
	}
}

// everyGap returns the gaps of all hosts.
func (t *trial) everyGap() (all []gap) {
	for _, h := range t.web.order {
		all = append(all, gaps(t.hosts[h.name])...)
	}
	return all
}

// spaced judges those gaps that pick chooses. It forgives what an audit does: a crawler is not told here that it broke what
// there would be no violation.
func (t *trial) spaced(all []gap, need time.Duration, pick func(gap) bool) Row {
	var found []Finding
	var least gap
	checked := 0
	for _, g := range all {
		if !pick(g) {
			continue
		}
		if checked++; checked == 1 || g.d < least.d {
			least = g
		}
		if g.d < need-pauses.Slack(need) {
			found = append(found, t.describe(g, fmt.Sprintf("pace %v, kept %s, forgiven %v", need, precise(g.d), pauses.Slack(need))))
		}
	}
	evidence := ""
	if checked > 0 {
		evidence = fmt.Sprintf("%s, the smallest %s (%s) of %v, forgiven %v",
			plainly.Count(checked, "gap"), precise(least.d), least.x.Host, need, pauses.Slack(need))
	}
	return row("", checked, evidence, inOrder(found))
}

// reachable is what a site owner can write or go to: a URL or a mailbox.
var reachable = regexp.MustCompile(`https?://[^\s)]+\.[^\s)]+|[\w.+-]+@[\w-]+(\.[\w-]+)+`)

func (t *trial) contact() Row {
	var found []Finding
	evidence := ""
	for _, x := range t.all {
		by := reachable.FindString(x.UserAgent + " " + x.Header.Get("From"))
		if by == "" {
			found = append(found, t.find(x, "as %s, without an address to write to, and no From field", quote(x.UserAgent)))
		}
		evidence = "always " + quote(by)
	}
	return row("", len(t.all), evidence, found)
}

// robotsCached judges that a robots.txt that was had is not asked for again: no crawl of the scoreboard lasts a day. One
// that cannot be had may be, after a while, and so may one whose redirects lead in a circle or to nothing; who follows a
// circle (RFC 9309 2.3.1.2 has five hops at least) comes by it again besides.
func (t *trial) robotsCached() Row {
	var found []Finding
	for _, h := range t.web.order {
		var last *exchange
		for _, x := range t.hosts[h.name] {
			if x.key != robotsKey {
				continue
			}
			if last != nil && last.before(x) && at(t.held[h.name], x).had() {
				found = append(found, t.find(x, "again: at %s it was answered with %d", t.when(last.Start), last.Status))
			}
			last = x
		}
	}
	return row("", len(t.hosts), "asked once at "+plainly.Count(len(t.hosts), "host"), inOrder(found))
}

func (t *trial) methods() Row {
	var found []Finding
	for _, x := range t.all {
		if x.Method != http.MethodGet && x.Method != http.MethodHead {
			found = append(found, t.find(x, "is neither GET nor HEAD"))
		}
	}
	return row("", len(t.all), plainly.Count(len(t.all), "request"), found)
}

// cookiesKept judges that nothing a server set or asked for came with a request. One host sets cookies; on loopback all
// ports share them.
func (t *trial) cookiesKept(host string) Row {
	var found []Finding
	setBy := slices.IndexFunc(t.hosts[host], func(x *exchange) bool { return x.Answer.Get("Set-Cookie") != "" })
	checked := 0
	for _, x := range t.all {
		for _, field := range []string{"Cookie", "Authorization"} {
			if x.Header.Get(field) != "" {
				found = append(found, t.find(x, "with a %s field", field))
			}
		}
		if setBy >= 0 && t.hosts[host][setBy].before(x) {
			checked++
		}
	}
	return row("", checked, plainly.Count(checked, "request")+" after a cookie was set, none with it", found)
}

// backOffLeast is how long a host is left alone after an answer that says it is in trouble, if the answer does not say.
const backOffLeast = 10 * time.Second

// backedOff judges that a host rests after so many answers in a row of that status.
func (t *trial) backedOff(host string, status, times int) Row {
	var found []Finding
	checked, inRow := 0, 0
	for _, failed := range t.hosts[host] {
		if inRow++; failed.Status != status || failed.robots {
			inRow = 0
		}
		if inRow < times {
			continue
		}
		checked++
		for _, x := range t.hosts[host] {
			if failed.before(x) && x.Start.Sub(failed.End) < backOffLeast {
				found = append(found, t.find(x, "began %s after %d, the answer %d in a row; at least %v are asked",
					seconds(x.Start.Sub(failed.End)), status, inRow, backOffLeast))
				break
			}
		}
	}
	return row("", checked, fmt.Sprintf("at least %v of rest after %s", backOffLeast, plainly.Count(checked, "such answer")), inOrder(found))
}

// refused judges that a host is left alone after so many pages in a row that it would not give.
func (t *trial) refused(host string, most int) Row {
	var found []Finding
	var refusals []*exchange
	for _, x := range t.hosts[host] {
		if x.robots {
			continue
		}
		if len(refusals) >= most && refusals[most-1].before(x) {
			found = append(found, t.find(x, "though %s had been refused, the last at %s", plainly.Count(most, "page"), t.when(refusals[most-1].End)))
		}
		if x.Status == http.StatusForbidden {
			refusals = append(refusals, x)
		}
	}
	return row("", len(refusals), "left alone after "+plainly.Count(len(refusals), "refusal"), found)
}

// atMost judges that no more than so many requests go to what has a prefix.
func (t *trial) atMost(host, prefix string, most int) Row {
	var found []Finding
	n := 0
	for _, x := range t.hosts[host] {
		if !strings.HasPrefix(x.key, prefix) {
			continue
		}
		if n++; n > most {
			found = append(found, t.find(x, "is request %d there; %d are forgiven", n, most))
		}
	}
	return row("", n, "left after "+plainly.Count(n, "request"), found)
}

// coverageBut is coverage, but for hosts that a polite crawler may leave before it has seen all of them.
func (t *trial) coverageBut(spared map[string]bool) Row {
	row := t.coverage()
	if row.Verdict != Broken {
		return row
	}
	all := row.Findings
	found := slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return spared[f.Host] })
	if len(found) > 0 {
		row.Findings, row.Evidence = found, plainly.Count(len(found), "finding")+", the first: "+found[0].String()
		return row
	}
	row.Verdict, row.Findings = Kept, nil
	row.Evidence = fmt.Sprintf("all that can be reached; %s left for good reasons", plainly.Count(len(all), "URL"))
	return row
}
