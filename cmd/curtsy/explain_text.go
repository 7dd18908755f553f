package main

import (
	"fmt"
	"strings"
	"time"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/budget"
	"curtsy/crawler/explain"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

// explainPage is a text in sections: a word in front, the lines of the section aligned behind it.
type explainPage struct{ strings.Builder }

// line writes one line, with the section's name or none. Whatever comes from the web is escaped here.
func (p *explainPage) line(section, format string, args ...any) {
	fmt.Fprintf(p, "%-9s%s\n", section, plainly.OneLine(fmt.Sprintf(format, args...)))
}

// prose writes a line that is broken where a terminal ends: no table, and nothing that is copied whole.
func (p *explainPage) prose(section, format string, args ...any) {
	p.WriteString(text.Wrap(fmt.Sprintf("%-9s%s\n", section, plainly.OneLine(fmt.Sprintf(format, args...)))))
}

// explanationText is an explanation for people. The first line is the answer.
func explanationText(e explanation) string {
	var p explainPage
	p.WriteString(plainly.OneLine(e.Answer.Text) + "\n\n")
	if e.At != nil {
		p.line("as of", "%s, by the archive", explainStamp(*e.At))
	}
	p.url(e.URL)
	p.scope(e.Scope)
	p.optOut(e.OptOut)
	p.traps(e.Traps)
	p.state(e)
	p.host(e.Host)
	p.robots(e.Robots)
	p.pace(e.Pace)
	p.budgets(e.Budgets)
	p.history(e.History)
	for _, n := range e.Notes {
		p.prose("note", "%s", n)
	}
	return p.String()
}

// explainStamp writes an instant.
func explainStamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// secs writes a number of seconds.
func secs(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Microsecond).String()
}

func (p *explainPage) url(u explain.URL) {
	p.line("url", "%s", u.Fetch)
	if u.Key != u.Fetch {
		p.line("key", "%s", u.Key)
	}
	for _, c := range u.Changes {
		p.line("", "%s", c)
	}
}

func (p *explainPage) scope(s explain.Scope) {
	in := "in"
	if !s.In {
		in = "out"
	}
	for i, r := range s.Asked {
		if i == len(s.Asked)-1 {
			p.line("scope", "%s, by rule %s", in, r.Rule)
		}
	}
	var before []string
	for _, r := range s.Asked[:max(len(s.Asked)-1, 0)] {
		before = append(before, r.Rule)
	}
	if len(before) > 0 {
		p.prose("", "rules that do not apply: %s", strings.Join(before, ", "))
	}
}

func (p *explainPage) optOut(o *explain.Entry) {
	if o == nil {
		p.line("opt-out", "on no list")
		return
	}
	p.line("opt-out", "line %d of %s: %s", o.Line, o.File, o.Entry)
	if o.Reason != "" {
		p.line("", "%s", o.Reason)
	}
}

func (p *explainPage) traps(all []explain.Rule) {
	var says []string
	for _, t := range all {
		if t.Says != "no opinion" {
			says = append(says, t.Rule+" "+t.Says)
		}
	}
	if len(says) == 0 {
		says = []string{fmt.Sprintf("none of %d rules applies", len(all))}
	}
	p.line("traps", "%s", strings.Join(says, ", "))
}

func (p *explainPage) state(e explanation) {
	s, h := e.State, e.History
	text := s.State
	if s.Reason != "" {
		text += " (" + plainly.Reason(s.Reason) + ")"
	}
	if s.Due != nil {
		text += ", tried again after " + explainStamp(*s.Due)
	}
	if s.Attempts > 0 {
		text += fmt.Sprintf(", attempt %d", s.Attempts)
	}
	if s.Stops > 0 {
		text += fmt.Sprintf(", in flight at %d kills", s.Stops)
	}
	if e.Generation > 1 && e.At == nil {
		text += fmt.Sprintf(", in generation %d of the crawl", e.Generation)
	}
	p.line("state", "%s", text)
	switch {
	case s.Assumed && s.State == "unknown":
		p.line("", "not found so far; judged as a link of a seed's page")
	case s.Assumed:
		p.line("", "how it was found is not kept; judged as a link of a seed's page")
	default:
		found := s.Kind + " at depth " + fmt.Sprint(s.Depth)
		if s.Hops > 0 {
			found += fmt.Sprintf(" after %d redirects", s.Hops)
		}
		if s.Via != "" {
			found += " by " + s.Via
		}
		if h.Found != nil {
			found += ", " + explainStamp(*h.Found)
		}
		p.line("", "%s", found)
		if s.Seed != "" {
			p.line("", "seed %s%s", s.Seed, tagged(s.Tag))
		}
	}
	if s.Replaced != "" {
		p.line("", "a redirect put another spelling in its place: %s", s.Replaced)
	}
}

func tagged(tag string) string {
	if tag == "" {
		return ""
	}
	return ", tag " + tag
}

func (p *explainPage) host(h explain.Host) {
	if !h.Known {
		p.line("host", "not found so far")
		return
	}
	var parts []string
	if h.Condition != "" {
		parts = append(parts, h.Condition+behind(plainly.Reason(h.Reason)))
	}
	if h.Own {
		parts = append(parts, "your own")
	}
	if h.Until != nil {
		parts = append(parts, "next turn after "+explainStamp(*h.Until))
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
	if len(parts) == 0 {
		parts = []string{"known"}
	}
	p.line("host", "%s", strings.Join(parts, ", "))
}

// behind puts a reason behind a word.
func behind(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

func (p *explainPage) pace(x explain.Pace) {
	p.line("delay", "%s, set by %s%s", secs(x.Seconds), x.By, behind(plainly.Words("delays")[string(x.By)]))
	for _, t := range x.Terms {
		ask := "requires no delay"
		if t.Seconds != nil {
			ask = secs(*t.Seconds)
		}
		if t.Note != "" {
			ask += " = " + t.Note
		}
		p.line("", "%-14s %s", t.By, ask)
	}
	if x.Address > 0 && x.Terms[len(x.Terms)-1].By != storage.ByAddress {
		p.line("", "%-14s %s between two starts at one address", storage.ByAddress, secs(x.Address))
	}
	if x.Rest > x.Seconds {
		p.line("", "after the last request a delay of %s was due, because of %s", secs(x.Rest), x.RestBy)
	}
	if x.Last != nil {
		p.line("", "the last request ended %s", explainStamp(*x.Last))
	}
}

func (p *explainPage) budgets(all []explain.Budget) {
	section := "budgets"
	for _, b := range all {
		unit := map[string]string{budget.MaxTime: " s", budget.MaxBytes: " B"}[b.Name]
		used := fmt.Sprintf("%d%s, no limit", b.Used, unit)
		if b.Limit != nil {
			used = fmt.Sprintf("%d of %d%s", b.Used, *b.Limit, unit)
		}
		p.line(section, "%-14s %s", b.Name, used)
		section = ""
	}
}
