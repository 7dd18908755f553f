package scoreboard

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/storage/audit/pauses"
	"curtsy/storage/plainly"
)

// everywhere are the rules that each site gives occasion for.
var everywhere = []rule{
	{1, "identity", "RFC 9309 2.2.1", own(crawltest.Identity)},
	{1, crawltest.Signatures, "draft-ietf-webbotauth-httpsig-protocol", own(crawltest.Signatures)},
	{2, "contact", "RFC 9110 10.1.2, 10.1.5", contact},
	{4, crawltest.RobotsFirst, "RFC 9309 2.3", own(crawltest.RobotsFirst)},
	{4, "robots.txt cached", "RFC 9309 2.4", robotsCached},
	{9, "one request at a time", "cbcp", own(crawltest.InFlight)},
	{9, "pace of 1 s", "curtsy", gaps(func(g crawltest.Gap) bool { return !g.Last.ForRobots() && !g.Last.Redirected() })},
	{9, "pace: after robots.txt", "curtsy", gaps(func(g crawltest.Gap) bool { return g.Last.ForRobots() })},
	{9, "pace: after a redirect", "curtsy",
		gaps(func(g crawltest.Gap) bool { return !g.Last.ForRobots() && g.Last.Redirected() })},
}

// gaps judges by the pace those gaps that pick chooses.
func gaps(pick func(crawltest.Gap) bool) func(t *crawltest.Trial) crawltest.Row {
	return func(t *crawltest.Trial) crawltest.Row {
		var all []crawltest.Gap
		for _, h := range t.Hosts() {
			all = append(all, crawltest.Gaps(t.Host(h))...)
		}
		return spaced(t, all, t.Rules.Pace, pick)
	}
}

// reached are the rules about what is fetched in all.
func (b *Board) reached() []rule {
	return []rule{
		{0, crawltest.Scope, "curtsy", own(crawltest.Scope)},
		{0, crawltest.Once, "curtsy", func(t *crawltest.Trial) crawltest.Row {
			return t.Only(slices.DeleteFunc(t.Hosts(), func(h string) bool { return h == spelled })...).Judge(crawltest.Once)
		}},
		{0, crawltest.Coverage, "curtsy", func(t *crawltest.Trial) crawltest.Row { return coverageBut(t, b.spared) }},
	}
}

// own judges by one of the referee's own rules.
func own(rule crawltest.Rule) func(t *crawltest.Trial) crawltest.Row {
	return func(t *crawltest.Trial) crawltest.Row { return t.Judge(rule) }
}

// links judges by what was asked for of a host: all of must, where it was answered without an error, and none of not.
func links(host string, must, not []string) func(t *crawltest.Trial) crawltest.Row {
	return func(t *crawltest.Trial) crawltest.Row {
		var found []crawltest.Finding
		for _, target := range not {
			for _, x := range t.Host(host) {
				if x.Asks(target) {
					found = append(found, t.Find(x, "though %s", cmp.Or(t.Forbids(x), "the page or the link asks not to follow")))
				}
			}
		}
		for _, target := range must {
			had := func(x *crawltest.Exchange) bool { return x.Asks(target) && x.Status >= 200 && x.Status < 400 }
			if !t.Rules.Partial && !slices.ContainsFunc(t.Host(host), had) {
				found = append(found, crawltest.Finding{Host: host, Target: target, Text: "never fetched, though it may be"})
			}
		}
		if len(t.Host(host)) == 0 {
			return crawltest.Sum("", 0, "", nil)
		}
		return crawltest.Sum("", len(must)+len(not),
			fmt.Sprintf("%d allowed fetched, %s not requested", len(must), plainly.Count(len(not), "other")), crawltest.InOrder(found))
	}
}

// nothing judges that nothing but robots.txt was asked of a host.
func nothing(host string) func(t *crawltest.Trial) crawltest.Row {
	return func(t *crawltest.Trial) crawltest.Row {
		var found []crawltest.Finding
		tries := 0
		why := "was not requested"
		for _, x := range t.Host(host) {
			switch {
			case x.ForRobots():
				tries++
				why = x.AsRobots()
			default:
				found = append(found, t.Find(x, "though robots.txt %s", why))
			}
		}
		return crawltest.Sum("", tries+len(found), plainly.Count(tries, "request")+" for robots.txt, and nothing else", found)
	}
}

// spaced judges those gaps that pick chooses. It forgives what an audit does: a crawler is not told here that it broke
// what there would be no violation.
func spaced(t *crawltest.Trial, all []crawltest.Gap, need time.Duration, pick func(crawltest.Gap) bool) crawltest.Row {
	var found []crawltest.Finding
	var least crawltest.Gap
	checked := 0
	for _, g := range all {
		if !pick(g) {
			continue
		}
		if checked++; checked == 1 || g.Length < least.Length {
			least = g
		}
		if g.Length < need-pauses.Slack(need) {
			found = append(found,
				t.TooShort(g, fmt.Sprintf("pace %v, kept %s, forgiven %v", need, crawltest.Precise(g.Length), pauses.Slack(need))))
		}
	}
	evidence := ""
	if checked > 0 {
		evidence = fmt.Sprintf("%s, the smallest %s (%s) of %v, forgiven %v",
			plainly.Count(checked, "gap"), crawltest.Precise(least.Length), least.Next.Host, need, pauses.Slack(need))
	}
	return crawltest.Sum("", checked, evidence, crawltest.InOrder(found))
}

// reachable is what a site owner can write or go to: a URL or a mailbox.
var reachable = regexp.MustCompile(`https?://[^\s)]+\.[^\s)]+|[\w.+-]+@[\w-]+(\.[\w-]+)+`)

