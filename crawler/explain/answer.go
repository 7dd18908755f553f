package explain

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/found"
	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/crawler/scope"
	"curtsy/crawler/status"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

// ask sets the delay of a term; nil for none.
func (e *Pace) ask(by storage.PaceBy, s *float64) {
	for i := range e.Terms {
		if e.Terms[i].By == by {
			e.Terms[i].Seconds = s
		}
	}
	e.choose()
}

// respond sets the term of the response times. Own hosts have none (politeness rule 18).
func (e *Pace) respond(n *host.State, own bool) {
	e.Responses = nil
	times := n.Times()
	for _, d := range times {
		e.Responses = append(e.Responses, d.Seconds())
	}
	median := n.Response()
	if own || median == 0 {
		return
	}
	for i := range e.Terms {
		if t := &e.Terms[i]; t.By == storage.ByResponseTime {
			t.Seconds = seconds(host.ResponsePace(median))
			t.Note = fmt.Sprintf("%d × %v, the median of the last %d; %v at most",
				host.ResponseFactor, median.Round(time.Microsecond), len(times), host.MaxResponseDelay)
		}
	}
	e.choose()
}

// choose selects the longest delay, the first of equal ones.
func (e *Pace) choose() {
	e.By, e.Seconds = storage.ByFloor, 0
	for i, t := range e.Terms {
		if t.Seconds != nil && (i == 0 || *t.Seconds > e.Seconds) {
			e.By, e.Seconds = t.By, *t.Seconds
		}
	}
}

// due returns the delay required since the last exchange, and its origin.
func (e *Pace) due() (time.Duration, string) {
	s, by := e.Seconds, e.By
	if e.Rest > s {
		s, by = e.Rest, e.RestBy
	}
	return time.Duration(s * float64(time.Second)).Round(time.Microsecond), string(by)
}

// TakeResponses replaces the response times, of which the last ones count, and the end of the last exchange by earlier ones.
func (e *Explanation) TakeResponses(times []time.Duration, last time.Time) {
	var n host.State
	for _, d := range times {
		n.Hear(d)
	}
	e.Pace.ask(storage.ByResponseTime, nil)
	e.Pace.respond(&n, e.Host.Own)
	e.Pace.Last, e.Pace.Rest, e.Pace.RestBy = instantOf(last), 0, ""
	e.Pace.ask(storage.ByRateLimit, nil)
	e.Conclude()
}

// Conclude derives the answer from the parts of e. Call it after changing a part.
func (e *Explanation) Conclude() {
	a := Answer{}
	for _, ask := range []func() Answer{
		e.byOptOut, e.byScope, e.byRobots, e.bySetAside, e.byState, e.byHost, e.byBudget, e.mayBeFetched,
	} {
		if a = ask(); a.Word != "" {
			break
		}
	}
	if a.Word == AnswerUnknown || a.Word == AnswerUnreachable { // a closed host also gets no request for robots.txt
		if shut := e.byHost(); shut.Word != "" {
			a.Text, a.Next = a.Text+"; "+shut.Text, shut.Next
		}
	}
	if e.At != nil {
		a.Next = nil
	}
	e.Answer = a
}

func (e *Explanation) byOptOut() Answer {
	if o := e.OptOut; o != nil {
		return Answer{Word: AnswerOptedOut, Text: fmt.Sprintf("opted out: no requests, by line %d of %s (%s)", o.Line, o.File, o.Entry)}
	}
	return Answer{}
}

func (e *Explanation) byScope() Answer {
	if e.Scope.In {
		return Answer{}
	}
	a := Answer{Word: AnswerOutOfScope, Text: "out of scope: rule " + e.Scope.Rule}
	if r := e.Scope.Requisite; r != nil {
		a.Text += "; as a page requisite it would be in, by rule " + r.Rule
	}
	return a
}

