package crawler

import (
	"context"
	"encoding/hex"
	"io"
	"time"

	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/crawler/optout"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
)

// What a ledger line decides on.
const (
	decisionAllow    = "allow"    // the gate let the URL pass, and this is how it ended
	decisionDisallow = "disallow" // robots.txt forbids it
	decisionRefuse   = "refuse"   // scope, trap or budget; the reason names the rule
	decisionHold     = "hold"     // a trap's history; the reason names the rule
	decisionRobots   = "robots"   // an exchange for robots.txt
	decisionOptOut   = "opt-out"  // an opt-out list has it: line, rule and list are those of its entry
)

// decision is what became of a task in this turn.
type decision struct {
	kind    string
	reason  string
	note    string // for the line alone, behind the reason
	verdict robots.Verdict
	outcome frontier.Outcome // zero: it comes again
	instead canon.URL        // with outcome zero, if not the zero URL: what is to be fetched in its place
	entry   *optout.Hit      // of an opt-out

	// With an exchange:
	status  int
	attempt int
	record  string
	pace    pace // that was to be kept before it
	gap     time.Duration
	asks    extract.Directives // what the answer asks of robots
	prefs   string             // usage preferences that hold for it
}

// settle writes a task's line and closes it, or returns it to its host to come again.
func (c *Crawl) settle(ctx context.Context, v *visit, task frontier.Task, d decision) error {
	if d.outcome == 0 {
		again := frontier.Deferral{Print: task.Print, After: v.rest.url, Reason: d.reason, URL: d.instead}
		v.result.Deferred = append(v.result.Deferred, again)
		return c.line(ctx, task, d, "deferred")
	}
	if seedChain(task.Candidate) || requestedMap(task.Candidate) {
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
	return c.line(ctx, task, d, d.outcome.String())
}

func (c *Crawl) line(ctx context.Context, task frontier.Task, d decision, outcome string) error {
	l := storage.Line{
		Time: time.Now(), URL: task.URL.String(), Seed: task.Seed, Tag: task.Tag,
		Decision: d.kind, Reason: d.reason,
		Pace: d.pace.d, PaceBy: d.pace.by, Gap: d.gap,
		Attempt: d.attempt, Outcome: outcome, Status: d.status, Record: d.record,
	}
	l.Directives, l.Asked, l.Prefs = d.asks.String(), joined(d.asks.Raw), d.prefs
	if d.entry != nil {
		named(&l, d.entry)
	} else if d.kind != decisionRefuse {
		l.RobotsLine, l.RobotsRule, l.Standard = d.verdict.Line, d.verdict.Rule, d.verdict.Standard.String()
		if d.verdict.Digest != ([32]byte{}) {
			l.RobotsSHA256 = hex.EncodeToString(d.verdict.Digest[:])
		}
		if l.Reason == "" {
			l.Reason = string(d.verdict.Reason)
		}
	}
	if d.note != "" {
		l.Reason += ": " + d.note
	}
	return c.cfg.Ledger.Append(ctx, l)
}

// record keeps an exchange that is none of a page's: nothing is left out of it.
func (c *Crawl) record(ctx context.Context, ex *fetch.Exchange, noArchive bool) (string, error) {
	return c.recordWith(ctx, ex, noArchive, "")
}

// recordWith keeps an exchange. Of a page that asks not to be archived, the body is left out (politeness rule 19); its
// digest stays.
func (c *Crawl) recordWith(ctx context.Context, ex *fetch.Exchange, noArchive bool, prefs string) (string, error) {
	if len(ex.Request) == 0 {
		return "", nil // no connection: no octet was sent
	}
	r := storage.Record{
		URL: ex.URL.String(), Time: ex.Start, Addr: ex.Addr, Request: ex.Request, Response: ex.Response,
		PayloadDigest: ex.PayloadDigest, HasPayload: ex.Status != 0, Truncated: ex.Truncated,
		Prefs: prefs,
	}
	if noArchive && ex.Response != nil && ex.Response.Size() > ex.HeadSize {
		r.Response, r.Truncated = io.NewSectionReader(ex.Response, 0, ex.HeadSize), "unspecified"
	}
	return c.cfg.Recorder.Record(ctx, r)
}
