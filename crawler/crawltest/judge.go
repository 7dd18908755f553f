package crawltest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage/plainly"
)

// Trial is the sorted log and the rules to judge it by.
type Trial struct {
	Web    *Web
	Rules  Rules
	All    []*Exchange            // in order of arrival
	Hosts  map[string][]*Exchange // the same by authority
	tokens []string
	held   map[string][]policy
	start  time.Time
}

// Judge checks the log against rules.
func (r *Referee) Judge(rules Rules) Report {
	t := r.Trial(rules)
	report := Report{Requests: len(t.All), Elapsed: t.Elapsed()}
	for _, rule := range t.judges() {
		report.Rows = append(report.Rows, rule.judge())
	}
	report.Rows = append(report.Rows, t.Hostile()...)
	for _, h := range r.web.order {
		report.Hosts = append(report.Hosts, t.Summary(h.name))
	}
	return report
}

type judge struct {
	rule  Rule
	judge func() Row
}

// judges are in the order of a Report.
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

// Judge judges by one of the referee's rules.
func (t *Trial) Judge(rule Rule) Row {
	for _, j := range t.judges() {
		if j.rule == rule {
			return j.judge()
		}
	}
	return Row{Rule: rule, Verdict: Unshown}
}

// Elapsed is the time from the first request to the end of the last exchange.
func (t *Trial) Elapsed() (d time.Duration) {
	for _, x := range t.All {
		d = max(d, x.End.Sub(t.start))
	}
	return d
}

// Only returns the trial of some authorities.
func (t *Trial) Only(hosts ...string) *Trial {
	part := *t
	part.All, part.Hosts, part.held = nil, map[string][]*Exchange{}, map[string][]policy{}
	for _, x := range t.All {
		if slices.Contains(hosts, x.Host) {
			part.All = append(part.All, x)
		}
	}
	for _, h := range hosts {
		part.Hosts[h], part.held[h] = t.Hosts[h], t.held[h]
	}
	return &part
}

// Forbids describes the robots.txt rule that forbids x: of the file last served, or else of the host's present one. It
// is empty if none does.
func (t *Trial) Forbids(x *Exchange) string {
	if by := at(t.held[x.Host], x).disallows(t.tokens, x.Target); by != "" {
		return by
	}
	if t.Web.configured(t.Web.hosts[x.Host], nil).disallows(t.tokens, x.Target) != "" {
		return "the robots.txt, which had not been fetched, disallows it"
	}
	return ""
}

// HadRobots reports whether, when x began, its host's robots.txt was known or being redirected.
func (t *Trial) HadRobots(x *Exchange) bool {
	return slices.Contains([]policyKind{ruled, open, underway}, at(t.held[x.Host], x).kind)
}

// Trial sorts the log, to be judged by rules.
func (r *Referee) Trial(rules Rules) *Trial {
	if rules.Width == 0 {
		rules.Width = 1
	}
	if rules.Token == "" {
		rules.Token = DefaultToken
	}
	t := &Trial{Web: r.web, Rules: rules, tokens: tokensOf(rules.Token), All: r.exchanges(),
		Hosts: map[string][]*Exchange{}}
	for _, x := range t.All {
		t.Hosts[x.Host] = append(t.Hosts[x.Host], x)
	}
	if len(t.All) > 0 {
		t.start = t.All[0].Start
	}
	t.held = r.web.policies(t.All)
	return t
}

// Sum returns the row of a rule. checked is the number of facts examined; evidence describes them.
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

func (t *Trial) Find(x *Exchange, format string, args ...any) Finding {
	return Finding{
		Host: x.Host, Target: x.Target, At: x.Start,
		Text: fmt.Sprintf("%s at %s ", x.Method, t.When(x.Start)) + fmt.Sprintf(format, args...),
	}
}

// When formats a time as seconds since the first request.
func (t *Trial) When(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return Seconds(at.Sub(t.start))
}