// byRobots is robots.txt's answer, unless it allows the URL. An expired file does not decide: it is requested first.
func (e *Explanation) byRobots() Answer {
	r := &e.Robots
	v := r.Verdict
	switch {
	case v == nil && r.Failure == "" && r.Fetched == nil, v == nil && r.Source == PolicyNone:
		return Answer{Word: AnswerUnknown, Text: fmt.Sprintf("not known yet: %s is requested first, before anything else of that host", r.URL), Next: e.soonest()}
	case v == nil || v.Reason == string(robots.Unreachable):
		why := r.Failure
		if why == "" {
			why = fmt.Sprintf("status %d", r.Status)
		}
		a := Answer{Word: AnswerUnreachable, Text: "nothing may be fetched: robots.txt is unavailable (" + plainly.Reason(why) + ")"}
		if a.Next = later(e.soonest(), r.Retry); e.At == nil {
			a.Text += "; it is requested again at " + stamp(*a.Next)
		}
		return a
	case v.Allow:
		return Answer{}
	case v.Line > 0:
		return Answer{Word: AnswerDisallowed, Text: fmt.Sprintf("disallowed by line %d of robots.txt: %s%s", v.Line, v.Rule, e.stale())}
	}
	return Answer{Word: AnswerDisallowed, Text: "disallowed: " + v.Reason + e.stale()}
}

func (e *Explanation) stale() string {
	if e.Robots.Valid {
		return ""
	}
	return " (that policy has expired: robots.txt is requested again before the next page)"
}

// bySetAside is the answer for URLs that wait for an operator.
func (e *Explanation) bySetAside() Answer {
	switch e.State.State {
	case stateQuarantined:
		return Answer{Word: AnswerSetAside, Text: fmt.Sprintf("in quarantine: the only URL in flight at %d kills", frontier.QuarantineStops)}
	case frontier.Held.String():
		return Answer{Word: AnswerSetAside, Text: "held by " + e.State.Reason + ", until an operator releases it"}
	}
	if e.open() {
		for _, t := range e.Traps {
			if t.Says == trapHolds {
				return Answer{Word: AnswerSetAside, Text: "held when its turn comes, by " + t.Rule}
			}
		}
	}
	return Answer{}
}

// open reports whether the URL waits for its turn, or would if it were found.
func (e *Explanation) open() bool {
	return slices.Contains([]string{stateQueued, stateDeferred, stateUnknown, stateSeen}, e.State.State)
}

func (e *Explanation) byState() Answer {
	if e.open() {
		return Answer{}
	}
	text := "done: " + e.State.State
	if e.State.Reason != "" {
		text += " (" + plainly.Reason(e.State.Reason)
		if e.State.Reason == trap.RuleCopy && e.State.Via != "" { // the page that it is a copy of
			text += ": " + e.State.Via
		}
		text += ")"
	}
	return Answer{Word: AnswerDone, Text: text + "; robots.txt allows it" + e.because() + e.stale()}
}

func (e *Explanation) because() string {
	if v := e.Robots.Verdict; v != nil && v.Line > 0 {
		return fmt.Sprintf(" by line %d", v.Line)
	}
	return ""
}

// byHost is the answer for a host that gets no requests. If no page led to the URL, that comes first.
func (e *Explanation) byHost() Answer {
	a := e.byCondition()
	if s := e.State; a.Word != "" && s.State == stateUnknown && s.Assumed && s.Reason == "" {
		a.Text = "never found: no crawled page links to it; " + a.Text
	}
	return a
}

func (e *Explanation) byCondition() Answer {
	h := &e.Host
	switch {
	case e.At != nil:
		return Answer{}
	case h.Hold != "":
		a := Answer{Word: AnswerHost, Text: "the host is " + h.Hold + whyOf(h.HoldWhy), Next: h.HoldUntil}
		if a.Next != nil {
			a.Text += ", until " + stamp(*a.Next)
		}
		return a
	case h.Condition == frontier.Refused.String():
		return Answer{Word: AnswerHost, Text: "the host is refused, until an operator opens it" + whyOf(h.Reason)}
	case h.Reason == "budget: "+budget.MaxPerHost:
		return Answer{Word: AnswerHost, Text: fmt.Sprintf("not requested: this host has its %s (--max-per-host); raise it with curtsy config set, and resume the crawl if it has stopped",
			plainly.Count(h.Pages, "page"))}
	case h.Condition == frontier.Retired.String() && e.Crawl != "stopped" && e.Crawl != "finished":
		return Answer{Word: AnswerHost, Text: "the host is retired for this run" + whyOf(h.Reason)}
	}
	return Answer{}
}

