package crawler

import (
	"context"

	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/crawler/found"
	"curtsy/crawler/totals"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage"
)

// What the traps of politeness rule 22 remember of a host is judged and told here; package trap says what it means.

// untried reports whether a task has its turn for the first time.
func untried(t frontier.Task) bool {
	return t.Attempts == 0 && !t.Replaced && t.Reason != frontier.ReasonReleased
}

// held returns the trap that holds a task, or "". What the operator typed, and what it redirects to, is not held; nor is
// what was asked for before, or released.
func (c *Crawl) held(v *visit, task frontier.Task) string {
	if !untried(task) || found.SeedChain(task.Candidate) {
		return ""
	}
	return v.history.Held(task.URL, c.cfg.Traps)
}

// hold sets a task aside.
func (c *Crawl) hold(ctx context.Context, v *visit, task frontier.Task, verdict robots.Verdict, rule string) error {
	v.history.Turn(task.URL)
	template := v.turn.Authority.Origin() + trap.Template(task.URL.RequestURI())
	if rule == trap.RuleQueries {
		template = v.turn.Authority.Origin() + task.URL.Path() + "?…"
	}
	if c.lined.First(rule + " " + template) {
		c.cfg.Log("%s: hardly anything new comes from there any more: further ones are held (%s). curtsy frontier release sets them free", short(template), rule)
	}
	return c.settle(ctx, v, task, decision{kind: storage.DecisionHold, reason: rule, verdict: verdict, outcome: frontier.Held})
}

// meet counts a task that was asked for.
func (v *visit) meet(task frontier.Task) {
	v.copied = false
	if untried(task) {
		v.history.Turn(task.URL)
	}
}

// watched reports whether the shape of a task's page is worth knowing.
func (v *visit) watched(c *Crawl, task frontier.Task) bool {
	return v.history.Watches(task.URL, c.cfg.Traps)
}

// digested takes in what a page says, and reports whether it is a copy whose links are dropped.
func (c *Crawl) digested(v *visit, task frontier.Task, page extract.Page, d *trap.Digester) (drop bool) {
	for _, l := range page.Links {
		if l.Embed && l.Element != "link" && l.Element != "script" {
			d.Embed(l.URL)
		}
	}
	text, shape := d.Digests()
	v.history.Brought(task.URL, shape, c.cfg.Traps)
	copies := v.history.Copies(task.Via, text)
	if v.copied = len(page.Links) > 0 && c.cfg.Traps.Drops(copies); v.copied {
		v.count(totals.PrefixLinks+trap.RuleCopy, int64(len(page.Links)))
		return true
	}
	if c.cfg.Traps.Copies() && len(page.Links) > 0 {
		v.history.Leads(task.URL, text, copies)
	}
	return false
}

// undigested takes in an answer that is no HTML, or none that can be read.
func (c *Crawl) undigested(v *visit, task frontier.Task, ex *fetch.Exchange) {
	v.history.Brought(task.URL, trap.Shape(ex.PayloadDigest[:]), c.cfg.Traps)
}
