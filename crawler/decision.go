package crawler

import (
	"context"
	"time"

	"curtsy/crawler/extract"
	"curtsy/crawler/found"
	"curtsy/crawler/host"
	"curtsy/crawler/optout"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
)

// decision is what became of a task in this turn.
type decision struct {
	kind    storage.Decision
	reason  string
	note    string // for the line alone, behind the reason
	verdict robots.Verdict
	outcome frontier.Outcome // zero: it comes again
	instead canon.URL        // with outcome zero, if not the zero URL: what is to be fetched in its place
	entry   *optout.Hit      // of an opt-out

	// With an exchange:
	evidence
	ahead   *reading           // the page, if it was read already
	found   frontier.Candidate // the task as it was found
	attempt int
	pace    host.Pace // that was to be kept before it
	gap     time.Duration
	before  before             // what was archived of the URL in an earlier generation
	change  storage.Change     // since then
	asks    extract.Directives // what the answer asks of robots
	prefs   string             // usage preferences that hold for it
}

// settle writes a task's line and closes it, or returns it to its host to come again.
func (c *Crawl) settle(ctx context.Context, v *visit, task frontier.Task, d decision) error {
	if d.outcome == 0 {
		again := frontier.Deferral{Print: task.Print, After: v.rest.URL, Reason: d.reason, URL: d.instead}
		v.result.Deferred = append(v.result.Deferred, again)
		return c.line(ctx, v, task, d, storage.OutcomeDeferred)
	}
	if found.SeedChain(task.Candidate) || requestedMap(task.Candidate) {
		switch d.outcome {
		case frontier.Fetched:
			c.answeredSeed(v, task.Candidate)
		case frontier.Redirected:
		default:
			c.unanswered(v, task.Candidate, d.outcome.String()+": "+d.reason)
		}
		if d.outcome != frontier.Redirected {
			c.endOfChain(task)
		}
	}
	done := frontier.Done{Print: task.Print, Outcome: d.outcome, Reason: d.reason}
	if d.outcome == frontier.Redirected {
		done.Reason = "" // where it leads is of the line, not of the count
	}
	v.result.Done = append(v.result.Done, done)
	return c.line(ctx, v, task, d, storage.Outcome(d.outcome.String()))
}

// line writes down what became of a task.
func (c *Crawl) line(ctx context.Context, v *visit, task frontier.Task, d decision, outcome storage.Outcome) error {
	found := task.Candidate
	if d.ex != nil {
		found = d.found
	}
	l := c.lineOf(v, found)
	l.Decision, l.Reason, l.Outcome, l.Attempt = d.kind, d.reason, outcome, d.attempt
	l.Pace, l.PaceBy, l.Gap, l.Change = d.pace.Pause, d.pace.By, d.gap, storage.Change(d.change)
	l.Directives, l.Asked, l.Prefs = d.asks.String(), joined(d.asks.Raw), d.prefs
	d.exchanged(&l)
	if d.ex != nil {
		v.imposes(&l)
	}
	if d.entry != nil {
		named(&l, d.entry)
	} else if d.kind != storage.DecisionRefuse {
		v.ruled(&l, d.verdict)
		if l.Reason == "" {
			l.Reason = string(d.verdict.Reason)
		}
	}
	if d.note != "" {
		l.Reason += ": " + d.note
	}
	_, err := c.write(ctx, l, d.evidence)
	return err
}
