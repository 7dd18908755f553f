package crawler

import (
	"context"
	"net/http"
	"time"

	"curtsy/crawler/extract"
	"curtsy/crawler/found"
	"curtsy/crawler/record"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/storage"
	"curtsy/storage/mediatype"
)

// bounds is the stage that says which URLs are in, and what is asked for of them.
type bounds struct {
	cfg   *Config
	scope *area
	rels  extract.Rels   // of Config.FollowRel
	lined *record.Recent // keys of refused URLs that have a line of the ledger
	book  *seedBook
}

// judge decides about a task before anybody is asked, by scope, robots policy, traps and what is archived, as they are now.
// Zero as the outcome says that an exchange is to be made; inFlight is how many are made of sitemaps of this host.
func (c *bounds) judge(ctx context.Context, v *visit, task frontier.Task, inFlight int) (decision, error) {
	judged := c.scope.Load().Judge(InScope(task.Candidate))
	verdict := v.rules.Judge(task.URL.RequestURI())
	switch {
	case !judged.In:
		return decision{kind: storage.DecisionRefuse, reason: judged.Rule, outcome: frontier.Dropped}, nil
	case !verdict.Allowed:
		return decision{kind: storage.DecisionDisallow, reason: string(verdict.Reason), verdict: verdict, outcome: frontier.Disallowed}, nil
	case task.Kind == frontier.KindMap && int64(v.memory.Sitemaps)+int64(inFlight) >= maxSitemaps:
		return decision{kind: storage.DecisionRefuse, reason: reasonSitemaps, outcome: frontier.Dropped}, nil
	case task.Kind == frontier.KindScript && v.memory.Refusals >= scriptRefusals:
		return decision{kind: storage.DecisionRefuse, reason: reasonScriptRefused, outcome: frontier.Dropped}, nil
	}
	if rule := c.held(v, task); rule != "" {
		return decision{kind: storage.DecisionHold, reason: rule, verdict: verdict, outcome: frontier.Held}, nil
	}
	d := decision{kind: storage.DecisionAllow, verdict: verdict}
	fresh, err := c.isFresh(ctx, task)
	if fresh {
		d.reason, d.outcome, d.change = reasonFresh, frontier.Fetched, storage.ChangeFresh
	}
	return d, err
}

// Some hosts answer 403 where there is nothing. After a few refusals in a row no name is tried that may be none, lest the
// host be left for good (politeness rule 13) for the sake of words in its scripts.
const (
	scriptRefusals      = 5
	reasonScriptRefused = "script: refusals in a row"
)

// untried reports whether a task has its turn for the first time.
func untried(t frontier.Task) bool {
	return t.Attempts == 0 && !t.Replaced && t.Reason != frontier.ReasonReleased
}

// held returns the trap that holds a task, or "". What the operator typed, and what it redirects to, is not held; nor is
// what was asked for before, or released.
func (c *bounds) held(v *visit, task frontier.Task) string {
	if !untried(task) || found.SeedChain(task.Candidate) || c.isLeaf(task) {
		return ""
	}
	return v.history.Held(task.URL, c.cfg.Traps)
}

// logHeld says, once for each part of a host, that tasks are set aside.
func (c *settler) logHeld(task frontier.Task, rule string) {
	if rule == reasonMaxPerTag {
		if c.lined.First(rule + " " + task.Tag) {
			c.cfg.Log("tag %s has all the pages that max-per-tag allows: its further URLs are held", short(task.Tag))
		}
		return
	}
	template := task.URL.Authority().Origin() + trap.Template(task.URL.RequestURI())
	if rule == trap.RuleQueries {
		template = task.URL.Authority().Origin() + task.URL.Path() + "?…"
	}
	if c.lined.First(rule + " " + template) {
		c.cfg.Log("%s: almost nothing new was found there: further URLs are held (%s); curtsy frontier release releases them", short(template), rule)
	}
}

// reasonFresh is why a requisite is not asked for.
const reasonFresh = "fresh, not asked"

// isFresh reports whether a requisite is not to be asked for, because the archived answer is fresh by what its server said
// (politeness rule 21). A page is never spared the question, and nothing is guessed about what says nothing.
//
// What lies off the scope is fresh for ExternalAge, if it was there: nothing more is asked of it than that.
func (c *bounds) isFresh(ctx context.Context, task frontier.Task) (bool, error) {
	isLeaf := c.isLeaf(task)
	if c.cfg.Past == nil || task.Embeds == 0 && !isLeaf || !untried(task) {
		return false, nil
	}
	e, err := c.cfg.Past.Last(ctx, task.URL)
	if isLeaf {
		age := time.Duration(0)
		if e != nil {
			age = time.Since(e.Date)
		}
		return err == nil && e != nil && e.Status >= 200 && e.Status < 300 && age >= 0 && age < c.cfg.ExternalAge, err
	}
	if err != nil || e == nil || e.Body == nil || e.Status != http.StatusOK {
		return false, err
	}
	if t := mediatype.Of(e.Header); t.Unnamed() || t.IsHTML() || !record.Fresh(e.Header, e.Date, time.Now()) {
		return false, nil
	}
	want := c.request(1, task).Want
	return want == nil || want(e.Status, e.Header) == "", nil
}
