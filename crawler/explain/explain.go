package explain

import (
	"strings"

	"curtsy/crawler/budget"
	"curtsy/crawler/scope"
)

// Explain makes an explanation of facts. It asks nobody.
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

// notFollowed are the links that the crawl did not follow, by rule.
func notFollowed(counts map[string]int64) map[string]int64 {
	links := map[string]int64{}
	for name, n := range counts {
		if rule, ok := strings.CutPrefix(name, budget.PrefixLinks); ok && n > 0 {
			links[rule] = n
		}
	}
	return links
}
