package main

import (
	"fmt"

	"curtsy/storage"
	"curtsy/storage/plainly"
)

// history writes what the ledger has.
func (p *explainPage) history(h history) {
	defer p.asked(h)
	switch {
	case h.Total == 0 && h.Redacted > 0:
		p.prose("history", "the ledger has no decision on it; %s redacted and no longer show their URLs", plainly.Count(h.Redacted, "line"))
		return
	case h.Total == 0:
		p.line("history", "the ledger has no decision on it")
		return
	}
	p.line("history", "%s", plainly.Count(int64(h.Total), "decision"))
	if h.Total > len(h.Decisions()) {
		p.line("", "… the last %d:", len(h.Decisions()))
	}
	for _, l := range h.Decisions() {
		p.prose("", "%s", decisionText(l))
	}
}

// maxAsked is how many exchanges for robots.txt the text has; JSON has more.
const maxAsked = 5

// asked writes the last exchanges for the host's robots.txt, redirects included.
func (p *explainPage) asked(h history) {
	all := h.Asked()
	for i, l := range all[max(len(all)-maxAsked, 0):] {
		section := ""
		if i == 0 {
			section = "asked"
		}
		what := ""
		if l.Via != "" {
			what = ", for " + l.Via
		}
		p.prose(section, "%s %s%s: %s", explainStamp(l.Time), l.URL, what, gotText(l))
	}
}

// gotText says what an exchange for robots.txt brought.
func gotText(l storage.Line) string {
	text := plainly.Reason(l.Reason)
	if text == "" {
		text = fmt.Sprintf("status %d", l.Status)
	}
	if l.Record != "" {
		text += ", record " + l.Record
	}
	return text
}

// decisionText is a line of the ledger for people.
func decisionText(l storage.Line) string {
	text := explainStamp(l.Time) + " " + string(l.Decision)
	if l.Outcome != "" {
		text += ": " + string(l.Outcome)
	}
	if l.Reason != "" {
		text += " (" + plainly.Reason(l.Reason) + ")"
	}
	if l.RobotsLine > 0 {
		text += fmt.Sprintf(", line %d", l.RobotsLine)
	}
	if l.Attempt > 0 {
		text += fmt.Sprintf(", attempt %d", l.Attempt)
	}
	if l.Status > 0 {
		text += fmt.Sprintf(", status %d", l.Status)
	}
	if l.Attempt > 0 && l.PaceBy != "" {
		text += fmt.Sprintf(", delay %v of %v due (%s)", l.Gap, l.Pace, l.PaceBy)
	}
	if l.Count > 0 {
		text += fmt.Sprintf(", one of %d URLs that share this line", l.Count)
	}
	if l.Record != "" {
		text += ", record " + l.Record
	}
	return text
}