func whyOf(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + plainly.Reason(reason)
}

func (e *Explanation) byBudget() Answer {
	if e.over != "" && e.State.State == stateUnknown && e.State.Reason == "" && e.At == nil {
		return Answer{Word: AnswerBudget, Text: fmt.Sprintf("not queued: --%s is used up; curtsy update with a larger limit requests links beyond it", e.over)}
	}
	for _, b := range e.Budgets {
		if b.Limit != nil && b.Used >= *b.Limit && b.Name != budget.Depth && b.Name != budget.MaxTime && e.At == nil { // the scope refuses depths
			return Answer{Word: AnswerBudget, Text: fmt.Sprintf("nothing more is fetched: --%s %d is used up", b.Name, *b.Limit)}
		}
	}
	return Answer{}
}

func (e *Explanation) mayBeFetched() Answer {
	a := Answer{Word: AnswerMay, Text: "may be fetched", Next: later(e.soonest(), e.State.Due)}
	a.Text += e.because()
	switch {
	case e.At != nil:
		return a
	case e.State.State == stateUnknown && e.State.Reason != "":
		a.Text += ", but links to it were not followed: " + plainly.Reason(e.State.Reason)
	case e.State.State == stateUnknown && e.State.Assumed && e.Scope.Requisite != nil:
		a.Text += ", but no page has linked to it yet; as a page requisite it is out of scope: rule " + e.Scope.Requisite.Rule
	case e.State.State == stateUnknown && e.State.Assumed:
		a.Text += ", but no page has led to it yet"
	case e.State.State == stateUnknown && e.Generation > 1:
		a.Text += fmt.Sprintf(", but generation %d has not met it so far, or refused it", e.Generation)
	case e.State.State == stateUnknown, e.State.State == stateSeen:
		a.Text += ", but the crawl refused it, or has forgotten it"
	}
	if e.State.State == stateUnknown || e.State.State == stateSeen {
		a.Text += e.unqueued() + e.stale()
		return a
	}
	if a.Next.After(e.Now) {
		_, by := e.Pace.due()
		if e.Host.Condition == frontier.Parked.String() {
			by = "parked: " + plainly.Reason(e.Host.Reason)
		} else if e.State.Due != nil && a.Next.Equal(*e.State.Due) {
			by = plainly.Reason(e.State.Reason)
		}
		a.Text += "; not before " + stamp(*a.Next) + " (" + by + ")"
	} else if e.Crawl == "running" {
		a.Text += "; it is due now"
	} else {
		a.Text += "; it is due when the crawl continues"
	}
	a.Text += e.stale()
	return a
}

const (
	mostRules = 4          // in a sentence
	tooMany   = "too many" // the reason for links of a page with too many
)

// unqueued lists possible reasons why a URL is not queued: rejected links have no ledger line each.
func (e *Explanation) unqueued() string {
	var rules []string
	for rule := range e.NotFollowed {
		if strings.Contains(rule, ":") || rule == tooMany { // others are about invalid URLs
			rules = append(rules, rule)
		}
	}
	slices.SortFunc(rules, func(a, b string) int {
		return cmp.Or(cmp.Compare(e.NotFollowed[b], e.NotFollowed[a]), cmp.Compare(a, b))
	})
	text := "; it is not queued, and it will not be requested unless a page leads to it or curtsy frontier add queues it"
	if e.State.State == stateUnknown && e.State.Reason != "" {
		return text
	}
	for i, rule := range rules[:min(len(rules), mostRules)] {
		sep := ", "
		if i == 0 {
			sep = "; links that were not followed, this one perhaps among them: "
		}
		text += fmt.Sprintf("%s%d (%s)", sep, e.NotFollowed[rule], plainly.Reason(rule))
	}
	return text
}

// soonest returns when the host may have its next exchange: now, or after its wait and its delay.
func (e *Explanation) soonest() *time.Time {
	at := e.Now
	if e.Pace.Last != nil {
		if d, _ := e.Pace.due(); e.Pace.Last.Add(d).After(at) {
			at = e.Pace.Last.Add(d)
		}
	}
	return later(&at, e.Host.Until)
}

