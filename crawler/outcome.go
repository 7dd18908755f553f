package crawler

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"curtsy/crawler/budget"
	"curtsy/crawler/fetch"
	"curtsy/crawler/found"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/crawler/scope"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// outcomes is the stage that decides on the meaning of an exchange for its host and its task.
type outcomes struct {
	cfg     *Config
	bounds  *bounds
	linker  *linker
	reader  *pageReader
	settler *settler
	book    *seedBook
}

// handle settles the task of an attempt whose exchange is over. A panic, or the end of the lease, is only a failed attempt: a
// page that makes a parser panic must not stop ten million others. The findings so far are dropped.
func (c *outcomes) handle(ctx context.Context, v *visit, x *attempt) error {
	if errors.Is(x.err, errNotYet) {
		return nil
	}
	if x.task.Kind == frontier.KindMap {
		v.memory.Sitemaps++
	}
	was, err := c.guardPanic(x.task.URL, func() error {
		if x.panicked != nil {
			panic(x.panicked)
		}
		if x.err != nil {
			return x.err
		}
		return c.handleResponse(ctx, v, x)
	})
	task := x.task
	task.Candidate = x.found
	d := decision{kind: storage.DecisionAllow, verdict: x.verdict, attempt: task.Attempts + 1, pace: x.due, reason: reasonPanic}
	if !was {
		if err == nil || !late(ctx, err) {
			return errors.Join(err, v.aborted(ctx, err, func(ctx context.Context) error {
				d.reason, d.pace = host.Aborted, v.kept
				return c.settler.line(ctx, v, task, d, storage.OutcomeDeferred)
			}))
		}
		d.reason = reasonLease
	}
	v.cut()
	if v.kept.By != "" {
		d.pace = v.kept
	}
	if d.attempt >= host.Broken.Attempts() {
		d.outcome = frontier.Failed
	}
	return c.settler.settle(context.WithoutCancel(ctx), v, task, d, v.findings())
}

// handleResponse settles a task by its exchange. An abort before the response is read archives it, and leaves the task as it was.
func (c *outcomes) handleResponse(ctx context.Context, v *visit, x *attempt) (err error) {
	ex := x.ex
	defer func() {
		x.readAhead() // before the body is closed
		ex.Close()
	}()
	if hit := entryOf(ex.Failure); hit != nil {
		return c.settler.settle(ctx, v, x.task, optedOut(hit), v.findings())
	}
	d := decision{
		kind: storage.DecisionAllow, verdict: x.verdict, attempt: x.task.Attempts + 1, found: x.found,
		pace: v.kept, gap: v.gap(ex.Start), Evidence: record.Evidence{Exchange: ex, Page: true},
	}
	switch {
	case outlasted(ex) && !dialled(ex):
		return ctx.Err() // handle records it without an exchange
	case outlasted(ex):
		v.recordExchange(ex, host.CutOff, reasonLease, heedsRetryAfter(ex))
		if d.reason = reasonLease; d.attempt >= host.Broken.Attempts() {
			d.outcome = frontier.Failed
		}
		return c.keepUnread(ctx, v, x, d)
	case stopped(ex) && !dialled(ex):
		return nil
	case stopped(ex): // the attempt does not count
		v.recordExchange(ex, host.CutOff, host.Aborted, heedsRetryAfter(ex))
		return c.keepUnread(ctx, v, x, d)
	}
	err = c.handleWhole(ctx, v, x, d)
	if err != nil && over(ctx, err) && !late(ctx, err) {
		return c.keepUnread(ctx, v, x, d)
	}
	return err
}

// handleWhole is handleResponse for an exchange that was not cut. Once the outcome is known, it is recorded even if ctx ends.
func (c *outcomes) handleWhole(ctx context.Context, v *visit, x *attempt, d decision) (err error) {
	m := c.meaning(x)
	defer func() { err = errors.Join(err, m.close()) }()
	v.recordExchange(x.ex, m.answer, m.why, host.ObeysRetryAfter(m.answer, x.ex.Status))
	if x.task.Kind != frontier.KindMap && !c.bounds.isLeaf(x.task) && untried(x.task) {
		v.history.Turn(x.task.URL)
	}

	f := v.findings()
	if m.answer == host.Answered && x.task.Kind == frontier.KindRedirect && found.SeedChain(x.task.Candidate) {
		c.bounds.extendTo(f, x.task)
	}
	x.readAhead() // it takes a separate turn
	if m.answer == host.Answered {
		release, err := c.reader.turn(ctx, x.task, m.Exchange)
		if err != nil {
			return err
		}
		defer release()
	}
	r, task, err := c.linker.links(ctx, v, x, m, f)
	if err != nil {
		return err
	}
	d.Outlinks, d.Confirmed = record.Outlinks(x.ex, r.page), m.confirmed
	c.reader.noteDirectives(v, m.Exchange, r.page.Robots, &d, f)
	d.needsScript = r.page.NeedsScript
	c.outcome(v, task, m, r, &d, f)
	if c.cfg.Past != nil {
		if d.change, err = c.change(x, m, d.outcome); err != nil {
			return err
		}
	}
	if err := c.settler.refuse(ctx, v, f); err != nil {
		return err
	}
	if r.html {
		f.pages++
		f.count(budget.Pages, 1)
		if task.Tag != "" && c.cfg.tagged {
			f.count(budget.OfTag(task.Tag), 1)
		}
	}
	return c.settler.settle(context.WithoutCancel(ctx), v, task, d, f)
}

