package crawler

import (
	"strings"
	"time"

	"curtsy/crawler/found"
	"curtsy/crawler/host"
	"curtsy/crawler/scope"
	"curtsy/crawler/status"
	"curtsy/crawler/totals"
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
func (k *facts) explainState() ExplainedState {
	c := k.candidate()
	e := ExplainedState{
		Seen: k.seen, State: stateUnknown, Assumed: k.Found.Kind == 0,
		Kind: string(found.Word(c.Kind)), Via: c.Via, Depth: c.Depth, Hops: c.Hops, Embeds: c.Embeds, Seed: c.Seed, Tag: c.Tag,
	}
	if k.seen {
		e.State = stateSeen
	}
	if k.entry == nil {
		return e
	}
	x := k.entry
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
func (k *facts) in(d time.Duration) *time.Time {
	if d == frontier.Never {
		return nil
	}
	return instantOf(k.now.Add(d))
}

// explainHost says what is known of the host.
func (k *facts) explainHost() ExplainedHost {
	e := ExplainedHost{Known: k.known, Own: k.own}
	if !k.known {
		return e
	}
	h := k.host
	e.Condition, e.Reason, e.Leased = status.ConditionName(h.Condition), h.Reason, h.Leased
	e.Queued, e.Deferred, e.InFlight, e.Pages = h.Queued, h.Deferred, h.InFlight, int64(k.memory.Pages)
	e.Failures, e.Throttles, e.Refusals = int64(k.memory.Failures), int64(k.memory.Throttles), int64(k.memory.Refusals)
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
func (k *facts) traps(limits trap.Limits) []ExplainedRule {
	all := []ExplainedRule{}
	for _, o := range k.asked {
		if strings.HasPrefix(o.Rule, storage.RuleOfTraps) {
			all = append(all, ExplainedRule{o.Rule, o.Says})
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
		case k.history.Held(k.URL, r.only) != "":
			says = trapHolds
		}
		all = append(all, ExplainedRule{r.rule, says})
	}
	return all
}

// exempt reports whether no history holds the URL: see held.
func (k *facts) exempt() bool {
	if found.SeedChain(k.candidate()) {
		return true
	}
	x := k.entry
	return x != nil && (x.Attempts > 0 || !x.Replaced.IsZero() || x.Outcome == 0 && x.Reason == frontier.ReasonReleased)
}

// The names of the budgets that no exchange of this URL uses up.
const (
	budgetDepth = "depth"
	budgetTime  = "max-time"
)

// budgets are the bounds of politeness rule 15. That of time is in seconds, of this run.
func (k *facts) budgets(cfg Config) []Budget {
	all := []Budget{
		{EndedMaxPages, k.stats.Counts[totals.Pages], limitTo(cfg.MaxPages)},
		{EndedMaxPerHost, int64(k.memory.Pages), limitTo(cfg.MaxPerHost)},
		{EndedMaxBytes, k.stats.Counts[totals.Bytes], limitTo(cfg.MaxBytes)},
		{budgetTime, int64(k.elapsed / time.Second), limitTo(int64(cfg.MaxTime / time.Second))},
		{budgetDepth, int64(k.candidate().Depth), nil},
	}
	if d := cfg.Scope.Depth; d != nil {
		n := int64(*d)
		all[len(all)-1].Limit = &n
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
func (k *facts) explainPace(cfg Config) ExplainedPace {
	e := ExplainedPace{Terms: []PaceTerm{{By: storage.ByFloor, Seconds: seconds(k.floor)}, {By: storage.ByCrawlDelay}, {By: storage.ByRequestRate}, {By: storage.ByRateLimit}, {By: storage.ByResponseTime}}}
	if book := k.rules.Book; book != nil {
		var asks ExplainedRobots
		asks.asks(book)
		e.ask(storage.ByCrawlDelay, asks.delay)
		e.ask(storage.ByRequestRate, asks.rate)
	}
	if said := k.memory.Hearsay; said.Pause > host.Asked(k.rules.Book).Pause {
		e.ask(said.By, seconds(said.Pause))
	}
	if d := k.memory.Spacing(k.micros); d > 0 {
		e.ask(storage.ByRateLimit, seconds(d))
	}
	e.respond(&k.memory, k.own)
	if due := k.memory.Due; due.By != "" {
		e.RestBy, e.Rest = due.By, due.Pause.Seconds()
	}
	if k.memory.LastEnd != 0 {
		e.Last = instantOf(time.UnixMicro(k.memory.LastEnd))
	}
	if !k.own {
		e.Address = cfg.IPDelay.Seconds()
	}
	if d, note, ok := k.sharing.Term(k.memory.Spot); ok {
		e.Terms = append(e.Terms, PaceTerm{By: storage.ByAddress, Seconds: seconds(d), Note: note})
	}
	e.choose()
	return e
}