func contact(t *crawltest.Trial) crawltest.Row {
	var found []crawltest.Finding
	evidence := ""
	for _, x := range t.All() {
		by := reachable.FindString(x.UserAgent + " " + x.Header.Get("From"))
		if by == "" {
			found = append(found, t.Find(x, "as %s, without an address to write to, and no From field", crawltest.Quote(x.UserAgent)))
		}
		evidence = "always " + crawltest.Quote(by)
	}
	return crawltest.Sum("", len(t.All()), evidence, found)
}

// robotsCached judges that a robots.txt that was had is not asked for again: no crawl of the scoreboard lasts a day.
// One that cannot be had may be, after a while, and so may one whose redirects lead in a circle or to nothing; who
// follows a circle (RFC 9309 2.3.1.2 has five hops at least) comes by it again besides.
func robotsCached(t *crawltest.Trial) crawltest.Row {
	var found []crawltest.Finding
	for _, h := range t.Hosts() {
		var last *crawltest.Exchange
		for _, x := range t.Host(h) {
			if !x.Asks(crawltest.RobotsPath) {
				continue
			}
			if last != nil && last.Before(x) && t.HadRobots(x) {
				found = append(found, t.Find(x, "again: at %s it was answered with %d", t.When(last.Start), last.Status))
			}
			last = x
		}
	}
	return crawltest.Sum("", t.Asked(), "asked once at "+plainly.Count(t.Asked(), "host"), crawltest.InOrder(found))
}

func methods(t *crawltest.Trial) crawltest.Row {
	var found []crawltest.Finding
	for _, x := range t.All() {
		if x.Method != http.MethodGet && x.Method != http.MethodHead {
			found = append(found, t.Find(x, "is neither GET nor HEAD"))
		}
	}
	return crawltest.Sum("", len(t.All()), plainly.Count(len(t.All()), "request"), found)
}

// cookiesKept judges that nothing a server set or asked for came with a request. One host sets cookies; on loopback all
// ports share them.
func cookiesKept(t *crawltest.Trial, host string) crawltest.Row {
	var found []crawltest.Finding
	setBy := slices.IndexFunc(t.Host(host), func(x *crawltest.Exchange) bool { return x.Answer.Get("Set-Cookie") != "" })
	checked := 0
	for _, x := range t.All() {
		for _, field := range []string{"Cookie", "Authorization"} {
			if x.Header.Get(field) != "" {
				found = append(found, t.Find(x, "with a %s field", field))
			}
		}
		if setBy >= 0 && t.Host(host)[setBy].Before(x) {
			checked++
		}
	}
	return crawltest.Sum("", checked, plainly.Count(checked, "request")+" after a cookie was set, none with it", found)
}

// backOffLeast is how long a host is left alone after an answer that says it is in trouble, if the answer does not say.
const backOffLeast = 10 * time.Second

// backedOff judges that a host rests after so many answers in a row of that status.
func backedOff(t *crawltest.Trial, host string, status, times int) crawltest.Row {
	var found []crawltest.Finding
	checked, inRow := 0, 0
	for _, failed := range t.Host(host) {
		if inRow++; failed.Status != status || failed.ForRobots() {
			inRow = 0
		}
		if inRow < times {
			continue
		}
		checked++
		for _, x := range t.Host(host) {
			if failed.Before(x) && x.Start.Sub(failed.End) < backOffLeast {
				found = append(found, t.Find(x, "began %s after %d, the response %d in a row; at least %v are required",
					crawltest.Seconds(x.Start.Sub(failed.End)), status, inRow, backOffLeast))
				break
			}
		}
	}
	return crawltest.Sum("", checked, fmt.Sprintf("at least %v of rest after %s", backOffLeast,
		plainly.Count(checked, "such answer")), crawltest.InOrder(found))
}

// refused judges that a host is left alone after so many pages in a row that it would not give.
func refused(t *crawltest.Trial, host string, most int) crawltest.Row {
	var found []crawltest.Finding
	var refusals []*crawltest.Exchange
	for _, x := range t.Host(host) {
		if x.ForRobots() {
			continue
		}
		if len(refusals) >= most && refusals[most-1].Before(x) {
			found = append(found, t.Find(x, "though %s had been refused, the last at %s", plainly.Count(most, "page"),
				t.When(refusals[most-1].End)))
		}
		if x.Status == http.StatusForbidden {
			refusals = append(refusals, x)
		}
	}
	return crawltest.Sum("", len(refusals), "not contacted after "+plainly.Count(len(refusals), "refusal"), found)
}

// atMost judges that no more than so many requests go to what has a prefix.
func atMost(t *crawltest.Trial, host, prefix string, most int) crawltest.Row {
	var found []crawltest.Finding
	n := 0
	for _, x := range t.Host(host) {
		if !strings.HasPrefix(x.Key(), prefix) {
			continue
		}
		if n++; n > most {
			found = append(found, t.Find(x, "is request %d there; %d are forgiven", n, most))
		}
	}
	return crawltest.Sum("", n, "left after "+plainly.Count(n, "request"), found)
}

// coverageBut is coverage, but for hosts that a polite crawler may leave before it has seen all of them.
func coverageBut(t *crawltest.Trial, spared map[string]bool) crawltest.Row {
	row := t.Judge(crawltest.Coverage)
	if row.Verdict != crawltest.Broken {
		return row
	}
	all := row.Findings
	found := slices.DeleteFunc(slices.Clone(all), func(f crawltest.Finding) bool { return spared[f.Host] })
	if len(found) > 0 {
		row.Findings, row.Evidence = found, plainly.Count(len(found), "finding")+", the first: "+found[0].String()
		return row
	}
	row.Verdict, row.Findings = crawltest.Kept, nil
	row.Evidence = fmt.Sprintf("all that can be reached; %s left out for valid reasons", plainly.Count(len(all), "URL"))
	return row
}