// keepUnread archives a cut exchange. The end of the lease counts as an attempt; an abort leaves the task as it was.
func (c *outcomes) keepUnread(ctx context.Context, v *visit, x *attempt, d decision) error {
	ctx = context.WithoutCancel(ctx)
	asks, err := c.reader.directives(ctx, x.ex)
	if err != nil {
		return err
	}
	f := v.findings()
	c.reader.noteDirectives(v, x.ex, asks, &d, f)
	if d.reason == reasonLease {
		return c.settler.settle(ctx, v, x.task, d, f)
	}
	v.accept(f)
	d.reason = host.Aborted
	return c.settler.line(ctx, v, x.task, d, storage.OutcomeDeferred)
}

// outcome decides how a task ends, or that it comes again.
func (c *outcomes) outcome(v *visit, task frontier.Task, m meaning, r reading, d *decision, f *findings) {
	d.outcome, d.reason = frontier.Failed, m.why
	if c.bounds.isLeaf(task) && c.leaf(m, d) {
		return
	}
	switch m.answer {
	case host.Answered:
		d.outcome = frontier.Fetched
		if m.Truncated != "" {
			f.count(budget.Truncated, 1)
			d.reason = "truncated: " + m.Truncated
		} else if r.copied {
			d.reason = trap.RuleCopy
		}
		if r.listed.reason != "" {
			d.reason, d.note = r.listed.reason, r.listed.note
		}
	case host.Redirected:
		c.bounds.redirect(task, m.Header.Get("Location"), d, f)
	case host.Gone:
		d.outcome = frontier.Gone
		if task.Kind == frontier.KindScript {
			d.reason = storage.NamedByScript + m.why
		}
	case host.Unwanted, host.Guarded:
		d.outcome = frontier.Dropped
	case host.Refused:
		if v.memory.Forbidden && m.Status == http.StatusForbidden && v.memory.Pages == 0 && v.turn.Host.Outcomes[frontier.Fetched] == 0 {
			v.leaveAlone(frontier.Refused, "status 403 for robots.txt and for the first page", 0)
		}
	default:
		attempts := m.answer.Attempts()
		if v.finding {
			attempts = host.FindingAttempts
		}
		hollow := m.why == reasonUnexpected304 && task.Reason != reasonUnexpected304 && task.Attempts < again304
		if task.Attempts+1 < attempts || hollow {
			d.outcome = 0
		}
	}
}

// leaf decides how a leaf ends, unless it ends like any other URL. After HEAD without a usable response it is requested once
// more by GET, since some servers refuse HEAD, or return 404 for it.
func (c *outcomes) leaf(m meaning, d *decision) (decided bool) {
	isHead := bytes.HasPrefix(m.Request, []byte(http.MethodHead+" "))
	switch m.answer {
	case host.Answered:
		d.outcome, d.reason = frontier.Fetched, "" // cut or not
		return true
	case host.Gone, host.Refused, host.Useless:
		again := isHead && m.Status != http.StatusUnauthorized && m.Status != http.StatusProxyAuthRequired
		if again {
			d.outcome, d.reason = 0, m.why+storage.ToHead
		}
		return again
	case host.Throttled, host.Nowhere:
		return true
	case host.Broken, host.Unreachable:
		if d.attempt < 2 && !fetch.Class(m.why).OfTLS() {
			d.outcome = 0
		}
		return true
	}
	return false
}