// pages calls f for each request that is not for a robots.txt, with the policy in force when it arrived.
func (t *Trial) pages(f func(x *Exchange, p policy)) {
	for _, x := range t.All {
		if !x.ForRobots {
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
	return Sum(RobotsFirst, len(t.Hosts), "the first thing at each of "+plainly.Count(len(t.Hosts), "host"), found)
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
	for _, x := range t.All {
		switch {
		case !strings.Contains(strings.ToLower(x.UserAgent), strings.ToLower(t.Rules.Token)):
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
	return Sum(Identity, len(t.All), evidence, found)
}

func (t *Trial) manners() Row {
	var found []Finding
	for _, x := range t.All {
		if x.Method != "GET" && x.Method != "HEAD" {
			found = append(found, t.Find(x, "is neither GET nor HEAD"))
		}
		for _, field := range []string{"Cookie", "Authorization", "Proxy-Authorization"} {
			if x.Header.Get(field) != "" {
				found = append(found, t.Find(x, "with a %s field", field))
			}
		}
	}
	return Sum(Manners, len(t.All), "GET and HEAD only; no cookies, no credentials", found)
}

// signatures ignores unsigned requests. Without known keys the row is not shown and has the reason.
func (t *Trial) signatures() Row {
	var found []Finding
	verified, unverified, why := 0, 0, ""
	for _, x := range t.All {
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
	evidence := fmt.Sprintf("%d of %s signed, and right", verified, plainly.Count(len(t.All), "request"))
	if unverified > 0 {
		evidence += fmt.Sprintf("; %d not verified: %s", unverified, why)
	}
	row := Sum(Signatures, verified, evidence, found)
	if row.Verdict == Unshown && unverified > 0 {
		row.Evidence = fmt.Sprintf("%s signed, and not verified: %s", plainly.Count(unverified, "request"), why)
	}
	return row
}

// Gap is the time between two exchanges with a host.
type Gap struct {
	Next   *Exchange
	Last   *Exchange // with the latest end before Next; under way if its End is zero
	Length time.Duration
}

// Gaps returns the gap before each request of a host except the first. It is negative if an exchange was under way.
func Gaps(requests []*Exchange) []Gap {
	var all []Gap
	var last *Exchange
	for _, x := range requests {
		if last != nil {
			g := Gap{x, last, x.Start.Sub(last.End)}
			if last.End.IsZero() {
				g.Length = last.Start.Sub(x.Start)
			}
			all = append(all, g)
		}
		if last == nil || byEnd(last, x) < 0 {
			last = x
		}
	}
	return all
}

// TooShort returns the finding that g is shorter than need.
func (t *Trial) TooShort(g Gap, need string) Finding {
	if g.Last.End.IsZero() {
		return t.Find(g.Next, "while GET %s (%s) was not answered; %s", Quote(g.Last.Target), t.When(g.Last.Start), need)
	}
	how := Seconds(g.Length) + " after"
	if g.Length < 0 {
		how = Seconds(-g.Length) + " before"
	}
	return t.Find(g.Next, "began %s the end of %s (%s); %s", how, clip(g.Last.Target, 40), t.When(g.Last.End), need)
}

func (t *Trial) AllGaps() (all []Gap) {
	for _, h := range t.Web.order {
		all = append(all, Gaps(t.Hosts[h.name])...)
	}
	return all
}

func (t *Trial) pace() Row {
	if t.Rules.Pace <= 0 {
		return Row{Rule: Pace, Verdict: Unshown, Evidence: "none was requested"}
	}
	row := t.Spaced(t.AllGaps(), t.Rules.Pace, 0)
	row.Rule = Pace
	return row
}

// Spaced judges whether gaps are as long as need, less forgiven.
func (t *Trial) Spaced(all []Gap, need, forgiven time.Duration) Row {
	if len(all) == 0 {
		return Sum("", 0, "", nil)
	}
	var found []Finding
	slack := ""
	if forgiven > 0 {
		slack = fmt.Sprintf(", forgiven %v", forgiven)
	}
	for _, g := range all {
		if g.Length < need-forgiven {
			found = append(found, t.TooShort(g, fmt.Sprintf("pace %v, kept %s%s", need, Precise(g.Length), slack)))
		}
	}
	least := slices.MinFunc(all, func(a, b Gap) int { return cmp.Compare(a.Length, b.Length) })
	return Sum("", len(all), fmt.Sprintf("smallest of %s %s (%s), asked %v%s", plainly.Count(len(all), "gap"), Precise(least.Length),
		least.Next.Host, need, slack), InOrder(found))
}

func (t *Trial) crawlDelay() Row {
	var found []Finding
	var evidence []string
	checked := 0
	for _, h := range t.Web.order {
		least, asked, n := time.Duration(0), time.Duration(0), 0
		for _, g := range Gaps(t.Hosts[h.name]) {
			d := at(t.held[h.name], g.Next).delay(t.tokens)
			if d <= 0 {
				continue
			}
			if n++; n == 1 || g.Length < least {
				least, asked = g.Length, d
			}
			if g.Length < d {
				found = append(found, t.TooShort(g, fmt.Sprintf("Crawl-delay %v", d)))
			}
		}
		if checked += n; n > 0 {
			evidence = append(evidence,
				fmt.Sprintf("smallest of %s %s (%s), asked %v", plainly.Count(n, "gap"), Precise(least), h.name, asked))
		}
	}
	return Sum(CrawlDelay, checked, strings.Join(evidence, "; "), InOrder(found))
}

func (t *Trial) inFlight() Row {
	var found []Finding
	most := 0
	for _, h := range t.Web.order {
		flying(t.Hosts[h.name], func(x *Exchange, others []*Exchange) {
			most = max(most, len(others)+1)
			if len(others)+1 > t.Rules.Width {
				found = append(found, t.Find(x, "while %d of the host under way, %s since %s; allowed are %d",
					len(others), clip(others[0].Target, 40), t.When(others[0].Start), t.Rules.Width))
			}
		})
	}
	return Sum(InFlight, len(t.All), fmt.Sprintf("never more than %d at one host", most), InOrder(found))
}

// flying calls f for each request of a host with those under way when it arrived.
func flying(requests []*Exchange, f func(x *Exchange, others []*Exchange)) {
	var others []*Exchange
	for _, x := range requests {
		others = slices.DeleteFunc(others, func(o *Exchange) bool { return o.Before(x) })
		f(x, others)
		others = append(others, x)
	}
}

func (t *Trial) retryAfter() Row {
	var found []Finding
	checked := 0
	for _, h := range t.Web.order {
		for _, asking := range t.Hosts[h.name] {
			until, ok := asking.rest()
			if !ok {
				continue
			}
			checked++
			for _, x := range t.Hosts[h.name] {
				if asking.Before(x) && x.Start.Before(until) {
					found = append(found, t.Find(x, "though %d for %s required a delay from %s to %s",
						asking.Status, clip(asking.Target, 40), t.When(asking.End), t.When(until)))
				}
			}
		}
	}
	return Sum(RetryAfter, checked, "obeyed "+plainly.Count(checked, "time"), InOrder(found))
}

// rest returns the time that the response's Retry-After asks for; ok is false without one.
func (x *Exchange) rest() (until time.Time, ok bool) {
	value := strings.TrimSpace(x.Answer.Get("Retry-After"))
	transient := x.Status == http.StatusTooManyRequests || x.Status == http.StatusServiceUnavailable ||
		x.Status >= 300 && x.Status < 400 || x.ForRobots && policyOf(x.Status, nil, x.Cut).kind == down
	if value == "" || !transient || x.End.IsZero() {
		return time.Time{}, false
	}
	const unreadable = 24 * time.Hour // RFC 9110 leaves invalid values open; be polite
	const year = 365 * 24 * time.Hour
	if n, err := strconv.ParseUint(value, 10, 64); err == nil {
		if n > uint64(year/time.Second) {
			return x.End.Add(unreadable), true
		}
		return x.End.Add(time.Duration(n) * time.Second), true
	}
	until, err := http.ParseTime(value)
	if err != nil || until.Sub(x.End) > year {
		return x.End.Add(unreadable), true
	}
	return until, true
}

// InOrder sorts findings by time.
func InOrder(found []Finding) []Finding {
	slices.SortStableFunc(found, func(a, b Finding) int {
		if d := a.At.Compare(b.At); d != 0 {
			return d
		}
		return strings.Compare(a.Host+a.Target, b.Host+b.Target)
	})
	return found
}

// visited returns the GET requests by place, without robots.txt files and traps.
func (t *Trial) visited() map[place][]*Exchange {
	m := map[place][]*Exchange{}
	for _, x := range t.All {
		if x.ForRobots || x.Method != http.MethodGet {
			continue
		}
		if t.Web.hosts[x.Host].now().trapped(x.Key) == nil {
			p := place{x.Host, x.Key}
			m[p] = append(m[p], x)
		}
	}
	return m
}

func inPlaces[V any](m map[place]V) []place {
	return slices.SortedFunc(maps.Keys(m), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.key, b.key))
	})
}

func (t *Trial) noFollow() Row {
	k := t.Web.newWalk(t.Rules.Token, t.Rules.Seeds)
	plain := k.reach(t.Web.start(t.Rules.Seeds))
	k.follow = true
	every := k.reach(t.Web.start(t.Rules.Seeds))
	visited := t.visited()
	var found []Finding
	forbidden := 0
	for _, p := range inPlaces(every) {
		if _, ok := plain[p]; ok {
			continue
		}
		if _, asked := visited[every[p]]; asked {
			forbidden++
		}
		for _, x := range visited[p] {
			found = append(found, t.Find(x, "though only links with nofollow lead there, one of them in %s", every[p]))
		}
	}
	return Sum(NoFollow, forbidden, plainly.Count(forbidden, "such link")+" not followed", InOrder(found))
}

func (t *Trial) traps() Row {
	var found []Finding
	checked, most := 0, 0
	for _, h := range t.Web.order {
		asked := map[string]int{} // by prefix
		for _, x := range t.Hosts[h.name] {
			trap := h.now().trapped(x.Key)
			if trap == nil || x.ForRobots || x.Method != http.MethodGet {
				continue
			}
			asked[trap.Prefix]++
			n := asked[trap.Prefix]
			if most = max(most, n); n > trap.Most {
				found = append(found, t.Find(x, "is request %d in the trap %s; %d are forgiven", n, trap.Prefix, trap.Most))
			}
		}
		checked += len(asked)
	}
	return Sum(Traps, checked, fmt.Sprintf("left %s, after %s at most", plainly.Count(checked, "trap"),
		plainly.Count(most, "request")), InOrder(found))
}

func (t *Trial) scope() Row {
	k := t.Web.newWalk(t.Rules.Token, t.Rules.Seeds)
	k.follow = true
	linked := k.reach(t.Web.start(t.Rules.Seeds))
	visited := t.visited()
	var found []Finding
	for _, p := range inPlaces(visited) {
		site := t.Web.hosts[p.host].now() // the links of a handler, and of a site that misbehaves, are not known
		if _, ok := linked[p]; !ok && site.Expect == nil && site.page(p.key) != nil {
			found = append(found, t.Find(visited[p][0], "though no link in scope leads there"))
		}
	}
	return Sum(Scope, len(visited), plainly.Count(len(visited), "URL")+", all linked in scope", InOrder(found))
}

func (t *Trial) coverage() Row {
	if t.Rules.Partial {
		return Row{Rule: Coverage, Verdict: Unshown, Evidence: "the crawl was not to reach everything"}
	}
	k := t.Web.newWalk(t.Rules.Token, t.Rules.Seeds)
	k.policy = t.Web.finally(t.held)
	expected := k.reach(t.Web.start(t.Rules.Seeds))
	visited := t.visited()
	var found []Finding
	for _, p := range inPlaces(expected) {
		if t.Web.hosts[p.host].now().Expect != nil || t.Rules.Spared[p.host] {
			delete(expected, p)
			continue
		}
		requests := visited[p]
		if slices.ContainsFunc(requests, func(x *Exchange) bool { return !x.failed && !x.Cut }) {
			continue
		}
		f := Finding{Host: p.host, Target: p.key, Text: "never fetched; a seed"}
		if via := expected[p]; via != p {
			f.Text = "never fetched; linked from " + via.String()
		}
		if n := len(requests); n > 0 {
			f.Text = fmt.Sprintf("requested %s, the last response %d at %s, and not again", plainly.Count(n, "time"),
				requests[n-1].Status, t.When(requests[n-1].End))
		}
		found = append(found, f)
	}
	return Sum(Coverage, len(expected), "all of "+plainly.Count(len(expected), "URL")+" that can be reached", found)
}

func (t *Trial) once() Row {
	var found []Finding
	checked, retries, repeats := 0, 0, 0
	answered := map[place]*Exchange{}
	for _, x := range t.All {
		if x.ForRobots || x.Method != http.MethodGet {
			continue
		}
		checked++
		p := place{x.Host, x.Key}
		first := answered[p]
		switch {
		case first != nil && first.Target != x.Target && first.Redirected():
			answered[p] = x // redirected to another spelling of the target
		case first == nil && x.mayRetry():
			retries++
		case first == nil:
			answered[p] = x
		default:
			if repeats++; repeats > t.Rules.Repeats {
				found = append(found, t.Find(x, "again: at %s it was answered with %d", t.When(first.Start), first.Status))
			}
		}
	}
	evidence := fmt.Sprintf("%s, %s that invited a retry", plainly.Count(len(answered), "URL"),
		plainly.Count(retries, "answer"))
	if repeats > 0 {
		evidence += fmt.Sprintf(", %s of the %d allowed", plainly.Count(repeats, "repeat"), t.Rules.Repeats)
	}
	return Sum(Once, checked, evidence, found)
}

func (x *Exchange) Redirected() bool { return x.Status >= 300 && x.Status < 400 }

// mayRetry reports whether a client may repeat the request.
func (x *Exchange) mayRetry() bool {
	switch x.Status {
	case 0, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return x.Cut || x.failed || x.Status >= 500
}
