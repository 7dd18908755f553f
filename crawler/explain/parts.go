package explain

import (
	"strings"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/found"
	"curtsy/crawler/host"
	"curtsy/crawler/scope"
	"curtsy/crawler/status"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/storage"
)

// What a state is called that is no outcome.
const (
	stateUnknown     = "unknown"
	stateSeen        = "seen" // and no more is kept of it: it was refused, or its text was let go
	stateQueued      = "queued"
	stateDeferred    = "deferred"
	stateQuarantined = frontier.ReasonQuarantined
)

// explainState says what became of the URL.
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

// in is the instant after a wait; nil when that is never.
func (k *Facts) in(d time.Duration) *time.Time {
	if d == frontier.Never {
		return nil
	}
	return instantOf(k.Now.Add(d))
}

// explainHost says what is known of the host.
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

// What a trap says of a URL.
const (
	trapHolds  = "holds"
	trapExempt = "exempt" // a seed, what a seed redirects to, or a URL that was asked for or released before
)

// traps are the opinions of the traps: those of the scope that were asked, which refuse, and those of the host's history,
// which hold.
func (k *Facts) traps() []Rule {
	limits := k.Settings.Traps
	all := []Rule{}
	for _, o := range k.Asked {
		if strings.HasPrefix(o.Rule, storage.RuleOfTraps) {
			all = append(all, Rule{o.Rule, o.Says})
		}
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
		case k.exempt():
			says = trapExempt
		case k.History.Held(k.URL, r.only) != "":
			says = trapHolds
		}
		all = append(all, Rule{r.rule, says})
	}
	return all
}

// exempt reports whether no history holds the URL: see held.
func (k *Facts) exempt() bool {
	if found.SeedChain(k.Candidate()) {
		return true
	}
	x := k.Entry
	return x != nil && (x.Attempts > 0 || !x.Replaced.IsZero() || x.Outcome == 0 && x.Reason == frontier.ReasonReleased)
}

// budgets are the bounds of politeness rule 15. That of time is in seconds, of this run.
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

// limitTo is a limit of which zero means none.
func limitTo(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// explainPace says who asks for which pause.
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