// redirect makes the target a candidate. A target with the same key replaces the fetch URL once.
func (c *bounds) redirect(task frontier.Task, location string, d *decision, f *findings) {
	target, err := task.URL.Resolve(location)
	switch {
	case err != nil:
		d.outcome, d.reason = frontier.Failed, "redirect: "+string(canon.ReasonOf(err))
	case loops(task, target) || target.Key() != task.URL.Key() && c.book.Circles(task, target):
		d.outcome, d.reason = frontier.Failed, "redirect loop"
	case target.Key() == task.URL.Key():
		d.outcome, d.reason, d.instead = 0, "redirect to its own key", target
	case task.Hops >= maxHops:
		d.outcome, d.reason = frontier.Dropped, reasonHops
	default:
		next := task.Candidate
		next.URL, next.Kind, next.Via, next.Hops = target, frontier.KindRedirect, task.URL.String(), task.Hops+1
		if task.Kind == frontier.KindMap {
			next.Kind, next.Via = frontier.KindMap, rootSitemap(task.Candidate)
		}
		if task.Embeds > 0 && c.scope.Load().Covers(task.URL) && !c.scope.Load().Covers(target) {
			next.Away++
		}
		if task.Kind == frontier.KindScript && !c.scope.Load().Covers(target) {
			d.outcome, d.reason = frontier.Dropped, scope.RuleScript
			return
		}
		c.discover(f, next, false)
		d.outcome, d.reason = frontier.Redirected, "to "+short(target.String())
	}
}

// loops reports whether a redirect leads back to its origin. A longer circle ends in any case, since a URL is a
// candidate only once; but that of a seed must not count as a response.
func loops(task frontier.Task, target canon.URL) bool {
	to := target.String()
	if target.Key() == task.URL.Key() {
		return task.Replaced || to == task.URL.String()
	}
	return found.SeedChain(task.Candidate) && (to == task.Seed || to == task.Via)
}

// maxHops is the longest chain of redirects that is followed (politeness rule 22).
const maxHops = 10

const (
	reasonHops         = "trap:redirect-chain"
	reasonDryRun       = "dry run" // of a host after its robots.txt
	reasonMaxPerHost   = "budget: max-per-host"
	reasonPerDay       = "budget: per-host-per-day"
	reasonHours        = "hours: closed now" // by the operator's setting for the host
	reasonMaxPerDomain = "budget: max-per-domain"
	reasonMaxPerTag    = budget.HeldByTag
	reasonPanic        = storage.ReasonPanic
	reasonLease        = storage.ReasonLease // it took longer than a lease allows
)

// short cuts a URL for a reason.
func short(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}

// reasonUnexpected304 is the failure of a 304 that was not requested, or whose archived response is unreadable. The URL is
// requested once more without conditions.
const reasonUnexpected304 = "not modified, without an archived answer"

// again304 bounds the attempts at a URL that returns such a 304 between other failures.
const again304 = 5

// meaning is the response that counts for a URL: that of the exchange or, after a 304, the archived one.
type meaning struct {
	*fetch.Exchange
	answer    host.Answer
	why       string
	confirmed *storage.Original // the archived response; nil if the exchange has its own
	body      io.Closer         // of confirmed
}

func (m meaning) close() error {
	if m.body == nil {
		return nil
	}
	return m.body.Close()
}

func (c *outcomes) meaning(x *attempt) meaning {
	ex := x.ex
	m := meaning{Exchange: ex}
	m.answer, m.why = host.Classify(ex)
	if c.cfg.Past == nil || ex.Failure != nil || ex.Status != http.StatusNotModified {
		return m
	}
	m.why = reasonUnexpected304
	if !x.before.conditional || !record.Confirms(ex.Header, x.before.Header) {
		return m
	}
	body, closer, err := x.before.Body()
	if err != nil {
		c.cfg.Log("%s: its archived response cannot be read, so it is requested again: %v", short(x.task.URL.String()), err)
		return m
	}
	header := record.Freshened(x.before.Header, ex.Header)
	m.Exchange = &fetch.Exchange{
		URL: ex.URL, Start: ex.Start, End: ex.End, Status: x.before.Status, Header: header,
		Body: body, PayloadDigest: x.before.Payload,
	}
	m.body, m.answer, m.why = closer, host.Answered, ""
	m.confirmed = &x.before.Original
	if want := c.bounds.request(1, x.task).Want; want != nil {
		if rule := want(x.before.Status, header); rule != "" { // the settings may have changed
			m.answer, m.why = host.Unwanted, rule
		}
	}
	return m
}

// change compares a URL with its archived response. The same body is new if the archived one is unreadable, so that it is
// archived in full (crawldir.Past).
func (c *outcomes) change(x *attempt, m meaning, now frontier.Outcome) (storage.Change, error) {
	is := x.before.Change(now, m.confirmed != nil, m.Header, m.PayloadDigest)
	if is != storage.ChangeUnchanged || m.confirmed != nil || now != frontier.Fetched || x.before.Body == nil {
		return is, nil
	}
	_, body, err := x.before.Body()
	if err != nil {
		c.cfg.Log("%s: its archived response cannot be read, so the new one is archived in full: %v", short(x.task.URL.String()), err)
		return storage.ChangeNew, nil
	}
	return is, body.Close()
}
