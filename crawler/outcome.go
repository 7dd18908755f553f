package crawler

import (
	"net/http"

	"curtsy/crawler/fetch"
	"curtsy/crawler/found"
	"curtsy/crawler/host"
	"curtsy/crawler/totals"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// conclude decides how a task ends by its exchange, or that it comes again.
func (c *Crawl) conclude(v *visit, task frontier.Task, ex *fetch.Exchange, a host.Answer, why string, d *decision) {
	d.outcome, d.reason = frontier.Failed, why
	switch a {
	case host.Answered:
		d.outcome = frontier.Fetched
		if ex.Truncated != "" {
			v.count(totals.Truncated, 1)
			d.reason = "truncated: " + ex.Truncated
		} else if v.copied {
			d.reason = trap.RuleCopy
		}
		if v.listed.reason != "" {
			d.reason, d.note = v.listed.reason, v.listed.note
		}
	case host.Redirected:
		c.redirect(v, task, ex.Header.Get("Location"), d)
	case host.Gone:
		d.outcome = frontier.Gone
	case host.Unwanted, host.Guarded:
		d.outcome = frontier.Dropped
	case host.Refused:
		if v.memory.Forbidden && ex.Status == http.StatusForbidden && v.memory.Pages == 0 && v.turn.Host.Outcomes[frontier.Fetched] == 0 {
			v.leave(frontier.Refused, "status 403 for robots.txt and for the first page", 0)
		}
	default:
		hollow := why == reasonHollow && task.Reason != reasonHollow && task.Attempts < again304
		if task.Attempts+1 < a.Attempts() || hollow {
			d.outcome = 0
		}
	}
}

// redirect makes the target a candidate. A target with the task's own key replaces its fetch URL once.
func (c *Crawl) redirect(v *visit, task frontier.Task, location string, d *decision) {
	target, err := task.URL.Resolve(location)
	switch {
	case err != nil:
		d.outcome, d.reason = frontier.Failed, "redirect: "+string(canon.ReasonOf(err))
	case loops(task, target) || target.Key() != task.URL.Key() && c.circles(task, target):
		d.outcome, d.reason = frontier.Failed, "redirect loop"
	case target.Key() == task.URL.Key():
		d.outcome, d.reason, d.instead = 0, "redirect to its own key", target
	case task.Hops >= maxHops:
		d.outcome, d.reason = frontier.Dropped, reasonHops
	default:
		next := task.Candidate
		next.URL, next.Kind, next.Via, next.Hops = target, frontier.KindRedirect, task.URL.String(), task.Hops+1
		if task.Kind == frontier.KindMap {
			next.Kind, next.Via = frontier.KindMap, rootMap(task.Candidate)
		}
		if task.Embeds > 0 && c.scope.Covers(task.URL) && !c.scope.Covers(target) {
			next.Away++ // it was no step off the scope, and becomes one
		}
		c.found(v, next, false)
		d.outcome, d.reason = frontier.Redirected, "to "+short(target.String())
	}
}

// loops reports whether a redirect leads back to where it came from. A longer circle ends by itself, since its URLs
// are candidates once; but that of a seed must not pass for an answer.
func loops(task frontier.Task, target canon.URL) bool {
	to := target.String()
	if target.Key() == task.URL.Key() {
		return task.Replaced || to == task.URL.String()
	}
	return found.SeedChain(task.Candidate) && (to == task.Seed || to == task.Via)
}

// maxHops is the longest chain of redirects that is followed (politeness rule 22).
const maxHops = 10

// The reasons that the story itself gives.
const (
	reasonHops       = "trap:redirect-chain"
	reasonDryRun     = "dry run" // why a host is left after its robots.txt
	reasonMaxPerHost = "budget: max-per-host"
	reasonPanic      = storage.ReasonPanic
	reasonLease      = storage.ReasonLease // it took longer than a lease allows
)

// short cuts a URL for a reason.
func short(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}