// later returns the later of two instants; only b may be nil.
func later(a, b *time.Time) *time.Time {
	if b != nil && b.After(*a) {
		return b
	}
	return a
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Explain makes an explanation from facts. It sends no requests.
func Explain(k *Facts) Explanation {
	e := Explanation{
		Schema: Schema, Crawl: k.Crawl, Now: k.Now, Generation: budget.GenerationOf(k.Stats.Counts).Number,
		URL:   explainURL(k.Written, k.URL),
		Scope: Scope{In: k.Scope.In, Rule: k.Scope.Rule, ForGood: !k.Scope.In && k.Scope.Timeless, Asked: []Rule{}},
		State: k.explainState(), Host: k.explainHost(), Traps: k.traps(),
		Robots: robotsOf(k.Gate, PolicyCrawl, k.URL, k.State, k.Rules, k.Memory.Source.Record, k.Now),
		Pace:   k.explainPace(), Budgets: k.budgets(), NotFollowed: notFollowed(k.Stats.Counts),
	}
	for _, o := range k.Asked {
		e.Scope.Asked = append(e.Scope.Asked, Rule{o.Rule, o.Says})
	}
	if v := k.Requisite; v.Rule != "" && v.In != e.Scope.In {
		e.Scope.Requisite = &Rule{v.Rule, map[bool]string{true: scope.SaysIn, false: scope.SaysOut}[v.In]}
	}
	if hit := k.OptOut; hit != nil {
		e.OptOut = &Entry{File: hit.File, Line: hit.Line, Entry: hit.Text, Reason: hit.Reason, SHA256: hit.SHA256()}
	}
	for _, limit := range budget.Caps {
		if k.Stats.Capped[limit[0]] > 0 {
			e.over = limit[1]
			break
		}
	}
	e.Conclude()
	return e
}

// notFollowed returns the rejected links of the crawl by rule.
func notFollowed(counts map[string]int64) map[string]int64 {
	links := map[string]int64{}
	for name, n := range counts {
		if rule, ok := strings.CutPrefix(name, budget.PrefixLinks); ok && n > 0 {
			links[rule] = n
		}
	}
	return links
}

// explainURL returns a URL in its spellings, and their differences.
func explainURL(written string, u canon.URL) URL {
	e := URL{
		Written: written, Fetch: u.String(), Key: u.Key(), Origin: u.Authority().Origin(), Domain: u.RegistrableDomain(),
		Target: u.RequestURI(), Changes: []string{},
	}
	if written != e.Fetch {
		e.Changes = append(e.Changes, fmt.Sprintf("%s becomes %s", written, e.Fetch))
	}
	if e.Fetch != e.Key {
		e.Changes = append(e.Changes, fmt.Sprintf("key: %s becomes %s", e.Fetch, e.Key))
	}
	return e
}

// States besides outcomes.
const (
	stateUnknown     = "unknown"
	stateSeen        = "seen" // without details: it was refused, or its text was dropped
	stateQueued      = "queued"
	stateDeferred    = "deferred"
	stateQuarantined = frontier.ReasonQuarantined
)

func (k *Facts) explainState() State {
	c := k.Candidate()
	e := State{
		Seen: k.Seen, State: stateUnknown, Assumed: k.Found.Kind == 0,
		Kind: c.Kind.String(), Via: c.Via, Depth: c.Depth, Hops: c.Hops, Embeds: c.Embeds, Seed: c.Seed, Tag: c.Tag,
	}
	if k.Seen {
		e.State = stateSeen
	}
	if k.Entry == nil {
		return e
	}
	x := k.Entry
	e.Reason, e.Attempts, e.Stops, e.Replaced = x.Reason, x.Attempts, x.Stops, x.Replaced.String()
	switch {
	case x.Outcome == frontier.Failed && x.Reason == frontier.ReasonQuarantined:
		e.State = stateQuarantined
	case x.Outcome != 0:
		e.State = x.Outcome.String()
	case x.Deferred:
		e.State, e.Due = stateDeferred, k.in(x.Wait)
	default:
		e.State = stateQueued
	}
	return e
}

// in returns the instant after a wait; nil if that is unlimited.
func (k *Facts) in(d time.Duration) *time.Time {
	if d == frontier.Never {
		return nil
	}
	return instantOf(k.Now.Add(d))
}

func (k *Facts) explainHost() Host {
	e := Host{Known: k.Known, Own: k.Own}
	if !k.Known {
		return e
	}
	h := k.Host
	e.Condition, e.Reason, e.Leased = h.Condition.String(), h.Reason, h.Leased
	e.Queued, e.Deferred, e.InFlight, e.Pages = h.Queued, h.Deferred, h.InFlight, int64(k.Memory.Pages)
	e.Failures, e.Throttles, e.Refusals = int64(k.Memory.Failures), int64(k.Memory.Throttles), int64(k.Memory.Refusals)
	if h.Wait > 0 {
		e.Until = k.in(h.Wait)
	}
	if h.Hold.Act != 0 {
		e.Hold, e.HoldWhy = status.HoldName(h.Hold.Act), h.Hold.Reason
		if h.Hold.Act == frontier.Park {
			e.HoldUntil = k.in(h.Hold.Wait)
		}
	}
	return e
}

// Results of a trap.
const (
	trapHolds  = "holds"
	trapExempt = "exempt" // a seed, its redirect target, or a URL that was requested or released before
)

// traps returns the results of the traps of the scope, which refuse, and of the host's history, which hold.
func (k *Facts) traps() []Rule {
	limits := k.Settings.Traps
	all := []Rule{}
	for _, o := range k.Asked {
		if strings.HasPrefix(o.Rule, storage.RuleOfTraps) {
			all = append(all, Rule{o.Rule, o.Says})
		}
	}
	// See held in package crawler.
	exempt := found.SeedChain(k.Candidate())
	if x := k.Entry; x != nil {
		exempt = exempt || x.Attempts > 0 || !x.Replaced.IsZero() || x.Outcome == 0 && x.Reason == frontier.ReasonReleased
	}
	off := trap.Limits{Queries: -1, Template: -1, Copy: -1}
	for _, r := range []struct {
		rule string
		only trap.Limits
	}{
		{trap.RuleQueries, trap.Limits{Queries: limits.Queries, Template: off.Template}},
		{trap.RuleTemplate, trap.Limits{Queries: off.Queries, Template: limits.Template}},
	} {
		says := scope.SaysNothing
		switch {
		case exempt:
			says = trapExempt
		case k.History.Held(k.URL, r.only) != "":
			says = trapHolds
		}
		all = append(all, Rule{r.rule, says})
	}
	return all
}

// budgets returns the budgets of politeness rule 15. Time is in seconds of this run.
func (k *Facts) budgets() []Budget {
	all := []Budget{
		{budget.MaxPages, k.Stats.Counts[budget.Pages], limitTo(k.Settings.MaxPages)},
		{budget.MaxPerHost, int64(k.Memory.Pages), limitTo(k.Settings.MaxPerHost)},
		{budget.MaxBytes, k.Stats.Counts[budget.Bytes], limitTo(k.Settings.MaxBytes)},
		{budget.MaxTime, int64(k.Elapsed / time.Second), limitTo(int64(k.Settings.MaxTime / time.Second))},
		{budget.Depth, int64(k.Candidate().Depth), nil},
	}
	if d := k.Settings.Depth; d != nil {
		n := int64(*d)
		all[len(all)-1].Limit = &n
	}
	if n := k.Settings.MaxPerDomain; n > 0 {
		all = append(all, Budget{budget.MaxPerDomain, k.Domain, &n})
	}
	if n, tag := k.Settings.MaxPerTag, k.Candidate().Tag; n > 0 && tag != "" {
		all = append(all, Budget{budget.MaxPerTag, k.Stats.Counts[budget.OfTag(tag)], &n})
	}
	return all
}

// limitTo returns n as a limit; zero means unlimited.
func limitTo(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

func (k *Facts) explainPace() Pace {
	e := Pace{Terms: []PaceTerm{{By: storage.ByFloor, Seconds: seconds(k.Floor)}, {By: storage.ByHostSetting}, {By: storage.ByCrawlDelay}, {By: storage.ByRequestRate}, {By: storage.ByRateLimit}, {By: storage.ByResponseTime}}}
	if d := k.Set.Delay; d > 0 {
		e.ask(storage.ByHostSetting, seconds(d))
	}
	if d := k.Raised; d > 0 {
		e.Terms = append(e.Terms, PaceTerm{By: storage.ByOperator})
		e.ask(storage.ByOperator, seconds(d))
	}
	if book := k.Rules.Book; book != nil {
		var asks Robots
		asks.asks(book)
		e.ask(storage.ByCrawlDelay, asks.delay)
		e.ask(storage.ByRequestRate, asks.rate)
	}
	if said := k.Memory.Hearsay; said.Pause > host.Asked(k.Rules.Book).Pause {
		e.ask(said.By, seconds(said.Pause))
	}
	if d := k.Memory.Spacing(k.Micros); d > 0 {
		e.ask(storage.ByRateLimit, seconds(d))
	}
	e.respond(&k.Memory, k.Own)
	if due := k.Memory.Due; due.By != "" {
		e.RestBy, e.Rest = due.By, due.Pause.Seconds()
	}
	if k.Memory.LastEnd != 0 {
		e.Last = instantOf(time.UnixMicro(k.Memory.LastEnd))
	}
	if !k.Own {
		e.Address = k.Settings.IPDelay.Seconds()
	}
	if d, note, ok := k.Sharing.Term(k.Memory.Spot); ok {
		e.Terms = append(e.Terms, PaceTerm{By: storage.ByAddress, Seconds: seconds(d), Note: note})
	}
	e.choose()
	return e
}

// Robots is the host's robots.txt and its verdict on the URL.
type Robots struct {
	Source   string     `json:"source"` // PolicyNone, PolicyCrawl or PolicyArchive
	URL      string     `json:"url"`
	Final    string     `json:"final_url,omitempty"`
	Fetched  *time.Time `json:"fetched,omitempty"` // when the response that decides arrived or was last confirmed
	Expires  *time.Time `json:"expires,omitempty"`
	Valid    bool       `json:"valid"`
	Need     string     `json:"need"` // before the URL may be judged: "judge", "refresh", "fetch" or "wait"
	Retry    *time.Time `json:"retry,omitempty"`
	Status   int        `json:"status,omitempty"` // of the last exchange
	Failure  string     `json:"failure,omitempty"`
	Fails    int        `json:"failures,omitempty"` // in a row
	Flags    string     `json:"flags,omitempty"`
	SHA256   string     `json:"sha256,omitempty"` // of the file, if one decides
	Record   string     `json:"record,omitempty"` // ID of the record of the last exchange that set the policy
	Standard string     `json:"standard"`         // obeyed besides RFC 9309

	Verdict  *Verdict     `json:"verdict"` // null if unknown
	Policies []PolicyView `json:"policies,omitempty"`

	delay, rate *float64 // of the policy, in seconds
}

type Verdict struct {
	Allow    bool   `json:"allow"`
	Reason   string `json:"reason"`
	Line     int    `json:"line,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Group    string `json:"group,omitempty"`
	RunnerUp string `json:"runner_up,omitempty"`
	Token    string `json:"token,omitempty"`
	Standard string `json:"standard,omitempty"`
}

// PolicyView is the reading of the file for one product token and standard. All of them must allow a URL.
type PolicyView struct {
	Token      string          `json:"token"`
	Standard   string          `json:"standard"`
	Named      bool            `json:"named"` // a group names the token; otherwise groups for "*" apply
	Group      string          `json:"group,omitempty"`
	Rules      int             `json:"rules"` // that apply
	Target     string          `json:"target"`
	Allow      bool            `json:"allow"`
	Reason     string          `json:"reason"`
	Why        string          `json:"why"`
	Candidates []CandidateView `json:"candidates"` // matching rules, the deciding one first
	More       int             `json:"more,omitempty"`
}

type CandidateView struct {
	Line    int    `json:"line"`
	Length  int    `json:"length"`
	Allow   bool   `json:"allow"`
	Rule    string `json:"rule"`
	Group   string `json:"group"`
	Pattern string `json:"pattern"`
}

// maxCandidates bounds the candidates of a view: a hostile file may have tens of thousands that match.
const maxCandidates = 50

// Sources of a policy.
const (
	PolicyNone    = "none"
	PolicyCrawl   = "crawl"   // the crawl's own state
	PolicyArchive = "archive" // reconstructed from the archive, as of an instant
)

// robotsOf explains the verdict of a state and its rules on u at an instant.
func robotsOf(g *gate.Gate, source string, u canon.URL, s robots.State, r gate.Rules, record string, now time.Time) Robots {
	a := u.Authority().Origin()
	e := Robots{Source: source, URL: gate.PolicyURL(u.Authority()), Record: record, Standard: g.Terms.Standard.String()}
	if s.Failure() == "" && s.Fetched().IsZero() {
		e.Source = PolicyNone
	}
	need := g.Terms.Need(s, a, now)
	e.Need = need.Action.String()
	e.Valid = need.Action == robots.Judge || need.Action == robots.Refresh
	e.Fetched, e.Expires = instantOf(s.Fetched()), instantOf(s.Expires())
	if e.Retry = instantOf(s.Retry()); s.Failures() == 0 {
		e.Retry = nil
	}
	if e.Final = s.FinalURL(); e.Final == e.URL {
		e.Final = ""
	}
	e.Status, e.Failure, e.Fails, e.Flags = s.Status(), s.Failure(), s.Failures(), s.Flags().String()
	if all, ok := s.Verdict(); ok {
		e.Verdict = verdictOf(all, nil)
		return e
	}
	if r.Book == nil {
		return e
	}
	if digest, ok := s.Body(); ok {
		e.SHA256 = hex.EncodeToString(digest[:])
	}
	verdict := r.Book.Match(u.RequestURI())
	for _, x := range r.Book.Explain(u.RequestURI()) {
		if e.Verdict == nil && x.Verdict == verdict {
			e.Verdict = verdictOf(verdict, &x)
		}
		e.Policies = append(e.Policies, viewOf(x))
	}
	e.asks(r.Book)
	return e
}

// asks sets the delays of the policy.
func (e *Robots) asks(book *robots.Rulebook) {
	if d, ok := book.CrawlDelay(); ok {
		e.delay = seconds(d)
	}
	if d, ok := book.RequestRate(); ok {
		e.rate = seconds(d)
	}
}

func verdictOf(v robots.Verdict, x *robots.Explanation) *Verdict {
	e := &Verdict{Allow: v.Allowed, Reason: string(v.Reason), Line: v.Line, Rule: v.Rule, Group: v.Group, RunnerUp: v.RunnerUp}
	if x != nil {
		e.Token, e.Standard = x.Token, v.Standard.String()
	}
	return e
}

func viewOf(x robots.Explanation) PolicyView {
	v := PolicyView{
		Token: x.Token, Standard: x.Verdict.Standard.String(), Named: x.Named, Group: x.Group, Rules: x.Rules, Target: x.Target,
		Allow: x.Verdict.Allowed, Reason: string(x.Verdict.Reason), Why: whyDecides(x), Candidates: []CandidateView{},
	}
	for i, c := range x.Candidates {
		if i == maxCandidates {
			v.More = len(x.Candidates) - i
			break
		}
		v.Candidates = append(v.Candidates, CandidateView{c.Line, c.Length, c.Allow, c.Rule, c.Group, c.Pattern})
	}
	return v
}

func whyDecides(x robots.Explanation) string {
	switch {
	case x.Verdict.Reason == robots.RobotsItself:
		return "robots.txt itself is always allowed (RFC 9309 2.2.2)"
	case x.Group == "":
		return "no group applies: everything is allowed (RFC 9309 2.2.1)"
	case len(x.Candidates) == 0:
		return "no rule matches: allowed (RFC 9309 2.2.2)"
	case len(x.Candidates) == 1:
		return "the only rule that matches"
	case x.Verdict.Standard == robots.Draft1996:
		return "the first rule in the file that matches (1996 3.2.2)"
	case x.Verdict.Standard == robots.Std1994:
		return "any Disallow that matches decides (1994)"
	case x.Candidates[0].Length > x.Candidates[1].Length:
		return "the longest match, in bytes (RFC 9309 2.2.2)"
	case x.Candidates[0].Allow != x.Candidates[1].Allow:
		return "of equally long matches Allow wins (RFC 9309 2.2.2)"
	}
	return "of equally long matches that say the same, the first in the file is named"
}

func instantOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}
