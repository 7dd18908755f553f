package crawler

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/crawler/found"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/mediatype"
	"curtsy/storage/optout"
	"curtsy/storage/plainly"
)

// decision is the result of a task in this turn.
type decision struct {
	kind    storage.Decision
	reason  string
	note    string // follows the reason in the line
	verdict robots.Verdict
	outcome frontier.Outcome // zero: it comes again
	instead canon.URL        // the fetch URL then, if it changes
	entry   *optout.Hit      // of an opt-out

	status int // with ended, of an exchange that has a separate line
	ended  time.Time

	// With an exchange:
	record.Evidence
	found   frontier.Candidate // the task as it was found
	attempt int
	pace    host.Pace // due before it
	gap     time.Duration
	change  storage.Change // since an earlier generation
	asks    extract.Directives
	prefs   string // usage preferences

	needsScript bool // the page is empty without its scripts
}

// settler is the stage that records decisions and closes tasks.
type settler struct {
	cfg    *Config
	record *record.Writer
	lined  *record.Recent
	book   *seedBook
	failed examples // URLs that failed, with the reason; not seeds, which the book names
}

// settle writes a task's line, and closes the task or defers it.
func (c *settler) settle(ctx context.Context, v *visit, task frontier.Task, d decision, f *findings) error {
	if d.change != "" {
		f.count(budget.PrefixChanges+string(d.change), 1)
	}
	if d.outcome == 0 {
		if err := c.line(ctx, v, task, d, storage.OutcomeDeferred); err != nil {
			return err
		}
		again := frontier.Deferral{Print: task.Print, After: v.rest.URL, Reason: d.reason, URL: d.instead}
		v.result.Deferred = append(v.result.Deferred, again)
		v.accept(f)
		return nil
	}
	if d.kind == storage.DecisionHold {
		v.history.Turn(task.URL)
		c.logHeld(task, d.reason)
	}
	if task.Kind == frontier.KindScript {
		f.count(budget.PrefixScripts+storage.OfScript(storage.Outcome(d.outcome.String())), 1)
	}
	if found.SeedChain(task.Candidate) || requestedSitemap(task.Candidate) {
		f.settleSeed(c.book, task, d)
	}
	if err := c.line(ctx, v, task, d, storage.Outcome(d.outcome.String())); err != nil {
		return err
	}
	done := frontier.Done{Print: task.Print, Outcome: d.outcome, Reason: d.reason}
	if d.outcome == frontier.Redirected {
		done.Reason = "" // only the line has the target
	}
	if d.outcome == frontier.Failed && task.Kind != frontier.KindSeed {
		c.failed.add(task.URL.String() + " (" + plainly.Reason(d.reason) + ")")
	}
	v.result.Done = append(v.result.Done, done)
	v.accept(f)
	return nil
}

func (c *settler) line(ctx context.Context, v *visit, task frontier.Task, d decision, outcome storage.Outcome) error {
	found := task.Candidate
	if d.Exchange != nil {
		found = d.found
	}
	l := c.lineOf(v, found)
	l.Decision, l.Reason, l.Outcome, l.Attempt = d.kind, d.reason, outcome, d.attempt
	l.Pace, l.PaceBy, l.Gap, l.Change = d.pace.Pause, d.pace.By, d.gap, d.change
	l.Directives, l.Asked, l.Prefs = d.asks.String(), joinLines(d.asks.Raw), d.prefs
	l.NeedsScript = d.needsScript
	if l.Status = d.status; !d.ended.IsZero() {
		l.Time = d.ended // its record may have taken longer than the lease
	}
	d.Describe(&l)
	if d.Exchange != nil {
		v.noteRest(&l)
		if l.Modified = record.Modified(d.Exchange.Header, d.Exchange.End); outcome == storage.OutcomeFetched {
			l.Holds = record.Holds(d.Exchange.Header, d.Exchange.End)
		}
	}
	if d.entry != nil {
		nameEntry(&l, d.entry)
	} else if d.kind != storage.DecisionRefuse {
		v.ruled(&l, d.verdict)
		if l.Reason == "" {
			l.Reason = string(d.verdict.Reason)
		}
	}
	if d.note != "" {
		l.Reason += ": " + d.note
	}
	_, err := c.record.Write(ctx, l, d.Evidence)
	return err
}

// lineOf begins the line of a candidate.
func (c *settler) lineOf(v *visit, of frontier.Candidate) storage.Line {
	l := found.Line(of)
	if l.Own = v.own; of.URL.Authority() != v.turn.Authority {
		l.Own = c.cfg.own(of.URL.Authority())
	}
	return l
}

// ruled adds a verdict to a line.
func (v *visit) ruled(l *storage.Line, verdict robots.Verdict) {
	l.RobotsLine, l.RobotsRule, l.RobotsGroup, l.RunnerUp = verdict.Line, record.Plain(verdict.Rule), record.Plain(verdict.Group), record.Plain(verdict.RunnerUp)
	l.Standard, l.RobotsRecord = verdict.Standard.String(), v.memory.Source.Record
	if verdict.Digest != ([32]byte{}) {
		l.RobotsSHA256 = hex.EncodeToString(verdict.Digest[:])
	}
}

