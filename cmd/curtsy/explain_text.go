package main

import (
	"cmp"
	"fmt"
	"strings"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/budget"
	"curtsy/crawler/explain"
	"curtsy/crawler/scope"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

// explanationText is an explanation for people. The first line is the answer.
func explanationText(e explanation) string { return text.Render("explain", explainText{e}) }

// explainText is what the template of an explanation takes.
type explainText struct{ explanation }

// Decider is the rule of the scope that decides; nil if none was asked.
func (e explainText) Decider() *explain.Rule {
	if n := len(e.Scope.Asked); n > 0 {
		return &e.Scope.Asked[n-1]
	}
	return nil
}

// Passed are the rules of the scope before that.
func (e explainText) Passed() string {
	var names []string
	for _, r := range e.Scope.Asked[:max(len(e.Scope.Asked)-1, 0)] {
		names = append(names, r.Rule)
	}
	return strings.Join(names, ", ")
}

// TrapText says which traps have an opinion.
func (e explainText) TrapText() string {
	var says []string
	for _, t := range e.Traps {
		if t.Says != scope.SaysNothing {
			says = append(says, t.Rule+" "+t.Says)
		}
	}
	if len(says) == 0 {
		return fmt.Sprintf("none of %d rules applies", len(e.Traps))
	}
	return strings.Join(says, ", ")
}

// HostText says what is known of the host.
func (e explainText) HostText() string {
	h := e.Host
	if !h.Known {
		return "not found so far"
	}
	var parts []string
	behind := func(reason string) string {
		if reason == "" {
			return ""
		}
		return " (" + reason + ")"
	}
	if h.Condition != "" {
		parts = append(parts, h.Condition+behind(plainly.Reason(h.Reason)))
	}
	if h.Own {
		parts = append(parts, "your own")
	}
	if h.Until != nil {
		parts = append(parts, "next turn after "+text.Stamp(*h.Until))
	}
	if h.Leased {
		parts = append(parts, "has its turn right now")
	}
	if h.Hold != "" {
		parts = append(parts, h.Hold+behind(h.HoldWhy))
	}
	for _, n := range []struct {
		n    int64
		what string
	}{
		{h.Queued, fmt.Sprint(h.Queued, " queued")}, {h.Deferred, fmt.Sprint(h.Deferred, " deferred")},
		{h.InFlight, fmt.Sprint(h.InFlight, " in flight")}, {h.Pages, plainly.Count(h.Pages, "page")},
		{h.Failures, plainly.Count(h.Failures, "failure") + " in a row"}, {h.Throttles, plainly.Count(h.Throttles, "answer") + " of 429 or 503 in a row"},
		{h.Refusals, plainly.Count(h.Refusals, "refusal") + " in a row"},
	} {
		if n.n > 0 {
			parts = append(parts, n.what)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "known")
}

// AddressDelay is the delay between two starts at one address, in seconds, unless a term has it already.
func (e explainText) AddressDelay() float64 {
	if n := len(e.Pace.Terms); n > 0 && e.Pace.Terms[n-1].By == storage.ByAddress {
		return 0
	}
	return e.Pace.Address
}

// Unit is that of a budget.
func (explainText) Unit(b explain.Budget) string {
	return map[string]string{budget.MaxTime: " s", budget.MaxBytes: " B"}[b.Name]
}

// maxAsked is how many exchanges for robots.txt the text has; JSON has more.
const maxAsked = 5

// LastAsked are the last exchanges for the host's robots.txt, redirects included.
func (e explainText) LastAsked() (texts []string) {
	all := e.History.Asked()
	for _, l := range all[max(len(all)-maxAsked, 0):] {
		t := text.Stamp(l.Time) + " " + l.URL
		if l.Via != "" {
			t += ", for " + l.Via
		}
		t += ": " + cmp.Or(plainly.Reason(l.Reason), fmt.Sprintf("status %d", l.Status))
		if l.Record != "" {
			t += ", record " + l.Record
		}
		texts = append(texts, t)
	}
	return texts
}

// DecisionText is a line of the ledger.
func (explainText) DecisionText(l storage.Line) string {
	t := text.Stamp(l.Time) + " " + string(l.Decision)
	if l.Outcome != "" {
		t += ": " + string(l.Outcome)
	}
	if l.Reason != "" {
		t += " (" + plainly.Reason(l.Reason) + ")"
	}
	if l.RobotsLine > 0 {
		t += fmt.Sprintf(", line %d", l.RobotsLine)
	}
	if l.Attempt > 0 {
		t += fmt.Sprintf(", attempt %d", l.Attempt)
	}
	if l.Status > 0 {
		t += fmt.Sprintf(", status %d", l.Status)
	}
	if l.Attempt > 0 && l.PaceBy != "" {
		t += fmt.Sprintf(", delay %v of %v due (%s)", l.Gap, l.Pace, l.PaceBy)
	}
	if l.Count > 0 {
		t += fmt.Sprintf(", one of %d URLs that share this line", l.Count)
	}
	if l.Record != "" {
		t += ", record " + l.Record
	}
	return t
}
