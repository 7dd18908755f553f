package crawler

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/crawler/found"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/crawler/scope"
	"curtsy/crawler/sitemap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage/mediatype"
)

// attempt is a task on its way through one exchange, and what that brought.
type attempt struct {
	task    frontier.Task      // as its exchange treats it: what somebody names as a sitemap is one
	found   frontier.Candidate // as it was found
	verdict robots.Verdict
	due     host.Pace // before the exchange
	slot    *record.Slot
	shape   bool // of its page is worth knowing

	own canon.Authority // that may be told who we are; zero for none

	before   before
	ex       *fetch.Exchange
	err      error
	panicked *panicked

	// reading, if not nil, yields the page as it is read while other exchanges are handled, or nil if it is to be read then.
	reading chan *digested
	read    *digested // what that brought
}

// before is the archived answer of a task, as its request has to do with it. The zero value is none.
type before struct {
	*record.Earlier
	conditional bool // the request was
}

// panicked is what a panic said, and where it was.
type panicked struct {
	value any
	stack []byte
}

// attempt begins the attempt at a task.
func (c *Crawl) attempt(v *visit, task frontier.Task, verdict robots.Verdict, slot *record.Slot) *attempt {
	return &attempt{
		task: c.bounds.asSitemap(v, task), found: task.Candidate, verdict: verdict, due: v.due(), slot: slot, shape: v.watched(task, c.cfg.Traps),
		own: v.trusted(),
	}
}

// exchange makes the exchange of an attempt, by way of do. Whatever becomes of it is for handle to say.
func (c *Crawl) exchange(ctx context.Context, width int, x *attempt, do func(context.Context, fetch.Request) (*fetch.Exchange, error)) {
	defer func() {
		if p := recover(); p != nil {
			x.panicked = &panicked{p, debug.Stack()}
		}
	}()
	r := c.bounds.request(width, x.task)
	r.Own = x.own
	if c.cfg.Past != nil {
		if x.before.Earlier, x.err = c.cfg.Past.Last(ctx, x.task.URL); x.err != nil {
			return
		}
		x.before.conditional = x.task.Reason != reasonUnexpected304 && x.before.Condition(&r)
	}
	within, end := exchangeContext(ctx)
	defer end()
	x.ex, x.err = do(within, r)
	x.err = instead(ctx, within, x.err)
}

// readAhead waits until the page was read that an attempt brought, if that is read beside others.
func (x *attempt) readAhead() *digested {
	if x.reading != nil {
		x.read, x.reading = <-x.reading, nil
	}
	return x.read
}

// request is what to ask for in a turn of some width.
func (c *bounds) request(width int, task frontier.Task) fetch.Request {
	r := fetch.Request{URL: task.URL, MaxBody: c.cfg.MaxBody, Want: c.wanted(task), Lines: width}
	if task.Kind == frontier.KindMap {
		// Media types that are wanted or not are those of what is kept; and the beginning of one that is too large counts.
		r.Accept, r.Want, r.Partial = sitemapAccept, nil, true
		if r.MaxBody == 0 || r.MaxBody > sitemap.MaxSize {
			r.MaxBody = sitemap.MaxSize
		}
	}
	if c.isLeaf(task) {
		r.Head = c.cfg.Scope.External == scope.ExternalHead && untried(task)
		r.Want, r.Partial = nil, true
		if r.MaxBody == 0 || r.MaxBody > maxLeaf {
			r.MaxBody = maxLeaf
		}
	}
	return r
}

// maxLeaf is how many bytes are read of what is off the scope: all of most pages, which then can be asked for on condition.
const maxLeaf = 128 << 10

// isLeaf reports whether a task lies off the scope, and is asked for all the same: nothing is read of it.
func (c *bounds) isLeaf(task frontier.Task) bool {
	switch c.cfg.Scope.External {
	case "", scope.ExternalNone:
		return false
	}
	return c.scope.Load().Judge(InScope(task.Candidate)).Rule == scope.RuleExternal
}

// wanted looks at a head before its body is asked for.
func (c *bounds) wanted(task frontier.Task) func(int, http.Header) string {
	return func(status int, h http.Header) string {
		if status < 200 || status > 299 || found.SeedChain(task.Candidate) {
			return ""
		}
		if ok, rule := c.scope.Load().AcceptType(mediatype.Value(h), task.URL.Path()); !ok {
			return rule
		}
		return ""
	}
}

// fetchNow makes an exchange in a slot, without a look at address or pace.
func (c *exchanger) fetchNow(ctx context.Context, slot *record.Slot, r fetch.Request) (*fetch.Exchange, error) {
	if ex := c.notAsked(r.URL); ex != nil {
		return ex, nil
	}
	if !c.windowGate.Open() {
		return nil, errNotYet
	}
	ctx, meter, landed := c.stopper.inFlight(ctx, r.URL.Authority(), slot)
	defer landed()
	r.Meter = meter
	for {
		ex, err := c.cfg.Fetcher.Do(ctx, c.windowGate.Within(r))
		if errors.Is(err, errShut) {
			return nil, errNotYet
		}
		if err != nil {
			return ex, err
		}
		wait, err := c.proxied(ex)
		if err == nil && wait <= 0 {
			return ex, nil
		}
		if err = errors.Join(err, ex.Close()); err != nil {
			return nil, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// errOutlasted ends a task's exchange with the time of its lease, so that what came until then is archived.
var errOutlasted = &fetch.Failure{Class: fetch.Stopped, Err: errLease}

// exchangeContext returns the context of a task's exchange: it is over when ctx is, and an exchange that the end of the lease's time
// cuts is one that was cut, as at the end of the crawl. Robots.txt and proofs do without: what became of them is learned of
// what their errors say.
func exchangeContext(ctx context.Context) (within context.Context, end func()) {
	within, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unwatch := context.AfterFunc(ctx, func() {
		why := context.Cause(ctx)
		if errors.Is(why, errLease) {
			why = errOutlasted
		}
		cancel(why)
	})
	return within, func() {
		unwatch()
		cancel(nil)
	}
}

// instead is err, or the error of ctx where err means no more than that within, its child by exchangeContext, is over.
func instead(ctx, within context.Context, err error) error {
	if err != nil && over(within, err) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