// recordBarred writes the lines of URLs that a turn found on a host dropped by the operator.
func (c *settler) recordBarred(ctx context.Context, v *visit, cs []frontier.Candidate, added frontier.Added) error {
	for _, place := range added.Barred {
		if _, err := c.record.Write(ctx, record.Dropped(c.lineOf(v, cs[place])), record.Evidence{}); err != nil {
			return err
		}
	}
	return nil
}

// recordDropped writes the lines of URLs and tasks that an operator's Drop closed with the Finish of a turn. The frontier decides
// that, so the lines come after it.
func (c *settler) recordDropped(ctx context.Context, v *visit, finished frontier.Finished) error {
	ctx = context.WithoutCancel(ctx)
	if err := c.recordBarred(ctx, v, v.result.Found, finished.Added); err != nil {
		return err
	}
	for _, t := range v.turn.Tasks {
		if !slices.Contains(finished.Dropped, t.Print) {
			continue
		}
		if _, err := c.record.Write(ctx, record.Dropped(c.lineOf(v, t.Candidate)), record.Evidence{}); err != nil {
			return err
		}
	}
	return nil
}

// addGiven adds candidates from outside a turn.
func (c *settler) addGiven(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error) {
	added, err := c.cfg.Frontier.Add(ctx, cs)
	err = errors.Join(err, c.record.Barred(ctx, cs, added))
	return added, err
}

const reasonOptOut = string(fetch.OptOut)

// leaveOptedOut closes the turn's tasks on an opt-out list and returns the others. It comes first in a turn, before robots.txt
// (politeness rule 16).
func (c *settler) leaveOptedOut(ctx context.Context, v *visit) ([]frontier.Task, error) {
	tasks := v.turn.Tasks
	first := slices.IndexFunc(tasks, func(t frontier.Task) bool { return c.cfg.OptOut.URL(t.URL) != nil })
	if first < 0 {
		return tasks, nil // as nearly always
	}
	left := slices.Clone(tasks[:first])
	for _, task := range tasks[first:] {
		hit := c.cfg.OptOut.URL(task.URL)
		if hit == nil {
			left = append(left, task)
			continue
		}
		if err := c.settle(ctx, v, task, optedOut(hit), v.findings()); err != nil {
			return nil, err
		}
	}
	return left, nil
}

func optedOut(hit *optout.Hit) decision {
	return decision{kind: storage.DecisionOptOut, reason: reasonOptOut, outcome: frontier.Dropped, entry: hit}
}

// entryOf returns the opt-out entry that prevented an exchange, or nil.
func entryOf(f *fetch.Failure) *optout.Hit {
	if f == nil || f.Class != fetch.OptOut {
		return nil
	}
	hit, _ := errors.AsType[*optout.Hit](f)
	return hit
}

// notAsked returns the prevented exchange of a URL on an opt-out list, or nil.
func (c *exchanger) notAsked(u canon.URL) *fetch.Exchange {
	hit := c.cfg.OptOut.URL(u)
	if hit == nil {
		return nil
	}
	now := time.Now()
	return &fetch.Exchange{URL: u, Start: now, End: now, Failure: &fetch.Failure{Class: fetch.OptOut, Err: hit}}
}

// dropAll closes the turn's tasks if the address of their host is on an opt-out list, which is known only after the lookup. The
// policy stays unknown.
func (c *settler) dropAll(ctx context.Context, v *visit, hit *optout.Hit) error {
	for _, task := range v.turn.Tasks {
		if slices.ContainsFunc(v.result.Done, func(d frontier.Done) bool { return d.Print == task.Print }) {
			continue
		}
		if err := c.settle(ctx, v, task, optedOut(hit), v.findings()); err != nil {
			return err
		}
	}
	return nil
}

// bounds is the stage that decides which URLs are in scope, and how they are requested.
type bounds struct {
	cfg   *Config
	scope *area
	rels  extract.Rels   // of Config.FollowRel
	lined *record.Recent // keys of refused URLs with a line
	book  *seedBook
}

// judge decides about a task by scope, robots policy, traps and archive, as they are now. A zero outcome means that an exchange
// is needed; inFlight is the number of exchanges for sitemaps of this host.
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

// Some hosts return 403 for missing files. After a few refusals in a row no further names from scripts are tried, so that words
// in a script do not retire the host (politeness rule 13).
const (
	scriptRefusals      = 5
	reasonScriptRefused = "script: refusals in a row"
)

// untried reports whether this is the first turn of a task.
func untried(t frontier.Task) bool {
	return t.Attempts == 0 && !t.Replaced && t.Reason != frontier.ReasonReleased
}

// held returns the trap that holds a task, or "". Seeds, their redirects, and tasks tried before or released are not held.
func (c *bounds) held(v *visit, task frontier.Task) string {
	if !untried(task) || found.SeedChain(task.Candidate) || c.isLeaf(task) {
		return ""
	}
	return v.history.Held(task.URL, c.cfg.Traps)
}

// logHeld logs, once for each part of a host, that tasks are held.
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

const reasonFresh = "fresh, not asked"

// isFresh reports whether a requisite needs no request, because its archived response is explicitly fresh (politeness rule 21).
// Pages always need one. A leaf that was there is fresh for ExternalAge.
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
